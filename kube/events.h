// kube/events.h - how does `kubectl describe` learn what happened to an object?
//
// Rules and numbers of client-go's EventCorrelator (k8s.io/client-go/tools/record/events_cache.go).
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "kube/api.h"
#include "kube/model/meta.h"

namespace nervex::kube {

// ---- which events are written? Pure: no I/O, no clock

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

struct EventStats {  // since the recorder was made
  std::uint64_t created = 0;
  std::uint64_t patched = 0;
  std::uint64_t limited = 0;  // kept back: too many about one object
  std::uint64_t dropped = 0;  // the queue was full, or the recorder ended
  std::uint64_t failed = 0;   // refused by the API server, or not to be had after some tries
  bool operator==(const EventStats&) const = default;
};

// Writes v1 Events as EventCorrelator decides: repeats become patches of one Event's count. Best
// effort: nothing that happens here reaches the caller, and when the queue is full the newest event
// is dropped, since what happened first explains more. After start() a thread of its own does the
// writing, so that a slow API server never slows down the thread that records; until then (tests,
// programs that run once) the caller's thread does. Thread-safe.
class EventRecorder {
 public:
  EventRecorder(Api& api, const Clock& clock, std::string component);
  ~EventRecorder();  // ends the thread; what it had not written yet is dropped
  EventRecorder(const EventRecorder&) = delete;
  EventRecorder& operator=(const EventRecorder&) = delete;

  void start();  // at most once
  void record(const ObjectRef& about, const Event& event);
  EventStats stats() const;

  // Events that wait for the thread; the newest are dropped beyond.
  static constexpr std::size_t kMostQueued = 1'000;

 private:
  void run(const std::stop_token& stop);
  Result<Nothing> write(const EventWrite& event);
  void write_and_count(const EventWrite& event, const std::stop_token& stop);

  Api& api_;
  const Clock& clock_;
  const std::string component_;
  mutable Mutex mutex_;
  CondVar wake_;
  EventCorrelator correlator_ GUARDED_BY(mutex_);
  std::deque<EventWrite> queue_ GUARDED_BY(mutex_);
  EventStats stats_ GUARDED_BY(mutex_);
  std::atomic<bool> has_thread_{false};
  std::jthread thread_;  // last: it is stopped and joined first
};

}  // namespace nervex::kube
