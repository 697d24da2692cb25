// gang/pod_group.h - the PodGroup as a value: what one attempt of a job wants placed, and the plan.
//
// It is all that the extender knows of a job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "gang/no_fit.h"
#include "kube/model/meta.h"
#include "kube/model/node.h"
#include "kube/model/resources.h"

namespace nervex::gang {

inline constexpr std::string_view kApiVersion = "nervex.sensetime.com/v1alpha1";
inline constexpr std::string_view kKind = "PodGroup";
inline constexpr std::string_view kBaseGang = "base";
inline constexpr std::string_view kDirect = "Direct";  // of spec.placement
// A short text can name many slots: one that names more than a role has ordinals is not read.
inline constexpr int kMostSlots = 65'536;

// One pod of a role at a time: role/ordinal names the slot, the incarnation counts its pods.
struct SlotId {
  int ordinal = 0;
  int incarnation = 0;
  auto operator<=>(const SlotId&) const = default;  // NOLINT(modernize-use-nullptr): tidy 14 errs
};

// A slot of a role; the role's text is borrowed. Made by its own name, never by std::pair(role,
// slot), which copies the text and lends the copy's.
using SlotKey = std::pair<std::string_view, SlotId>;

// What is equal for every pod of a set, and decides on which nodes it may be. It is copied and
// compared as a whole.
struct PodShape {
  kube::Resources requests;  // of one pod, "pods" and implicit resources included
  kube::NodeConstraints constraints;
  std::vector<std::string> claims{};  // PersistentVolumeClaims of the PodGroup's namespace, sorted
  // Required affinity of the pods to each other, kube::self_affinity(): pods with one of these have
  // to be in one group of nodes. JSON: podAffinity.
  std::vector<std::string> together{};
  bool operator==(const PodShape&) const = default;
};

// So many slots of a set take over capacity that a set of the base gang has reserved. Until they
// have a placement it stays reserved for them.
struct FromReserved {
  std::string set;  // MemberSet::name
  int count = 0;
  bool operator==(const FromReserved&) const = default;
};

// What the API server said in a dry run of a pod of a set, while its gang waited: a LimitRange, a
// RuntimeClass or a webhook may make pods larger than the template says, and may cease to.
struct AdmittedPod {
  int answer = 0;            // counts up; 0: there was none
  kube::Resources requests;  // of the pod as it would be stored
  bool operator==(const AdmittedPod&) const = default;
};

// Pods of one role and one shape.
struct MemberSet {
  std::string name;  // unique in the PodGroup
  std::string gang;  // sets of one gang are placed together or not at all: kBaseGang, "request-7"
  std::string role;  // "coordinator", "collector", ...; a slot's key is role/ordinal
  std::vector<SlotId> slots;
  // Capacity for this many more pods, which have no slot yet, is planned with the gang and kept:
  // for the coordinator's first requests. Only of sets of the base gang. JSON: held.
  int reserved_pods = 0;
  PodShape shape;
  // Its pods are bound when all others of the gang are: the coordinator, which must not start
  // before its workers can. JSON: bindLast.
  bool bind_last = false;
  // The gang runs on without these pods when they are lost, for as long as it takes to replace
  // them: the job's own aggregator. JSON: healsAlone.
  bool heals_alone = false;
  FromReserved from_reserved = {};  // JSON: fromHeld
  AdmittedPod admitted = {};
  bool operator==(const MemberSet&) const = default;
};

// While a gang is planned, reserved capacity has slots too: with negative ordinals, which no spec
// or placement has.
inline SlotId reserved_slot(int number) { return {-1 - number, 0}; }
inline bool is_reserved_slot(SlotId slot) { return slot.ordinal < 0; }

struct PodGroupSpec {
  int attempt = 1;
  int priority = 0;
  SysTime queued_since{};  // position of the job in the queue, kept across attempts
  std::optional<std::int64_t> schedule_timeout_seconds;
  std::vector<MemberSet> members;
  // The pods of the base gang, but for those that are bound last, may be created with their node:
  // all that decides where they may go is in their shapes. JSON: placement "Direct".
  bool direct_placement = false;
  // The highest placement number that the controller has seen. Numbers continue above it, also when
  // the status was lost.
  std::int64_t highest_placement = 0;
  bool operator==(const PodGroupSpec&) const = default;
};

// The node of one slot. The number comes from one counter that never goes back; it changes when the
// slot's node or incarnation changes and otherwise never.
struct Placement {
  std::string role;
  SlotId slot;
  std::string node;
  std::int64_t number = 0;
  bool operator==(const Placement&) const = default;
};

// Why a plan failed: kube-scheduler refused pods of it, and none was bound.
struct PlanRefusals {
  int count = 0;         // plans in a row
  SysTime plan_after{};  // no sooner again
  std::string message;   // what kube-scheduler said last, and of which pod
  // The claims that no node was at fault for, as they were then, sorted: "data=missing",
  // "data=unbound". When one of them is otherwise the gang is planned again at once.
  std::vector<std::string> waits_for{};
  bool operator==(const PlanRefusals&) const = default;
};

// Reserved capacity of one set on one node.
struct ReservedCapacity {
  std::string set;  // MemberSet::name
  std::string node;
  int count = 0;  // pods
  bool operator==(const ReservedCapacity&) const = default;
};

struct GangStatus {
  std::string name;  // as MemberSet::gang
  // Every slot of the gang has a placement. If not, none has, unless the gang is committed: then
  // the others keep theirs.
  bool planned = false;
  // The first bind has checked the plan against the cluster, or of a gang that is placed directly
  // the planner has. From then on slots only get a placement that they lack.
  bool committed = false;
  std::string reason;                 // CamelCase: kReasonPlanned and the like
  std::string message;                // for people; mirrored on the job
  SysTime since{};                    // when the reason last changed
  std::vector<Placement> placements;  // decoded: by role and slot
  // Of the base gang: capacity without a slot, also for sets of requests that wait for the rest of
  // theirs; by set and node. It counts as the gang's placements do: committed when they are.
  std::vector<ReservedCapacity> reserved = {};
  PlanRefusals refusals{};  // of a gang that is not committed
  // Of a committed gang that is not whole: since when, and what was lost first ("learner/3 lost its
  // node gpu-7 ..."). Not set as long as it is only starting.
  std::optional<SysTime> healing_since{};
  std::string healing_cause{};
  // Not 0: the gang was committed when it was planned, and the pods of its placements up to this
  // number may be created with their node (is_direct()). JSON: directThrough.
  std::int64_t direct_through = 0;
  // Of a gang that waits for capacity or quota: what the message says. JSON: cause, and the remedy
  // that follows from it.
  std::optional<NoFit> cause{};
  bool operator==(const GangStatus&) const = default;
};

// kube-scheduler has refused pods of this set on this node: a new plan has at most so many there.
struct AvoidedNode {
  std::string set;  // MemberSet::name
  std::string node;
  int at_most = 0;
  int times = 1;  // how often it was refused; `until` is the later the more there were
  SysTime until{};
  bool operator==(const AvoidedNode&) const = default;
};

// Pods of this set were created with more than the spec says: admission enlarged them. That ends
// with its cause: with a later answer to a dry run (AdmittedPod), with a pod that is not enlarged,
// or when a plan after `until` shows it.
struct EnlargedSet {
  std::string set;  // MemberSet::name
  kube::Resources requests;
  int times = 1;    // that it was learned; `until` is the later the more there were
  SysTime until{};  // then a plan is tried without it
  int answer = 0;   // AdmittedPod::answer when it was learned
  bool operator==(const EnlargedSet&) const = default;
};

struct PodGroupStatus {
  std::int64_t observed_generation = 0;  // the spec generation last decided on
  std::int64_t next_placement = 1;
  std::vector<GangStatus> gangs;     // in the order of first mention in the spec
  std::vector<AvoidedNode> avoid{};  // bounded: extender/decide/refusals.h
  // In the order of the spec: while a gang waits there are no pods that could tell.
  std::vector<EnlargedSet> enlarged{};
  bool operator==(const PodGroupStatus&) const = default;
};

struct PodGroup {
  kube::Meta meta;
  PodGroupSpec spec;
  PodGroupStatus status;
  bool operator==(const PodGroup&) const = default;
};

inline constexpr std::string_view kReasonPlanned = "Planned";
inline constexpr std::string_view kReasonUnschedulable = "Unschedulable";
// Planned, but kube-scheduler refused a pod of it: planned again with other nodes.
inline constexpr std::string_view kReasonRefusedByScheduler = "RefusedByScheduler";
// Planned, but none of its pods was bound for too long: planned again later.
inline constexpr std::string_view kReasonPlanExpired = "PlanExpired";
inline constexpr std::string_view kReasonOverQuota = "OverQuota";
// The API server does not store the plan: it is too large, or the schema does not allow it.
inline constexpr std::string_view kReasonPlanRefused = "PlanRefused";
// A committed gang is not whole: every slot has a node, and some pods do not run on theirs yet.
inline constexpr std::string_view kReasonHealing = "Healing";
// It was not whole for longer than the healing deadline: the controller queues it again.
inline constexpr std::string_view kReasonHealingTimeout = "HealingDeadlineExceeded";

// Codec. decode: kInvalid names the field. Neighbouring slots are written as one entry with a
// count, placements by role and node: 5,000 slots, each on a node of its own with a name of
// 100 characters, stay below 1 MiB (tests/gang/pod_group_size_test.cpp). The older form, an entry
// per slot, is read as well.
Result<PodGroup> decode_pod_group(const Json& object);
// The same of its JSON text.
Result<PodGroup> parse_pod_group(std::string_view json);
Json encode_spec(const PodGroupSpec& spec);
Json encode_status(const PodGroupStatus& status);

// The placement of a slot, or nullptr. Cost: linear in the group's placements.
const Placement* find_placement(const PodGroupStatus& status, std::string_view role, SlotId slot);
const GangStatus* find_gang(const PodGroupStatus& status, std::string_view name);
// Pods that capacity is reserved for under that set's name.
int reserved_for(const GangStatus& gang, std::string_view set);
// Its pod may have been created with its node, and then was bound to it from the start. Never of
// one that got its place later: it moved, replaces another pod, or was added.
inline bool is_direct(const GangStatus& gang, const Placement& placement) {
  return placement.number <= gang.direct_through;
}
// The gang that a placement belongs to.
const GangStatus* gang_of(const PodGroupStatus& status, std::string_view role, SlotId slot);

}  // namespace nervex::gang
