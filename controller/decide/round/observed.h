// controller/decide/round/observed.h - what is the whole input of a decision about one job?
// observe.h gathers it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "gang/pod_group.h"
#include "job/aggregator_config.h"
#include "job/priority.h"
#include "job/types.h"
#include "kube/api.h"
#include "kube/model/json.h"
#include "kube/model/meta.h"
#include "kube/model/pod.h"
#include "queue/tree.h"

namespace nervex::controller {

// -- what is cached of a service, and who owns an object?

struct Service {
  kube::Meta meta;
  std::uint64_t shape = 0;  // service_shape()
  bool has_owner = false;   // any owner reference
  bool is_headless = false;
  bool operator==(const Service&) const = default;
};
Result<Service> decode_service(std::string_view json);

// A hash of the relevant parts of a service's spec: headless, publishes not ready addresses,
// selector and ports. Equal within this process for equal specs, whether from our manifest or the
// API server.
std::uint64_t service_shape(const Json& service);

// Is it our Service of a namespace (job::shared_service_manifest)? One with another label or an
// owner is not ours, and is never changed.
bool is_shared_service(const Service& service);

using job::AggregatorConfig;

// The uid of the NerveXJob that controls the object; "" if none does.
std::string owner_job_uid(const kube::Meta& meta);
// "namespace/name" of that job; "" if there is none.
std::string owner_job_key(const kube::Meta& meta);

// -- what did the API server answer to a dry run of a waiting job's pods?

// pod_dry_run.h defines when it is asked, and what the answer means.
struct DryRunReport {
  struct Refusal {
    job::Role role = job::Role::kCoordinator;
    std::string words;  // the API server's message
    bool operator==(const Refusal&) const = default;
  };
  std::string subject;  // of the question: dry_run_subject()
  SysTime asked{};
  bool is_answered = false;    // false: not answered yet
  bool is_incomplete = false;  // the result of some role is unknown
  std::vector<Refusal> refusals;
  // The pod's requests after admission. Not for a refused role.
  struct Size {
    job::Role role = job::Role::kCoordinator;
    kube::Resources requests;
    bool operator==(const Size&) const = default;
  };
  std::vector<Size> sizes{};
  bool is_untold =
      false;  // a webhook does not support dry runs: its effect on some role's pod is unknown
  // A ResourceQuota is used up for now, which the planner may or may not count.
  std::optional<gang::StartBlocker> exceeded_quota{};
  // What the pods need, and what does not exist.
  std::vector<gang::StartBlocker> missing{};
  SysTime first_asked{};  // the same question
  bool operator==(const DryRunReport&) const = default;
};

// An object of a deleted job of the same name.
struct Predecessor {
  std::string object;                    // "pod dqn-coordinator"; "": none
  std::shared_ptr<const kube::Pod> pod;  // that object, if it is a pod
};

// -- what is observed of a job?

// A PodGroup asks for at most so many pods: reserved learners may each have an aggregator.
inline constexpr std::int64_t kMaxGroupPods = std::int64_t{2} * job::kMaxPodsPerJob;

// Pods that PodGroups ask for, reserved capacity included.
struct GroupPodCount {
  std::int64_t of_namespace = 0;
  std::int64_t all = 0;               // of all namespaces
  std::int64_t max_of_namespace = 0;  // --max-pods-per-namespace; 0: no limit

  std::int64_t max_of_all() const { return 4 * max_of_namespace; }
  // A namespace may have so many also if the others have all, so that a few large ones cannot stop
  // it: one job at least, however large.
  std::int64_t share() const { return std::max(max_of_namespace / 16, kMaxGroupPods); }
  bool has_space(std::int64_t more) const {
    if (max_of_namespace == 0) return true;
    const std::int64_t then = of_namespace + more;
    return then <= share() || (then <= max_of_namespace && all + more <= max_of_all());
  }
};

template <typename T>
using Ptrs = std::vector<std::shared_ptr<const T>>;

// Delay from a failed attempt to the next; doubles with each failure. Also between the starts of
// attempts that the cluster disrupts; that delay never doubles.
inline constexpr std::chrono::seconds kRetryDelay{10};

struct Observed {
  job::Job job;  // as stored, defaults filled in
  // False: `job.status` is what begin_job() makes of an empty one.
  bool has_status = true;
  // Objects whose controller reference has this job's uid, sorted by name.
  Ptrs<kube::Pod> pods;
  Ptrs<Service> services;
  Ptrs<gang::PodGroup> pod_groups;
  // The Service with the namespace's name and our label, ours or not; null: none.
  std::shared_ptr<const Service> shared_service;
  bool shared_services = false;   // --services=shared: for attempts that begin now
  bool direct_placement = false;  // --direct-placement
  std::shared_ptr<const AggregatorConfig> aggregator_config;  // null: none
  bool aggregator_config_is_unreadable = false;               // it exists, but cannot be decoded
  std::string aggregator_config_name;                         // its "namespace/name"
  std::string server_url;                                     // passed to pods
  bool server_token = false;                                  // pods get a token for it
  // The attempt has run, and a live read just found no coordinator pod.
  bool coordinator_is_gone = false;
  // Then: its last watched state, if that says why it was deleted; else null.
  std::shared_ptr<const kube::Pod> last_coordinator;
  // Then: a live read just found its node deleted, or not ready.
  bool coordinator_node_is_lost = false;
  // The attempt has run, and a live read just found no PodGroup.
  bool pod_group_is_gone = false;
  GroupPodCount group_pods;  // of the job's namespace, this job included
  // No object of the attempt exists yet, and this object still has a name that it needs.
  Predecessor predecessor;
  std::shared_ptr<const queue::QueueTree> queues;  // null: not known
  std::optional<DryRunReport> dry_run;             // nullopt: not asked by this process yet
  job::Priority priority;                          // of the job, by the current PriorityClasses
  std::chrono::milliseconds retry_delay = kRetryDelay;
  int max_reservation_seconds = job::kDefaultMaxReservationSeconds;  // --max-reservation-seconds
  // --start-timeout: for jobs without startTimeoutSeconds; 0: no limit.
  std::chrono::milliseconds start_timeout{0};
  std::chrono::seconds max_termination_grace{0};  // --max-termination-grace; 0: no limit
  SysTime now{};                                  // the only clock
};

}  // namespace nervex::controller
