// controller/decide/round/observed.h - all that a decision about one job may depend on; observe.h
// gathers it.
#pragma once

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
#include "job/types.h"
#include "kube/api.h"
#include "kube/model/json.h"
#include "kube/model/meta.h"
#include "kube/model/pod.h"

namespace nervex::controller {

// -- what is kept of a service, and whose is an object?

struct Service {
  kube::Meta meta;
  std::uint64_t shape = 0;  // service_shape()
  bool has_owner = false;   // be it its controller or not
  bool is_headless = false;
  bool operator==(const Service&) const = default;
};
Result<Service> decode_service(std::string_view json);

// A number for what matters of a service's spec: that it is headless, publishes addresses that are
// not ready, and whom it selects on which ports. Equal within this process for equal ones, be they
// manifests of ours or as the API server has them.
std::uint64_t service_shape(const Json& service);

// Is it a namespace's Service of ours (job::shared_service_manifest)? One with another label or
// with an owner is not ours, and is left alone.
bool is_shared_service(const Service& service);

using job::AggregatorConfig;

// The uid of the NerveXJob that is the controller of the object; "" if there is none.
std::string owner_job_uid(const kube::Meta& meta);
// "namespace/name" of that job; "" if there is none.
std::string owner_job_key(const kube::Meta& meta);

// -- which priority has a job in the queue, and may its pods be created?

inline constexpr kube::ResourceKind kPriorityClasses{"scheduling.k8s.io", "v1", "priorityclasses"};

struct PriorityClass {
  kube::Meta meta;
  int value = 0;
  bool is_global_default = false;
  bool operator==(const PriorityClass&) const = default;
};
Result<PriorityClass> decode_priority_class(std::string_view json);

using PriorityClasses = std::vector<std::shared_ptr<const PriorityClass>>;

struct Priority {
  int value = 0;
  // A PriorityClass that a pod of the job names and that does not exist, and the field that names
  // it: the API server would refuse that pod. "" if there is none.
  std::string missing;
  std::string named_by;
  bool operator==(const Priority&) const = default;
};

// As the API server's admission plugin Priority resolves the class of the coordinator's pod:
// spec.priorityClassName, which every pod of the job gets; without it that of the coordinator's
// template; without that the PriorityClass with globalDefault (of several the lowest), else 0.
// `aggregator_template` may be null. Without spec.priorityClassName each template keeps its own.
Priority resolve_priority(const job::Spec& spec, const Json& aggregator_template,
                          const PriorityClasses& classes);

// -- what did the API server say to a dry run of the pods of a job that waits?

// pod_dry_run.h says when it is asked, and what the answer means.
struct DryRunReport {
  struct Refusal {
    job::Role role = job::Role::kCoordinator;
    std::string words;  // the API server's own
    bool operator==(const Refusal&) const = default;
  };
  std::string subject;  // of the question: dry_run_subject()
  SysTime asked{};
  bool is_answered = false;    // false: the question is on its way
  bool is_incomplete = false;  // of some role nothing is known
  std::vector<Refusal> refusals;
  // What the pod would request as admission makes it. Not of a role that is refused.
  struct Size {
    job::Role role = job::Role::kCoordinator;
    kube::Resources requests;
    bool operator==(const Size&) const = default;
  };
  std::vector<Size> sizes{};
  bool is_untold =
      false;  // a webhook knows no dry run: what it does to some role's pod is not known
  bool operator==(const DryRunReport&) const = default;
};

// An object of a deleted job that had this one's name.
struct Predecessor {
  std::string object;                    // "pod dqn-coordinator"; "": there is none
  std::shared_ptr<const kube::Pod> pod;  // that object, if it is a pod
};

// -- what is observed of one job?

template <typename T>
using Ptrs = std::vector<std::shared_ptr<const T>>;

// From an attempt that failed to the next one; doubles with each failure. Also between the starts
// of attempts that the cluster takes back, which never doubles.
inline constexpr std::chrono::seconds kRetryDelay{10};

struct Observed {
  job::Job job;  // as stored, defaults filled in
  // Those whose controller reference holds this job's uid, sorted by name.
  Ptrs<kube::Pod> pods;
  Ptrs<Service> services;
  Ptrs<gang::PodGroup> pod_groups;
  // Of the namespace's name, ours or not; null if there is none that is labelled as if it were
  // ours.
  std::shared_ptr<const Service> shared_service;
  bool shared_services = false;   // --services=shared: what attempts that begin now use
  bool direct_placement = false;  // --direct-placement
  std::shared_ptr<const AggregatorConfig> aggregator_config;  // null: there is none
  bool aggregator_config_is_unreadable = false;  // there is one, and this program cannot read it
  std::string aggregator_config_name;            // "namespace/name" of it
  std::string server_url;                        // what pods get
  bool server_token = false;                     // pods get a token for it
  // The attempt has run, and a live read just now found no coordinator pod of it.
  bool coordinator_is_gone = false;
  // Then: its last state that a watch showed, if that said why it was deleted; null if not.
  std::shared_ptr<const kube::Pod> last_coordinator;
  // Then: a live read just now found its node gone, or not ready.
  bool coordinator_node_is_lost = false;
  // The attempt has run, and a live read just now found no PodGroup of it.
  bool pod_group_is_gone = false;
  // Nothing of the attempt was made yet, and this object still has a name that it needs.
  Predecessor predecessor;
  std::optional<DryRunReport> dry_run;  // nullopt: this process has not asked yet
  Priority priority;                    // of the job, by the PriorityClasses that there are now
  std::chrono::milliseconds retry_delay = kRetryDelay;
  int max_reservation_seconds = job::kDefaultMaxReservationSeconds;  // --max-reservation-seconds
  // --start-timeout: of jobs without startTimeoutSeconds; 0: no limit.
  std::chrono::milliseconds start_timeout{0};
  SysTime now{};  // the only clock
};

}  // namespace nervex::controller
