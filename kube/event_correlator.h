// kube/event_correlator.h - is this event worth a write, and of which kind? Pure: no I/O, no clock.
//
// Rules and numbers of client-go's EventCorrelator (k8s.io/client-go/tools/record/events_cache.go).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/clock.h"

namespace nervex::kube {

enum class EventType { kNormal, kWarning };

struct ObjectRef {
  std::string api_version;
  std::string kind;
  std::string ns;
  std::string name;
  std::string uid;
  bool operator==(const ObjectRef&) const = default;
};

struct Event {
  EventType type = EventType::kNormal;
  std::string reason;   // PascalCase, stable: people alert on it
  std::string message;  // one sentence for people
  bool operator==(const Event&) const = default;
};

// One write of a v1 Event.
struct EventWrite {
  ObjectRef about;
  Event event;           // its message may speak for several
  std::string name;      // of the Event object
  bool is_first = true;  // create it; else patch what is there
  int count = 1;         // how often it happened
  SysTime first_time{};
  SysTime last_time{};
  bool operator==(const EventWrite&) const = default;
};

// How long an event that comes again counts as the same one.
inline constexpr std::chrono::minutes kEventWindow{10};
// So many messages of one object, type and reason stand for themselves within the window; further
// ones become one "(combined from similar events): ..." that keeps the latest message.
inline constexpr std::size_t kMostSimilarEvents = 10;
// Writes about one object: so many at once, then one for each interval.
inline constexpr int kEventBurst = 25;
inline constexpr std::chrono::minutes kEventInterval{5};

// A map that forgets what was not asked for longest: at most `limit` values by text. Not
// thread-safe.
template <typename T>
class Lru {
 public:
  explicit Lru(std::size_t limit) : limit_(limit) {}

  // The value of `key`, a T() if there was none. Valid until the next call.
  T& get(const std::string& key) {
    const auto [at, is_new] = by_key_.try_emplace(key);
    if (is_new) {
      latest_.emplace_front(&at->first, T());
    } else {
      latest_.splice(latest_.begin(), latest_, at->second);
    }
    at->second = latest_.begin();
    if (by_key_.size() > limit_) {
      by_key_.erase(by_key_.find(*latest_.back().first));
      latest_.pop_back();
    }
    return latest_.front().second;
  }
  std::size_t size() const { return by_key_.size(); }

 private:
  using Order = std::list<std::pair<const std::string*, T>>;  // keys are the map's own
  const std::size_t limit_;
  Order latest_;
  std::unordered_map<std::string, typename Order::iterator> by_key_;
};

// Remembers a bounded number of objects and events, the latest. Not thread-safe.
class EventCorrelator {
 public:
  // `first_number` makes this process' Event names differ from those of the process before.
  explicit EventCorrelator(std::uint64_t first_number, std::size_t most_keys = 4096);

  // nullopt: too many about this object, say nothing. `mono` must not go back between calls.
  std::optional<EventWrite> decide(const ObjectRef& about, const Event& event, SysTime now,
                                   MonoTime mono);

 private:
  struct Similar {                   // events of one object, type and reason
    std::set<std::size_t> messages;  // hashes
    MonoTime last{};
  };
  struct Seen {  // one event that may come again
    std::string name;
    int count = 0;
    bool is_written = false;
    SysTime first_time{};
    MonoTime last{};
  };
  struct Bucket {
    double tokens = kEventBurst;
    MonoTime filled{};
    bool is_new = true;
  };

  bool is_combined(const std::string& kind, const std::string& message, MonoTime mono);
  bool take_token(const std::string& object, MonoTime mono);

  std::uint64_t next_number_;
  Lru<Similar> similar_;
  Lru<Seen> seen_;
  Lru<Bucket> buckets_;
};

}  // namespace nervex::kube
