#include "kube/event_correlator.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

namespace nervex::kube {
namespace {

constexpr std::size_t kMaxName = 253;  // DNS subdomain

// As client-go names them: the object, then something that does not repeat.
std::string event_name(const std::string& object, std::uint64_t number) {
  const std::string suffix = fmt::format(".{:016x}", number);
  return object.substr(0, kMaxName - suffix.size()) + suffix;
}

// '\n' stands in none of the parts but the message, which comes last.
std::string key_of(const ObjectRef& about) {
  return fmt::format("{}\n{}\n{}\n{}\n{}", about.api_version, about.kind, about.ns, about.name,
                     about.uid);
}

std::string kind_of(const std::string& object, const Event& event) {
  return fmt::format("{}\n{}\n{}", object, event.type == EventType::kNormal ? 'N' : 'W',
                     event.reason);
}

}  // namespace

EventCorrelator::EventCorrelator(std::uint64_t first_number, std::size_t most_keys)
    : next_number_(first_number), similar_(most_keys), seen_(most_keys), buckets_(most_keys) {}

std::optional<EventWrite> EventCorrelator::decide(const ObjectRef& about, const Event& event,
                                                  SysTime now, MonoTime mono) {
  const std::string object = key_of(about);
  const std::string kind = kind_of(object, event);
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
  ++seen.count;  // counted also if it is not written: the next write tells
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

}  // namespace nervex::kube
