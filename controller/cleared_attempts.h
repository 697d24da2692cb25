// controller/cleared_attempts.h - which attempts are known to be free of pods of earlier ones?
#pragma once

#include <string>
#include <unordered_map>

#include "base/mutex.h"

namespace nervex::controller {

// A live list showed it once; from then on it stays true, since pods are created for the current
// PodGroup only. (A request of a leader that was replaced may still be carried out late. Filter
// refuses that pod, whose PodGroup does not exist any more, so that it is never bound.) In memory
// alone: after a restart it is looked at once more. Thread-safe.
class ClearedAttempts {
 public:
  void set(const std::string& job_uid, const std::string& pod_group_uid) {
    const MutexLock lock(mutex_);
    cleared_[job_uid] = pod_group_uid;
  }
  bool contains(const std::string& job_uid, const std::string& pod_group_uid) const {
    const MutexLock lock(mutex_);
    const auto at = cleared_.find(job_uid);
    return at != cleared_.end() && at->second == pod_group_uid;
  }
  // The job is gone.
  void forget(const std::string& job_uid) {
    const MutexLock lock(mutex_);
    cleared_.erase(job_uid);
  }

 private:
  mutable Mutex mutex_;
  std::unordered_map<std::string, std::string> cleared_ GUARDED_BY(mutex_);  // job -> PodGroup
};

}  // namespace nervex::controller
