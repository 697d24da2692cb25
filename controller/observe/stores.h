// controller/observe/stores.h - what does the controller know of the cluster, and how does that
// stay current? One store per watched kind.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "controller/decide/objects/endpoint_slices.h"
#include "controller/decide/round/observed.h"
#include "controller/observe/group_pods.h"
#include "controller/observe/kept_templates.h"
#include "gang/pod_group.h"
#include "job/types.h"
#include "kube/cache/reflectors.h"
#include "kube/cache/store.h"
#include "kube/model/pod.h"
#include "kube/work_queue.h"
#include "queue/queue.h"
#include "queue/tree.h"

namespace nervex::controller {

// -- which attempts are known to have no pods of earlier ones?

// Once a live list has shown it, it stays true, since pods are created for the current PodGroup
// only. (A late request of a replaced leader may still be carried out. Filter refuses that pod,
// whose PodGroup no longer exists, so it is never bound.) In memory only: checked again after a
// restart. Thread-safe.
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
  // The job was deleted.
  void forget(const std::string& job_uid) {
    const MutexLock lock(mutex_);
    cleared_.erase(job_uid);
  }

 private:
  mutable Mutex mutex_;
  std::unordered_map<std::string, std::string> cleared_ GUARDED_BY(mutex_);  // job -> PodGroup
};

// -- which dry runs are pending, and what were the answers?

// The last question and answer of each job (controller/decide/objects/pod_dry_run.h). In memory
// only: after a restart each waiting job is asked about again. Thread-safe.
class DryRuns {
 public:
  struct Question {
    std::string job;  // its key
    std::string job_uid;
    std::string subject;
    SysTime asked{};
  };
  // Replaces the job's earlier question.
  void ask(Question question);
  // Takes the oldest pending question; nullopt: none.
  std::optional<Question> next();
  // Waits for one; nullopt: a stop was requested.
  std::optional<Question> wait_for_next(const std::stop_token& stop);
  // Does nothing if the job has a newer question, or was deleted.
  void answer(const std::string& job_uid, DryRunReport report);
  // Reports unanswered questions too; nullopt: nothing was asked.
  std::optional<DryRunReport> report_on(const std::string& job_uid) const;
  // The job was deleted.
  void forget(const std::string& job_uid);

 private:
  std::optional<Question> take() REQUIRES(mutex_);

  mutable Mutex mutex_;
  CondVar asked_;
  std::deque<Question> questions_ GUARDED_BY(mutex_);
  std::unordered_map<std::string, DryRunReport> reports_ GUARDED_BY(mutex_);  // by the job's uid
};

// -- when may a status that only informs be written?

// Limits such writes to one per period and job, and to kPerSecond of all jobs together, after a
// burst of kBurst: otherwise the status writes of a hundred starting jobs cost the API server more
// than their gangs. First come, first served. In memory only: after a restart the first write of
// each job is not delayed. Thread-safe.
class StatusWriteLimiter {
 public:
  static constexpr int kPerSecond = 10;
  static constexpr int kBurst = 20;

  // `job`: its key, namespace/name. Any write of its status counts.
  void note_write(const std::string& job, MonoTime now);
  // How long a write that only informs has to wait before asking again; 0: it may be sent, and
  // counts. A turn that is not used for a period is lost. Period 0: no limit.
  std::chrono::milliseconds delay(const std::string& job, MonoTime now,
                                  std::chrono::milliseconds period);
  // The same for the first status of a job: written one period after the first call, even if other
  // jobs write much, so that each job soon has one.
  std::chrono::milliseconds first_delay(const std::string& job, MonoTime now,
                                        std::chrono::milliseconds period);
  // The job was deleted.
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

// -- what is cached?

// The Queues as a tree, made again after each change. Thread-safe.
class CachedQueues {
 public:
  // Not null: without Queues it has the root alone.
  std::shared_ptr<const queue::QueueTree> tree() const;
  // A Queue has changed: the sink of `store`, which fills it, calls this. Cost: queues.
  void update();

  kube::Store<queue::Queue> store;

 private:
  mutable Mutex mutex_;
  std::shared_ptr<const queue::QueueTree> tree_ GUARDED_BY(mutex_) =
      std::make_shared<const queue::QueueTree>();
};

// The queues' key for objects that no job owns in this namespace: its Service, its EndpointSlices,
// and pods of ours and PodGroups without a job as their owner; the index has those under this key
// too. No job has this name.
inline std::string orphans_key(const std::string& ns) { return ns + "/"; }

// Jobs are indexed by namespace; pods by the key of the owning job; the others by the owner's uid.
// Slices, and pods and PodGroups without a job, are at orphans_key(). Thread-safe, as the stores
// are.
struct Stores {
  Stores();

  // Folds in the API server's answer to a write or a read of a job.
  void update_job(job::Job job);
  // The API server has confirmed that this job was deleted.
  void forget_job(const kube::Meta& job);

  kube::Store<job::Job> jobs;  // packed (job/kept.h)
  KeptTemplates templates{jobs};
  ParsedTemplates parsed_templates;  // for all that read_templates() parses at one time
  kube::Store<kube::Pod> pods;
  kube::Store<Service> services;
  kube::Store<EndpointSlice> endpoint_slices;  // of namespaces' Services
  kube::Store<gang::PodGroup> pod_groups;
  GroupPods group_pods{pod_groups};
  kube::Store<AggregatorConfig> aggregator_configs;
  kube::Store<job::PriorityClass> priority_classes;
  CachedQueues queues;
  // Not a kind: the last state of deleted coordinators that were marked as about to be disrupted;
  // the latest one per job.
  kube::Store<kube::Pod> disrupted_coordinators;
  // Not a kind: results of live reads.
  ClearedAttempts cleared_attempts;
  StatusWriteLimiter status_writes;
  DryRuns dry_runs;
};

// Keys of a namespace's jobs that this version cannot read: they exist all the same.
std::vector<std::string> unreadable_jobs(const Stores& stores, const std::string& ns);
// Jobs of a namespace, including unreadable ones.
bool has_jobs(const Stores& stores, const std::string& ns);

// Codecs from an object's JSON text to what the stores keep.
Result<kube::Pod> decode_pod(std::string_view json);

// -- how do the caches stay current, and which job does a change affect?

// True if the change affects at most counts: a worker or aggregator starts, runs, becomes ready or
// ends on its own. The pods of a gang do so one by one, and each would cost the job a status write.
// Changes of the coordinator and of pods to be replaced are handled at once.
bool can_be_coalesced(const kube::Pod& after);

// Delay from the first change of pods that can be coalesced until all of them are handled.
inline constexpr std::chrono::milliseconds kPodEventDelay{200};

// Delay from the first change of a job's pod addresses until its EndpointSlices are handled: later
// changes are written with it.
inline constexpr std::chrono::milliseconds kEndpointSliceDelay{250};

struct Queues {
  explicit Queues(const Clock& clock) : jobs(clock), endpoint_slices(clock) {}

  kube::WorkQueue jobs;             // and orphans_key(); that of "" stands for all Queues
  kube::WorkQueue endpoint_slices;  // orphans_key() of namespaces whose slices may need a write
};

// Adds every kind of `stores`. Each change queues the key of the owning job; a change of an
// AggregatorConfig or a PriorityClass queues all jobs. Pod changes that affect at most counts are
// queued after `pod_event_delay`. Of the AggregatorConfigs, which users may create, only the one
// with the key `aggregator_config` counts.
void add_watches(kube::Reflectors& watches, Stores& stores, Queues& queues,
                 const std::string& aggregator_config,
                 std::chrono::milliseconds pod_event_delay = kPodEventDelay);

}  // namespace nervex::controller
