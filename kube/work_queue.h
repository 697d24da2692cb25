// kube/work_queue.h - which key is to be looked at next, by which worker?
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

// How long did things take? Counts per bucket (not yet added up), as Prometheus' histograms need
// them. Bounds are controller-runtime's for its queues: 10 ns, tenfold, to 1000 s.
struct DurationHistogram {
  static constexpr std::array<double, 12> kBoundsSeconds = {1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3,
                                                            1e-2, 1e-1, 1,    10,   100,  1000};
  std::array<std::uint64_t, kBoundsSeconds.size() + 1> counts{};  // the last: beyond all bounds
  double sum_seconds = 0;
  bool operator==(const DurationHistogram&) const = default;

  void observe(double seconds);
  std::uint64_t total() const;
};

// What client-go's workqueue metrics show (k8s.io/client-go/util/workqueue/metrics.go). Counters
// count since the queue was made; seconds are the clock's.
struct WorkQueueStats {
  std::size_t depth = 0;          // size()
  std::uint64_t adds = 0;         // keys that came into the line: repeats that fold are not counted
  std::uint64_t retries = 0;      // calls of add_after() and add_failed()
  DurationHistogram in_queue;     // from add, or the end of the delay, to next()
  DurationHistogram at_work;      // from next() to done()
  double unfinished_seconds = 0;  // summed over the keys that are being worked on
  double longest_running_seconds = 0;  // of these the largest
};

// client-go's workqueue: a key is given to one worker at a time, repeats fold, a key added while it
// is being worked on comes again afterwards. Back-off per key: 5 ms, doubling, to 1000 s.
// Thread-safe.
class WorkQueue {
 public:
  explicit WorkQueue(const Clock& clock) : clock_(clock) {}
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  void add(const std::string& key);
  // Of several delays of one key the earliest end counts.
  void add_after(const std::string& key, std::chrono::milliseconds delay);
  // With the key's back-off, which grows by this call, or `at_least` (Error::retry_after) if that
  // is longer; returns the delay.
  std::chrono::milliseconds add_failed(const std::string& key,
                                       std::chrono::milliseconds at_least = {});
  void forget(const std::string& key);  // resets the key's back-off
  int failures(const std::string& key) const;

  // Blocks until a key is due; nullopt after shut_down(), whatever still waits. Call done(key)
  // afterwards. A clock that jumps (tests) is noticed within a second.
  std::optional<std::string> next();
  void done(const std::string& key);
  void shut_down();
  std::size_t size() const;  // keys that are due now and wait for a worker
  // Cheap enough for every scrape: copies two histograms, walks the keys that are worked on.
  WorkQueueStats stats() const;

 private:
  void push(const std::string& key, MonoTime since) REQUIRES(mutex_);
  void release_due() REQUIRES(mutex_);
  std::size_t waiting() const REQUIRES(mutex_);

  const Clock& clock_;
  mutable Mutex mutex_;
  CondVar wake_;
  std::deque<std::string> ready_ GUARDED_BY(mutex_);
  std::unordered_map<std::string, MonoTime> dirty_ GUARDED_BY(mutex_);    // to be worked on, since
  std::unordered_map<std::string, MonoTime> working_ GUARDED_BY(mutex_);  // given out, since
  std::multimap<MonoTime, std::string> delayed_ GUARDED_BY(mutex_);
  std::unordered_map<std::string, MonoTime> due_ GUARDED_BY(mutex_);  // of the keys in delayed_
  std::unordered_map<std::string, int> failures_ GUARDED_BY(mutex_);
  WorkQueueStats counted_ GUARDED_BY(mutex_);  // counters and histograms only
  bool shut_down_ GUARDED_BY(mutex_) = false;
};

}  // namespace nervex::kube
