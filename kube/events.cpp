#include "kube/events.h"

#include <random>

#include <fmt/format.h>

#include "base/log.h"
#include "base/text.h"

namespace nervex::kube {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMaxMessage = 1024;  // the API server refuses longer ones
constexpr int kMaxWriteTries = 3;          // of a write that met a busy or absent API server
constexpr auto kRetryPause = 5s;

// Events of cluster-scoped objects live in "default".
std::string namespace_of(const ObjectRef& about) { return about.ns.empty() ? "default" : about.ns; }

Json encode_reference(const ObjectRef& about) {
  Json reference = {{"apiVersion", about.api_version},
                    {"kind", about.kind},
                    {"name", about.name},
                    {"uid", about.uid}};
  if (!about.ns.empty()) reference["namespace"] = about.ns;
  return reference;
}

Json encode_event(const EventWrite& write, const std::string& component) {
  return {{"apiVersion", "v1"},
          {"kind", "Event"},
          {"metadata", {{"name", write.name}, {"namespace", namespace_of(write.about)}}},
          {"involvedObject", encode_reference(write.about)},
          {"type", write.event.type == EventType::kNormal ? "Normal" : "Warning"},
          {"reason", write.event.reason},
          {"message", first_bytes(write.event.message, kMaxMessage)},
          {"source", {{"component", component}}},
          {"reportingComponent", component},
          {"reportingInstance", ""},
          {"firstTimestamp", to_rfc3339(write.first_time)},
          {"lastTimestamp", to_rfc3339(write.last_time)},
          {"count", write.count}};
}

// The message too: a combined event keeps the latest.
Json encode_repeat(const EventWrite& write) {
  return {{"count", write.count},
          {"lastTimestamp", to_rfc3339(write.last_time)},
          {"message", first_bytes(write.event.message, kMaxMessage)}};
}

std::uint64_t random_number() {
  std::random_device device;
  return std::uniform_int_distribution<std::uint64_t>()(device);
}

}  // namespace

EventRecorder::EventRecorder(Api& api, const Clock& clock, std::string component)
    : api_(api), clock_(clock), component_(std::move(component)), correlator_(random_number()) {}

EventRecorder::~EventRecorder() = default;

void EventRecorder::start() {
  has_thread_ = true;
  thread_ = std::jthread([this](const std::stop_token& stop) {
    try {
      run(stop);
    } catch (const std::exception& e) {  // events are not worth the process
      log_error("event recorder failed", {{"error", e.what()}});
      has_thread_ = false;
    }
  });
}

void EventRecorder::record(const ObjectRef& about, const Event& event) {
  std::optional<EventWrite> write;
  {
    MutexLock lock(mutex_);
    write = correlator_.decide(about, event, clock_.now(), clock_.mono());
    if (!write) ++stats_.limited;
    if (!write) return;
    if (has_thread_) {
      if (queue_.size() >= kMostQueued) {
        ++stats_.dropped;
        return;
      }
      queue_.push_back(*std::move(write));
      wake_.notify_one();
      return;
    }
  }
  write_and_count(*write, {});
}

EventStats EventRecorder::stats() const {
  MutexLock lock(mutex_);
  return stats_;
}

void EventRecorder::run(const std::stop_token& stop) {
  while (true) {
    EventWrite write;
    {
      MutexLock lock(mutex_);
      wake_.wait(mutex_, stop, [this]() REQUIRES(mutex_) { return !queue_.empty(); });
      if (stop.stop_requested()) {
        stats_.dropped += queue_.size();
        return;
      }
      write = std::move(queue_.front());
      queue_.pop_front();
    }
    write_and_count(write, stop);
  }
}

// A create that was repeated after a lost reply finds the name taken: by itself.
Result<Nothing> EventRecorder::write(const EventWrite& event) {
  const std::string ns = namespace_of(event.about);
  if (!event.is_first) {
    const auto patched = merge_patch(api_, kEvents, ns, event.name, encode_repeat(event));
    if (patched) return ok();
    // Events live for an hour by default: this one has expired, or was never written.
    if (patched.error().code != Code::kNotFound) return patched.error();
  }
  const auto created = create_object(api_, kEvents, ns, encode_event(event, component_));
  if (created || created.error().code == Code::kConflict) return ok();
  return created.error();
}

void EventRecorder::write_and_count(const EventWrite& event, const std::stop_token& stop) {
  auto written = write(event);
  // The caller's thread does not wait for better times, our own does.
  for (int tries = 1; tries < kMaxWriteTries && has_thread_ && !written; ++tries) {
    if (written.error().code != Code::kTransient || sleep_unless_stopped(kRetryPause, stop)) break;
    written = write(event);
  }
  {
    MutexLock lock(mutex_);
    ++(!written ? stats_.failed : event.is_first ? stats_.created : stats_.patched);
  }
  if (written) return;
  log_warn("event not written", {{"object", event.about.ns + "/" + event.about.name},
                                 {"reason", event.event.reason},
                                 {"error", written.error().message}});
}

}  // namespace nervex::kube
