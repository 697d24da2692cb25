#include "kube/events.h"

#include <algorithm>
#include <functional>
#include <random>

#include <fmt/format.h>

#include "base/log.h"
#include "base/text.h"

namespace nervex::kube {
// ---- which events are written? Pure: no I/O, no clock

namespace {

constexpr std::size_t kMaxName = 253;  // DNS subdomain

// As in client-go: the object's name and a unique suffix.
std::string event_name(const std::string& object, std::uint64_t number) {
  const std::string suffix = fmt::format(".{:016x}", number);
  return object.substr(0, kMaxName - suffix.size()) + suffix;
}

// Only the message, which comes last, may contain '\n'.
std::string reference_key(const ObjectRef& about) {
  return fmt::format("{}\n{}\n{}\n{}\n{}", about.api_version, about.kind, about.ns, about.name,
                     about.uid);
}

std::string event_kind(const std::string& object, const Event& event) {
  return fmt::format("{}\n{}\n{}", object, event.type == EventType::kNormal ? 'N' : 'W',
                     event.reason);
}

}  // namespace

EventCorrelator::EventCorrelator(std::uint64_t first_number, std::size_t most_keys)
    : next_number_(first_number), similar_(most_keys), seen_(most_keys), buckets_(most_keys) {}

std::optional<EventWrite> EventCorrelator::decide(const ObjectRef& about, const Event& event,
                                                  SysTime now, MonoTime mono) {
  const std::string object = reference_key(about);
  const std::string kind = event_kind(object, event);
  Event said = event;
  std::string key = kind;
  if (is_combined(kind, event.message, mono)) {
    said.message = "(combined from similar events): " + event.message;
  } else {
    key += "\n" + event.message;
  }
  Seen& seen = seen_.get(key);
  if (seen.count == 0 || mono - seen.last > kEventWindow) {
    seen = Seen{event_name(about.name, next_number_++), 0, false, now, mono};
  }
  ++seen.count;  // also if not written: the next write reports the count
  seen.last = mono;
  if (!take_token(object, mono)) return std::nullopt;
  const bool is_first = !std::exchange(seen.is_written, true);
  return EventWrite{about, std::move(said), seen.name, is_first, seen.count, seen.first_time, now};
}

bool EventCorrelator::is_combined(const std::string& kind, const std::string& message,
                                  MonoTime mono) {
  Similar& similar = similar_.get(kind);
  if (mono - similar.last > kEventWindow) similar.messages.clear();
  similar.last = mono;
  const std::size_t hash = std::hash<std::string>()(message);
  if (similar.messages.count(hash) != 0) return false;
  if (similar.messages.size() >= kMostSimilarEvents) return true;
  similar.messages.insert(hash);
  return false;
}

bool EventCorrelator::take_token(const std::string& object, MonoTime mono) {
  Bucket& bucket = buckets_.get(object);
  if (std::exchange(bucket.is_new, false)) bucket.filled = mono;
  const std::chrono::duration<double> since = mono - bucket.filled;
  bucket.tokens = std::min<double>(kEventBurst, bucket.tokens + since / kEventInterval);
  bucket.filled = mono;
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMaxMessage = 1024;  // the API server's limit
constexpr int kMaxWriteTries = 3;          // when the API server is busy or absent
constexpr auto kRetryPause = 5s;

// Events of cluster-scoped objects live in "default".
std::string event_namespace(const ObjectRef& about) {
  return about.ns.empty() ? "default" : about.ns;
}

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
          {"metadata", {{"name", write.name}, {"namespace", event_namespace(write.about)}}},
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

// Includes the message: a combined event keeps the latest.
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
    } catch (const std::exception& e) {  // an event failure must not end the process
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

// A create repeated after a lost reply finds the name taken by itself.
Result<Nothing> EventRecorder::write(const EventWrite& event) {
  const std::string ns = event_namespace(event.about);
  if (!event.is_first) {
    const auto patched = merge_patch(api_, kEvents, ns, event.name, encode_repeat(event));
    if (patched) return ok();
    // Events expire after an hour by default: this one has expired, or was never written.
    if (patched.error().code != Code::kNotFound) return patched.error();
  }
  const auto created = create_object(api_, kEvents, ns, encode_event(event, component_));
  if (created || created.error().code == Code::kConflict) return ok();
  return created.error();
}

void EventRecorder::write_and_count(const EventWrite& event, const std::stop_token& stop) {
  auto written = write(event);
  // Only the recorder's own thread waits and retries, not the caller's.
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
