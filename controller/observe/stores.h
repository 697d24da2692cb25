// controller/observe/stores.h - what does the controller know of the cluster, and how does it stay
// current? One store per watched kind.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"
#include "base/mutex.h"
#include "controller/decide/observed.h"
#include "gang/pod_group.h"
#include "job/types.h"
#include "kube/cache/reflectors.h"
#include "kube/cache/store.h"
#include "kube/model/pod.h"
#include "kube/work_queue.h"

namespace nervex::controller {

// -- which attempts are known to be free of pods of earlier ones?

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

// -- when was a job's status written last?

// In memory alone: after a restart the first write of each job waits for nothing. Thread-safe.
class StatusWriteTimes {
 public:
  void set(const std::string& job_uid, MonoTime now) {
    const MutexLock lock(mutex_);
    times_[job_uid] = now;
  }
  // nullopt: not by this process.
  std::optional<MonoTime> get(const std::string& job_uid) const {
    const MutexLock lock(mutex_);
    const auto at = times_.find(job_uid);
    return at == times_.end() ? std::nullopt : std::optional(at->second);
  }
  // The job is gone.
  void forget(const std::string& job_uid) {
    const MutexLock lock(mutex_);
    times_.erase(job_uid);
  }

 private:
  mutable Mutex mutex_;
  std::unordered_map<std::string, MonoTime> times_ GUARDED_BY(mutex_);  // by the job's uid
};

// -- what is kept?

// The queue's key of what no job owns in this namespace: its Service, and pods that have our
// finalizer and no job as their owner, which have it in their index too. No job is called so.
inline std::string orphans_key(const std::string& ns) { return ns + "/"; }

// Jobs are indexed by namespace, pods by the key of the owning job, the others by its uid.
// Thread-safe, as the stores are.
struct Stores {
  Stores();

  kube::Store<job::Job> jobs;
  kube::Store<kube::Pod> pods;
  kube::Store<Service> services;
  kube::Store<gang::PodGroup> pod_groups;
  kube::Store<AggregatorConfig> aggregator_configs;
  kube::Store<PriorityClass> priority_classes;
  // Not a kind: coordinators that are gone, as they were last seen, if they were marked as about to
  // be disrupted. The latest of each job.
  kube::Store<kube::Pod> disrupted_coordinators;
  // Not a kind either: what live reads have shown.
  ClearedAttempts cleared_attempts;
  StatusWriteTimes status_writes;
};

// Codecs from an object's JSON text, as the stores keep it.
Result<kube::Pod> decode_pod(std::string_view json);

// -- how do the caches stay current, and which job does a change concern?

// True if at most counts follow from it: a worker or aggregator starts, runs, becomes ready or ends
// by itself. The pods of a gang do so one after the other, and each would cost the job a status
// write. What the coordinator does, and pods that have to be replaced, are looked at once.
bool can_be_coalesced(const kube::Pod& after);

// Changes of pods that can be coalesced are looked at together, so long after the first of them.
inline constexpr std::chrono::milliseconds kPodEventDelay{200};

// Adds every kind of `stores`. Each change puts the key of the owning job into the queue; a change
// of an AggregatorConfig or a PriorityClass those of all jobs. Changes of pods that at most move
// counts come into the queue after `pod_event_delay`.
void add_watches(kube::Reflectors& watches, Stores& stores, kube::WorkQueue& queue,
                 std::chrono::milliseconds pod_event_delay = kPodEventDelay);

}  // namespace nervex::controller
