// job/names.h - what are a job's objects called, before they exist? Names, labels, ports.
#pragma once

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

inline constexpr std::string_view kMainContainer = "nervex-container";
inline constexpr std::string_view kMainPort = "nervex-port";
// On pods whose main container has another name: the kubelet lists states by name, not as in the
// spec, so the first of them would be a guess.
inline constexpr std::string_view kMainContainerAnnotation = "nervex.sensetime.com/main-container";
// Keeps a pod of coordinator, collector, learner or ddp-learner until the controller has recorded
// how it ended, however it ends and no matter who deletes it, as batch/v1 Job does with its pods.
// The job's own aggregator has none: nothing is counted of it after its deletion.
inline constexpr std::string_view kTrackingFinalizer = "nervex.sensetime.com/job-tracking";
inline constexpr std::string_view kSchedulerName = "nervex-scheduler";

inline constexpr int kMaxOrdinal = 65'535;
inline constexpr int kMaxIncarnation = 217;  // of the names of one ordinal
// More incarnations than this no replica can have: those of its own ordinal and of all that the
// controller gives out.
inline constexpr int kMaxIncarnations =
    (kMaxIncarnation + 1) * (kMaxOrdinal + 1 - kFirstContinuedOrdinal + 1);

// Port of a role whose main container declares none: collector 22270, learner and ddp-learner
// 22271, aggregator 22272, coordinator 22273.
int default_port(Role role);

// Five characters from bcdfghjklmnpqrstvwxz2456789. For one job (uid) and role a bijection of
// (ordinal, incarnation): names never collide within a job, and are known before pods exist.
// Ordinal in 0..65535, incarnation in 0..217.
std::string name_suffix(std::string_view job_uid, Role role, Slot slot);
// The slot whose suffix this is. nullopt: no slot has it. Nearly every other five characters are
// some slot's, so that this says nothing about whether the job ever had such a pod.
std::optional<Slot> slot_of_suffix(std::string_view job_uid, Role role, std::string_view suffix);

// `<job>-coordinator` and `<job>-aggregator` for slot 0 of those roles; else
// `<job>-<role>-<suffix>`. Incarnations after the 217th have suffixes of other ordinals:
// status.continued.
std::string pod_name(const Job& job, Role role, Slot slot);
// The incarnation has a name: it is one of the first 218, or status.continued has an ordinal for
// it, or the role's name is fixed. No pod is made of a slot without.
bool has_name(const Job& job, Role role, Slot slot);

// Whose name is this? The inverse of the above, of every role. nullopt: no pod of this job has it.
struct NamedSlot {
  Role role = Role::kCoordinator;
  Slot slot;
  bool operator==(const NamedSlot&) const = default;
};
std::optional<NamedSlot> slot_of_pod_name(const Job& job, std::string_view pod);

// Of the gang that holds one request's slots: this and the entry's id, in the PodGroup.
inline constexpr std::string_view kRequestGang = "request-";

// `<job>-<attempt>`
std::string pod_group_name(const Job& job, int attempt);

// What is the longest name that a pod of a job with these roles may have, and how long may the
// job's own name be, so that all its pods, services and labels are valid? Label values and names of
// services have at most 63 characters.
struct NameLimit {
  int length = 0;                // of the job's name
  std::string_view longest_pod;  // what follows the job's name: "-ddp-learner-xxxxx"
};
// A job with a learner template may be asked for multi-GPU learners at any time.
NameLimit name_limit(bool has_collector, bool has_learner);
inline constexpr int kMaxNameLength = 63;

// RFC 1035 (k8s.io/apimachinery/pkg/util/validation): what names of services must be. A prefix may
// end in a hyphen.
bool is_dns_1035(std::string_view name, bool is_prefix = false);

// Can a job of this name and with these roles have pods and services? kInvalid with what is wrong
// with it; the webhook says the same at admission.
Result<Nothing> check_job_name(const Job& job);

}  // namespace nervex::job
