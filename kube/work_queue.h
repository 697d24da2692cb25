// kube/work_queue.h - which key is to be looked at next, by which worker?
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/clock.h"
#include "base/mutex.h"

namespace nervex::kube {

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
  // With the key's back-off, which grows by this call; returns the delay.
  std::chrono::milliseconds add_failed(const std::string& key);
  void forget(const std::string& key);  // resets the key's back-off
  int failures(const std::string& key) const;

  // Blocks until a key is due; nullopt after shut_down(), whatever still waits. Call done(key)
  // afterwards. A clock that jumps (tests) is noticed within a second.
  std::optional<std::string> next();
  void done(const std::string& key);
  void shut_down();
  std::size_t size() const;  // keys that are due now and wait for a worker

 private:
  void push(const std::string& key) REQUIRES(mutex_);
  void release_due() REQUIRES(mutex_);

  const Clock& clock_;
  mutable Mutex mutex_;
  CondVar wake_;
  std::deque<std::string> ready_ GUARDED_BY(mutex_);
  std::unordered_set<std::string> dirty_ GUARDED_BY(mutex_);    // to be worked on
  std::unordered_set<std::string> working_ GUARDED_BY(mutex_);  // given out
  std::multimap<MonoTime, std::string> delayed_ GUARDED_BY(mutex_);
  std::unordered_map<std::string, MonoTime> due_ GUARDED_BY(mutex_);  // of the keys in delayed_
  std::unordered_map<std::string, int> failures_ GUARDED_BY(mutex_);
  bool shut_down_ GUARDED_BY(mutex_) = false;
};

}  // namespace nervex::kube
