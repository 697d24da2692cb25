// kube/work_queue.h - which key does a worker handle next?
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/clock.h"
#include "base/mutex.h"

namespace nervex::kube {

// Distribution of durations. Counts per bucket (not cumulative), for Prometheus histograms. Bounds
// are controller-runtime's for its queues: 10 ns, tenfold, to 1000 s.
struct DurationHistogram {
  static constexpr std::array<double, 12> kBoundsSeconds = {1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3,
                                                            1e-2, 1e-1, 1,    10,   100,  1000};
  std::array<std::uint64_t, kBoundsSeconds.size() + 1> counts{};  // the last: beyond all bounds
  double sum_seconds = 0;
  bool operator==(const DurationHistogram&) const = default;

  void observe(double seconds);
  std::uint64_t total() const;
};

// The data of client-go's workqueue metrics (k8s.io/client-go/util/workqueue/metrics.go). Counters
// start when the queue is created; seconds are the clock's.
struct WorkQueueStats {
  std::size_t depth = 0;          // size()
  std::uint64_t adds = 0;         // keys added to the queue; repeats of a waiting key do not count
  std::uint64_t retries = 0;      // calls of add_after() and add_failed()
  DurationHistogram in_queue;     // from add, or the end of the delay, to next()
  DurationHistogram at_work;      // from next() to done()
  double unfinished_seconds = 0;  // summed over the keys in progress
  double longest_running_seconds = 0;  // the largest of these
};

// client-go's workqueue: a key goes to one worker at a time, repeats fold, and a key added while in
// progress is queued again afterwards. Back-off per key: 5 ms, doubling, to 60 s. Thread-safe.
class WorkQueue {
 public:
  explicit WorkQueue(const Clock& clock) : clock_(clock) {}
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  void add(const std::string& key);
  // Of several delays of one key the earliest end applies.
  void add_after(const std::string& key, std::chrono::milliseconds delay);
  // Uses the key's back-off, which this call increases, or `at_least` (Error::retry_after) if that
  // is longer. Returns the delay.
  std::chrono::milliseconds add_failed(const std::string& key,
                                       std::chrono::milliseconds at_least = {});
  void forget(const std::string& key);  // resets the key's back-off
  int failures(const std::string& key) const;

  // Blocks until a key is due; nullopt after shut_down(), even if keys wait. Call done(key)
  // afterwards. Notices a jump of the clock (tests) within a second.
  std::optional<std::string> next();
  void done(const std::string& key);
  void shut_down();
  std::size_t size() const;  // keys that are due and wait for a worker
  // Cheap enough for every scrape: copies two histograms and walks the keys in progress.
  WorkQueueStats stats() const;

 private:
  void push(const std::string& key, MonoTime since) REQUIRES(mutex_);
  void release_due() REQUIRES(mutex_);
  std::size_t waiting() const REQUIRES(mutex_);

  const Clock& clock_;
  mutable Mutex mutex_;
  CondVar wake_;
  std::deque<std::string> ready_ GUARDED_BY(mutex_);
  std::unordered_map<std::string, MonoTime> dirty_ GUARDED_BY(mutex_);    // to be handled, since
  std::unordered_map<std::string, MonoTime> working_ GUARDED_BY(mutex_);  // in progress, since
  std::multimap<MonoTime, std::string> delayed_ GUARDED_BY(mutex_);
  std::unordered_map<std::string, MonoTime> due_ GUARDED_BY(mutex_);  // of the keys in delayed_
  std::unordered_map<std::string, int> failures_ GUARDED_BY(mutex_);
  WorkQueueStats counted_ GUARDED_BY(mutex_);  // counters and histograms only
  bool shut_down_ GUARDED_BY(mutex_) = false;
};

}  // namespace nervex::kube
