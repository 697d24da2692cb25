// kube/events.h - how do events reach `kubectl describe`?
//
// Follows client-go's EventCorrelator (k8s.io/client-go/tools/record/events_cache.go).
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
  Event event;           // its message may stand for several
  std::string name;      // of the Event object
  bool is_first = true;  // create it; else patch the existing one
  int count = 1;         // number of occurrences
  SysTime first_time{};
  SysTime last_time{};
  bool operator==(const EventWrite&) const = default;
};

// How long a repeated event counts as the same one.
inline constexpr std::chrono::minutes kEventWindow{10};
// This many messages of one object, type and reason are written individually within the window;
// later ones become one "(combined from similar events): ..." with the latest message.
inline constexpr std::size_t kMostSimilarEvents = 10;
// Writes about one object: this many at once, then one per interval.
inline constexpr int kEventBurst = 25;
inline constexpr std::chrono::minutes kEventInterval{5};

// A map of at most `limit` values by text that evicts the least recently used. Not thread-safe.
template <typename T>
class Lru {
 public:
  explicit Lru(std::size_t limit) : limit_(limit) {}

  // The value of `key`, or a new T(). Valid until the next call.
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
  using Order = std::list<std::pair<const std::string*, T>>;  // points to the map's keys
  const std::size_t limit_;
  Order latest_;
  std::unordered_map<std::string, typename Order::iterator> by_key_;
};

// Remembers the latest objects and events, up to a bound. Not thread-safe.
class EventCorrelator {
 public:
  // `first_number` makes this process's Event names differ from those of earlier processes.
  explicit EventCorrelator(std::uint64_t first_number, std::size_t most_keys = 4096);

  // nullopt: too many about this object, write nothing. `mono` must not go back between calls.
  std::optional<EventWrite> decide(const ObjectRef& about, const Event& event, SysTime now,
                                   MonoTime mono);

 private:
  struct Similar {                   // events of one object, type and reason
    std::set<std::size_t> messages;  // hashes
    MonoTime last{};
  };
  struct Seen {  // one event that may be repeated
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

struct EventStats {  // since the recorder was created
  std::uint64_t created = 0;
  std::uint64_t patched = 0;
  std::uint64_t limited = 0;  // suppressed: too many about one object
  std::uint64_t dropped = 0;  // the queue was full, or the recorder ended
  std::uint64_t failed = 0;   // refused by the API server, or out of retries
  bool operator==(const EventStats&) const = default;
};

// Writes v1 Events as EventCorrelator decides: repeats become patches of one Event's count. Best
// effort: callers never see a failure. When the queue is full the newest event is dropped, because
// the first events explain most. After start() its own thread writes, so that a slow API server
// never delays the caller; before that (tests, programs that run once) the caller's thread does.
// Thread-safe.
class EventRecorder {
 public:
  EventRecorder(Api& api, const Clock& clock, std::string component);
  ~EventRecorder();  // ends the thread and drops unwritten events
  EventRecorder(const EventRecorder&) = delete;
  EventRecorder& operator=(const EventRecorder&) = delete;

  void start();  // at most once
  void record(const ObjectRef& about, const Event& event);
  EventStats stats() const;

  // Events waiting for the thread; above this the newest are dropped.
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
