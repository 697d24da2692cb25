// controller/observe/stores.h - what does the controller know of the cluster, and how does it stay
// current? One store per watched kind.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"
#include "base/mutex.h"
#include "controller/decide/objects/endpoint_slices.h"
#include "controller/decide/round/observed.h"
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

// -- which dry runs are to be made, and what did they say?

// Of each job the last question and its answer (controller/decide/objects/pod_dry_run.h). In memory
// alone: after a restart each job that waits is asked about again. Thread-safe.
class DryRuns {
 public:
  struct Question {
    std::string job;  // its key
    std::string job_uid;
    std::string subject;
    SysTime asked{};
  };
  // Instead of the job's earlier question.
  void ask(Question question);
  // The oldest question that was not taken yet; nullopt: there is none.
  std::optional<Question> next();
  // Waits for it; nullopt: a stop was requested.
  std::optional<Question> wait_for_next(const std::stop_token& stop);
  // Of no effect if the job was asked something else since, or is gone.
  void answer(const std::string& job_uid, DryRunReport report);
  // A question that is not answered is a report, too; nullopt: nothing was asked.
  std::optional<DryRunReport> report_on(const std::string& job_uid) const;
  // The job is gone.
  void forget(const std::string& job_uid);

 private:
  std::optional<Question> take() REQUIRES(mutex_);

  mutable Mutex mutex_;
  CondVar asked_;
  std::deque<Question> questions_ GUARDED_BY(mutex_);
  std::unordered_map<std::string, DryRunReport> reports_ GUARDED_BY(mutex_);  // by the job's uid
};

// -- when may a job's status be written that only informs?

// Of one job such a write comes a period after the last one at the soonest; of all jobs together
// kPerSecond, after kBurst at once: a hundred jobs that start together would else spend more of the
// API server on telling of it than on their gangs. Who asks first gets the first turn. In memory
// alone: after a restart the first write of each job waits for nothing. Thread-safe.
class StatusWriteLimiter {
 public:
  static constexpr int kPerSecond = 10;
  static constexpr int kBurst = 20;

  // `job`: its key, namespace/name. Any write of its status counts.
  void note_write(const std::string& job, MonoTime now);
  // How long a write that only informs has to wait, and is to be asked for again; 0: it may be
  // sent, and counts. A turn that is not used for a period is lost. Period 0: nothing is limited.
  std::chrono::milliseconds delay(const std::string& job, MonoTime now,
                                  std::chrono::milliseconds period);
  // There is no such job any more.
  void forget(const std::string& job);

 private:
  mutable Mutex mutex_;
  struct Times {
    std::optional<MonoTime> last;  // write
    std::optional<MonoTime> turn;
  };
  std::unordered_map<std::string, Times> jobs_ GUARDED_BY(mutex_);  // by the job's key
  MonoTime used_until_ GUARDED_BY(mutex_);  // the bucket is full at this time
};

// -- what is kept?

// The queue's key of what no job owns in this namespace: its Service, pods that have our finalizer
// and no job as their owner, and PodGroups without one; these have it in their index too. No job is
// called so.
inline std::string orphans_key(const std::string& ns) { return ns + "/"; }

// Jobs are indexed by namespace; pods by the key of the owning job, and slices by that of the job
// whose pods they name, the others by the owner's uid. Pods, slices and PodGroups that no job has
// are at orphans_key(). Thread-safe, as the stores are.
struct Stores {
  Stores();

  kube::Store<job::Job> jobs;
  kube::Store<kube::Pod> pods;
  kube::Store<Service> services;
  kube::Store<EndpointSlice> endpoint_slices;  // of namespaces' Services
  kube::Store<gang::PodGroup> pod_groups;
  kube::Store<AggregatorConfig> aggregator_configs;
  kube::Store<PriorityClass> priority_classes;
  // Not a kind: coordinators that are gone, as they were last seen, if they were marked as about to
  // be disrupted. The latest of each job.
  kube::Store<kube::Pod> disrupted_coordinators;
  // Not a kind either: what live reads have shown.
  ClearedAttempts cleared_attempts;
  StatusWriteLimiter status_writes;
  DryRuns dry_runs;
};

// Of a namespace, those that cannot be read included.
bool has_jobs(const Stores& stores, const std::string& ns);
bool has_unreadable_jobs(const Stores& stores, const std::string& ns);

// Codecs from an object's JSON text, as the stores keep it.
Result<kube::Pod> decode_pod(std::string_view json);

// -- how do the caches stay current, and which job does a change concern?

// True if at most counts follow from it: a worker or aggregator starts, runs, becomes ready or ends
// by itself. The pods of a gang do so one after the other, and each would cost the job a status
// write. What the coordinator does, and pods that have to be replaced, are looked at once.
bool can_be_coalesced(const kube::Pod& after);

// Changes of pods that can be coalesced are looked at together, so long after the first of them.
inline constexpr std::chrono::milliseconds kPodEventDelay{200};

// A job's EndpointSlices are looked at so long after the first change of its pods' addresses: what
// comes meanwhile is written with it.
inline constexpr std::chrono::milliseconds kEndpointSliceDelay{250};

struct Queues {
  explicit Queues(const Clock& clock) : jobs(clock), endpoint_slices(clock) {}

  kube::WorkQueue jobs;  // and orphans_key()
  // Jobs whose EndpointSlices may have to be written, and orphans_key() of namespaces with slices
  // of no job.
  kube::WorkQueue endpoint_slices;
};

// The namespace's orphans_key() and all its jobs: for who has changed what they share.
void add_namespace(const Stores& stores, const std::string& ns, kube::WorkQueue& queue);

// Adds every kind of `stores`. Each change puts the key of the owning job into the queue; a change
// of an AggregatorConfig or a PriorityClass those of all jobs. Changes of pods that at most move
// counts come into the queue after `pod_event_delay`.
void add_watches(kube::Reflectors& watches, Stores& stores, Queues& queues,
                 std::chrono::milliseconds pod_event_delay = kPodEventDelay);

}  // namespace nervex::controller
