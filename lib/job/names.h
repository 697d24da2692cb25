// job/names.h - which names, labels and ports do a job's objects have, before they exist?
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "job/types.h"

namespace nervex::job {

inline constexpr std::string_view kGroupLabel = "group-name";
inline constexpr std::string_view kGroupLabelValue = "nervex.sensetime.com";
inline constexpr std::string_view kJobLabel = "nervexjob-name";
inline constexpr std::string_view kControllerLabel = "controller-name";
inline constexpr std::string_view kControllerLabelValue = "nervex-operator";
inline constexpr std::string_view kRoleLabel = "replica-type";
inline constexpr std::string_view kPodNameLabel = "pod-name";
// The label of collectors and learners that `replicas` counts: a tool that scales the job selects
// it.
inline constexpr std::string_view kBaseReplicaLabel = "nervex.sensetime.com/base-replica";
inline constexpr std::string_view kBaseReplicaLabelValue = "true";

inline constexpr std::string_view kMainContainer = "nervex-container";
inline constexpr std::string_view kMainPort = "nervex-port";
// Set on pods whose main container has another name: the kubelet lists states by name, not in spec
// order, so the first state is not reliable.
inline constexpr std::string_view kMainContainerAnnotation = "nervex.sensetime.com/main-container";
// Keeps a pod of coordinator, collector, learner or ddp-learner until the controller has recorded
// how it ended, even if it is deleted, as batch/v1 Job does. The job's own aggregator has none: it
// is not counted after its deletion.
inline constexpr std::string_view kTrackingFinalizer = "nervex.sensetime.com/job-tracking";
inline constexpr std::string_view kSchedulerName = "nervex-scheduler";
// Of the job: the user who created it. Set by the webhook, and fixed.
inline constexpr std::string_view kSubmittedByAnnotation = "nervex.sensetime.com/submitted-by";
inline constexpr std::size_t kMaxUserBytes = 1024;  // longer names are cut

inline constexpr int kMaxOrdinal = 65'535;
inline constexpr int kMaxIncarnation = 217;  // of the names of one ordinal
// Upper bound on a replica's incarnations: those of its own ordinal and of all ordinals that the
// controller assigns.
inline constexpr int kMaxIncarnations =
    (kMaxIncarnation + 1) * (kMaxOrdinal + 1 - kFirstContinuedOrdinal + 1);

// Port of a role whose main container declares none: collector 22270, learner and ddp-learner
// 22271, aggregator 22272, coordinator 22273.
int default_port(Role role);

// Five characters from bcdfghjklmnpqrstvwxz2456789. For one job (uid) and role a bijection of
// (ordinal, incarnation): names never collide within a job and are known before pods exist. Ordinal
// in 0..65535, incarnation in 0..217.
std::string name_suffix(std::string_view job_uid, Role role, Slot slot);
// The slot with this suffix. nullopt: no slot has it. Most five-character texts are the suffix of
// some slot, so a result does not prove that the job ever had such a pod.
std::optional<Slot> slot_of_suffix(std::string_view job_uid, Role role, std::string_view suffix);

// `<job>-coordinator` and `<job>-aggregator` for slot 0 of those roles, else
// `<job>-<role>-<suffix>`. Incarnations above 217 use suffixes of other ordinals: status.continued.
std::string pod_name(const Job& job, Role role, Slot slot);
// True for one of the first 218 incarnations, for one with an ordinal in status.continued, and for
// roles with a fixed name. Slots without a name get no pod.
bool has_name(const Job& job, Role role, Slot slot);

// The inverse of pod_name() for every role. nullopt: no pod of this job has that name.
struct NamedSlot {
  Role role = Role::kCoordinator;
  Slot slot;
  bool operator==(const NamedSlot&) const = default;
};
std::optional<NamedSlot> slot_of_pod_name(const Job& job, std::string_view pod);

// `<job>-<attempt>`
std::string pod_group_name(const Job& job, int attempt);

// The longest name that a pod of a job with these roles may have, and the resulting limit on the
// job's own name, so that all pods, services and labels are valid. Label values and names of
// services have at most 63 characters.
struct NameLimit {
  int length = 0;                // of the job's name
  std::string_view longest_pod;  // what follows the job's name: "-ddp-learner-xxxxx"
};
// Any job with a learner template may be asked for multi-GPU learners.
NameLimit name_limit(bool has_collector, bool has_learner);
inline constexpr int kMaxNameLength = 63;

// RFC 1035 (k8s.io/apimachinery/pkg/util/validation): the rule for names of services. A prefix may
// end in a hyphen.
bool is_dns_1035(std::string_view name, bool is_prefix = false);

// Whether a job of this name and with these roles can have pods and services. kInvalid says why
// not; the webhook says the same at admission.
Result<Nothing> check_job_name(const Job& job);

}  // namespace nervex::job
