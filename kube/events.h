// kube/events.h - how does `kubectl describe` learn what happened to an object?
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <stop_token>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "kube/api.h"
#include "kube/event_correlator.h"
#include "kube/model/meta.h"

namespace nervex::kube {

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
