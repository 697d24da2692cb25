// gang/pod_group.h - the PodGroup as a value: what one attempt of a job wants placed, and the plan.
// The extender knows nothing else of a job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
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
#include "kube/model/shared.h"
#include "kube/model/topology_spread.h"

namespace nervex::gang {

inline constexpr std::string_view kApiVersion = "nervex.sensetime.com/v1alpha1";
inline constexpr std::string_view kKind = "PodGroup";
inline constexpr std::string_view kBaseGang = "base";  // name of the only gang of kind Base
inline constexpr std::string_view kDirect = "Direct";  // of spec.placement
inline constexpr std::string_view kNever = "Never";    // of spec.preemptionPolicy
// Values of spec.gangs[].members[].topology[].policy.
inline constexpr std::string_view kRequired = "Required";
inline constexpr std::string_view kPreferred = "Preferred";
// Of status.gangs[].victims[].reason.
inline constexpr std::string_view kReclaim = "Reclaim";
inline constexpr std::string_view kLowerPriority = "LowerPriority";
inline constexpr std::string_view kForReservation = "Reservation";
// On the PodGroup: hashes of the volumes and templates that its member sets and pods are made of.
// Missing: an earlier version made it.
inline constexpr std::string_view kTemplatesAnnotation = "nervex.sensetime.com/templates";
// A short text can name many slots. One that names more than a role has ordinals is rejected.
inline constexpr int kMostSlots = 65'536;

// role/ordinal names the slot, the incarnation counts its pods. A slot has one pod at a time.
struct SlotId {
  int ordinal = 0;
  int incarnation = 0;
  auto operator<=>(const SlotId&) const = default;  // NOLINT(modernize-use-nullptr): tidy 14 errs
};

// A slot of a role; borrows the role's text. Construct it by this name, not by std::pair(role,
// slot), which copies the text and borrows from the temporary copy.
using SlotKey = std::pair<std::string_view, SlotId>;

// Pods that have to be near each other: on nodes with one value of a label. All sets of the
// PodGroup with the same key and group are meant together.
struct TopologyTerm {
  std::string key;
  std::string group;        // kWholeJob, or a role: "learner"
  bool is_required = true;  // false: if the gang fits so, else in as few domains as possible
  bool operator==(const TopologyTerm&) const = default;
};
inline constexpr std::string_view kWholeJob = "job";
// A set has no more than these. kube-scheduler checks further terms of pod affinity.
inline constexpr std::size_t kMaxTopologyTerms = 2;
inline constexpr std::size_t kMaxNodeClasses = 16;
inline constexpr std::size_t kMaxAffinityTerms = 64;

// What all pods of a set share and what decides which nodes they may use. Copied and compared as a
// whole.
struct PodShape {
  kube::Resources requests;  // of one pod, "pods" and implicit resources included
  kube::PackedConstraints constraints;
  // PersistentVolumeClaims of the PodGroup's namespace, sorted.
  kube::SharedVector<std::string> claims{};
  // Required affinity of the pods to each other, kube::self_affinity(): pods that share an entry
  // must run in one group of nodes. JSON: podAffinity.
  kube::SharedVector<std::string> together{};
  // Topology spread constraints of the pods. JSON: topologySpread. Counters among the `requests`
  // (kube::PodSelector::counter) say which constraints, of any set, count the pods. JSON:
  // matchingPods.
  kube::SharedVector<kube::TopologySpread> spread{};
  kube::SharedVector<TopologyTerm> topology{};
  // Values of the label that names the class of a node (placement::NodeLabels), in order of
  // preference: the pods may use nodes of these alone. Empty: of any.
  kube::SharedVector<std::string> node_classes{};
  bool operator==(const PodShape&) const = default;
};

// `count` slots of a set take over capacity that a set of the base gang has reserved. It stays
// reserved until the slots have a placement.
struct FromReserved {
  std::string set;  // MemberSet::name
  int count = 0;
  bool operator==(const FromReserved&) const = default;
};

// The API server's answer to a dry run of a pod of a set, while its gang waits. A LimitRange, a
// RuntimeClass or a webhook may enlarge pods beyond the template, and may stop doing so.
struct AdmittedPod {
  int answer = 0;            // counts up; 0: no answer yet
  kube::Resources requests;  // of the pod as it would be stored
  bool operator==(const AdmittedPod&) const = default;
};

// Pods of one role and one shape.
struct MemberSet {
  std::string name;  // unique in the PodGroup
  std::string role;  // "coordinator", "collector", ...; a slot's key is role/ordinal
  std::vector<SlotId> slots;
  // Number of further pods, without slots yet, that capacity is planned and reserved for with the
  // gang, for the coordinator's first requests. 0 outside the base gang. JSON: reserved.
  int reserved_pods = 0;
  PodShape shape;
  // These pods are bound after all others of the gang: the coordinator must not start before its
  // workers can. JSON: bindLast.
  bool bind_last = false;
  // The gang keeps running while these lost pods are replaced: the job's own aggregator. JSON:
  // healsAlone.
  bool heals_alone = false;
  FromReserved from_reserved = {};
  AdmittedPod admitted = {};
  // "ResourceClaim/gpus" and "ResourceClaimTemplate/gpus" of the PodGroup's namespace, sorted:
  // kube-scheduler keeps the pods back, without a word, until these exist.
  kube::SharedVector<std::string> resource_claims = {};
  int part = 0;  // of ddp-learners: index of these pods in their multi-GPU learners
  // Ordinals, sorted, of slots whose last pod has finished, and which are to have another one.
  // Until they have a placement they use nothing, get none but within limits, and a committed gang
  // does not heal for them.
  kube::SharedVector<int> growing = {};
  bool operator==(const MemberSet&) const = default;
};

// True if the pod of this slot, in this incarnation, belongs to the set. Cost: linear in its slots.
bool wants(const MemberSet& set, std::string_view role, SlotId slot);
// MemberSet::growing has it.
bool is_growing(const MemberSet& set, SlotId slot);
// The gang does not wait for a placement of the slot: it gets one after all that waits, and uses
// nothing until then. `is_committed`: the gang is.
bool may_wait(const MemberSet& set, SlotId slot, bool is_committed);
// One of the set's slots may. Cost: none.
bool may_any_wait(const MemberSet& set);
// False: the gang runs without a pod of the slot, while a lost one is replaced.
bool is_of_quorum(const MemberSet& set, SlotId slot);

enum class GangKind {
  kBase,           // what the job starts with, and its reserved capacity
  kAddedReplicas,  // base replicas of one role that were added to a running job
  kRequest,        // the replicas of one request
};
std::string_view to_string(GangKind kind);  // as in JSON: "AddedReplicas"

// What keeps the gang's pods from starting, apart from capacity: nodes, limits of queues, and the
// ResourceQuotas that the planner counts.
struct StartBlocker {
  std::string kind;     // of the object to change: "ServiceAccount"; "Pod": the pods themselves
  std::string name;     // of that object, in the PodGroup's namespace or without one; may be empty
  std::string message;  // one sentence for people
  bool operator==(const StartBlocker&) const = default;
};

// Could the gang's pods be created and start, as far as the controller can tell without them? While
// the gang waits, nothing ends and no node is reserved for it unless the check has passed or does
// not exist.
struct StartCheck {
  enum class State {
    kNone,     // no check: an older controller, or a gang that has none
    kPending,  // the controller has not finished it
    kPassed,   // nothing was found
    kBlocked,  // by `blocker`
  };
  State state = State::kNone;
  StartBlocker blocker{};
  bool operator==(const StartCheck&) const = default;
};

// Sets that are placed together or not at all.
struct Gang {
  std::string name;  // unique in the PodGroup: kBaseGang, "base-collector-4", "request-7"
  GangKind kind = GangKind::kBase;
  std::int64_t request_id = 0;     // of kRequest: id of the entry in the job's spec.requests
  int first_ordinal = 0;           // of kAddedReplicas: lowest ordinal of the added replicas
  std::vector<MemberSet> members;  // not empty
  // When it was requested, or added; not set: with the job (PodGroupSpec::queued_since).
  std::optional<SysTime> queued_since{};
  // The API server has refused its pods: before this it preempts nothing for the next try, in which
  // they may be refused again. It is kept over attempts, as queued_since is.
  std::optional<SysTime> preempt_after{};
  StartCheck start_check{};  // of the base gang
  bool operator==(const Gang&) const = default;
};

// While a gang is planned, reserved capacity has slots with negative ordinals. No spec or placement
// contains them.
inline SlotId reserved_slot(int number) { return {-1 - number, 0}; }
inline bool is_reserved_slot(SlotId slot) { return slot.ordinal < 0; }

// kube-scheduler or the kubelet refused pods of this set on this node: new plans put at most
// `at_most` there (gang/avoided_nodes.h).
struct AvoidedNode {
  std::string set;  // MemberSet::name
  std::string node;
  int at_most = 0;
  int times = 1;  // number of refusals; more refusals move `until` later
  SysTime until{};
  bool operator==(const AvoidedNode&) const = default;
};

struct PodGroupSpec {
  int attempt = 1;
  int priority = 0;
  // Its PriorityClass has preemptionPolicy Never: nothing of lower priority ends for it. JSON:
  // preemptionPolicy "Never".
  bool never_preempts = false;
  SysTime queued_since{};  // position of the job in the queue, kept across attempts
  std::string queue{};     // named by the job; empty: the namespace's
  std::string user{};      // who submitted the job; empty: unknown
  std::optional<std::int64_t> schedule_timeout_seconds;
  // Reservations of other gangs may reclaim the nodes on which the gangs started.
  bool preemptible = false;
  // How long the attempt may be active: what the job's limit leaves of the time before it. Not set:
  // the job has no limit. Its queue may have one.
  std::optional<std::int64_t> active_deadline_seconds{};
  // How long the job was active before the attempt: the limit of its queue counts it, too.
  std::int64_t active_seconds = 0;
  // How long the pods may take to end after that. Not set: unknown, or they stay.
  std::optional<std::int64_t> grace_seconds{};
  std::vector<Gang> gangs;  // gangs of one PodGroup are planned in this order
  // Pods of the base gang, except those bound last, may be created with their node: their shapes
  // hold everything that decides where they may run. JSON: placement "Direct".
  bool direct_placement = false;
  // The highest placement number that the controller has seen. New numbers start above it, even if
  // the status was lost.
  std::int64_t highest_placement = 0;
  // Nodes that refused pods of the job's earlier attempts. The status begins with them.
  std::vector<AvoidedNode> avoid{};
  bool operator==(const PodGroupSpec&) const = default;
};

// The node of one slot. Numbers come from one counter that never decreases; a slot's number changes
// only when its node or incarnation does.
struct Placement {
  std::string role;
  SlotId slot;
  std::string node;
  std::int64_t number = 0;
  bool operator==(const Placement&) const = default;
};

// Why a plan failed: kube-scheduler refused its pods, and none was bound.
struct PlanRefusals {
  int count = 0;         // plans in a row
  SysTime plan_after{};  // earliest time of the next plan
  std::string message;   // kube-scheduler's last message, with the pod
  // Claims in the state that blocked all nodes, sorted: "data=missing", "data=unbound". When one of
  // them changes, the gang is planned again at once.
  std::vector<std::string> waits_for{};
  // The object that the pods waited for, as in MemberSet::resource_claims; empty: not known.
  std::string cause{};
  bool operator==(const PlanRefusals&) const = default;
};

// Reserved capacity of one set on one node.
struct ReservedCapacity {
  std::string set;  // MemberSet::name
  std::string node;
  int count = 0;  // pods
  bool operator==(const ReservedCapacity&) const = default;
};

// Why a committed gang is not whole: what it lost first.
struct HealingCause {
  // From the most to the least that it tells.
  enum class Code {
    kPodLost,         // with its node, to an eviction, at its bind: the message says how
    kPodTerminating,  // the slot's previous pod has not ended
    kPodNotStarted,   // created with its node, whose kubelet has not started it
    kPodMissing,      // there is no pod, and its end was not seen
    kPodNotBound,
  };
  Code code = Code::kPodMissing;
  std::string message;  // for people
  // It says that no pod runs, but not why.
  bool is_vague() const { return code >= Code::kPodMissing; }
  bool operator==(const HealingCause&) const = default;
};
std::string_view to_string(HealingCause::Code code);  // as in JSON: "PodLost"

// A gang that ends so that another one gets its capacity. If it is the base gang, the whole job
// does.
struct Victim {
  std::string pod_group_uid;
  std::string gang;  // Gang::name
  // Its highest placement number when it was chosen: a gang with only higher ones has started again
  // since.
  std::int64_t through = 0;
  // It borrows what the other's queue is guaranteed; false: its priority is lower in one queue.
  bool is_reclaimed = false;
  std::string pod_group{};  // name; empty if it is in another namespace, whose names are private
  // It runs on nodes that the other has reserved, and may be reclaimed. Not with is_reclaimed.
  bool is_for_reservation = false;
  bool operator==(const Victim&) const = default;
};

// Nodes that are kept for a gang that waits: other gangs start there only if they end in time or
// may be reclaimed (queue/reservation.h).
struct Reservation {
  // For all pods of the gang; by set and node. Empty while it preempts: it has placements there,
  // and their nodes stay reserved if it stops.
  std::vector<ReservedCapacity> nodes;
  SysTime since{};
  // When the last gang that it waits for has ended, at the latest. Not set: one of them has no
  // bound.
  std::optional<SysTime> due{};
  // UIDs of the PodGroups of jobs that it counts on, sorted: they end by `due`, and a longer
  // deadline does not help them. Without `due`: they have no bound, and have to end. Not those that
  // may be reclaimed anyway.
  std::vector<std::string> counts_on{};
  // Without `due`: then nodes are chosen again.
  std::optional<SysTime> renew_after{};
  bool operator==(const Reservation&) const = default;
};

struct GangStatus {
  std::string name;  // Gang::name; a gang that the spec no longer has is being released
  // Every slot of the gang has a placement. If false, no slot has one, except in a committed gang,
  // where placed slots keep theirs, and in one that is preempting.
  bool planned = false;
  // The first bind, or for direct placement the planner, has checked the plan against the cluster.
  // From then on only slots without a placement get one.
  bool committed = false;
  std::string reason;                 // CamelCase: kReasonPlanned and the like
  std::string message;                // for people; mirrored on the job
  SysTime since{};                    // when the reason last changed
  std::vector<Placement> placements;  // decoded: by role and slot
  // In the base gang: capacity without a slot, also for sets of requests whose other slots still
  // wait; by set and node. It is committed when the gang's placements are.
  std::vector<ReservedCapacity> reserved = {};
  PlanRefusals refusals{};  // of a gang that is not committed
  // In a committed gang with missing pods: since when, and why. Not set while the gang is only
  // starting.
  std::optional<SysTime> healing_since{};
  HealingCause healing_cause{};
  // If not 0: the gang was committed when it was planned, and pods of placements up to this number
  // may be created with their node (is_direct()). JSON: directThrough.
  std::int64_t direct_through = 0;
  // When it was committed. Not set: it is not committed, or was by a version that did not write it,
  // or its status was lost.
  std::optional<SysTime> started_at{};
  // Why the gang waits for capacity or quota, as in the message. JSON: cause, and the remedy that
  // follows from it.
  std::optional<NoFit> cause{};
  // Not empty: the gang is preempting. Its placements are kept from others, and it is planned when
  // the pods of its victims have ended.
  std::vector<Victim> victims{};
  // While it waits, also while it is preempting for it.
  std::optional<Reservation> reservation{};
  // Its last reservation lapsed: before this it gets no other one.
  std::optional<SysTime> reserve_after{};
  // In the base gang, if it has a plan: how long it keeps its nodes at most, as known when it was
  // planned. If that becomes more, reservations that counted on it take the nodes back.
  std::optional<std::int64_t> planned_run_seconds{};
  bool operator==(const GangStatus&) const = default;
};

// Pods of this set were created larger than the spec says, by admission. The entry ends with a
// later dry run (AdmittedPod), a pod that is not enlarged, or a plan after `until` that shows it.
struct EnlargedSet {
  std::string set;  // MemberSet::name
  kube::Resources requests;
  int times = 1;    // number of times it was observed; more move `until` later
  SysTime until{};  // then a plan is tried without the entry
  int answer = 0;   // AdmittedPod::answer when it was observed
  bool operator==(const EnlargedSet&) const = default;
};

// Where the gangs are queued. Decided with each look at a base gang that waits, and fixed while it
// has its nodes: a job stays in the queue in which it started.
struct QueuePlace {
  std::string name;  // of the Queue; empty: the root
  // Of the base gang, while it waits: the largest of 1, 2, 3, 5, 10, 20, 50 and 100 that is not
  // above its exact position. 0: it does not wait.
  int position = 0;
  // The job may run for so long, as the queue said when the base gang got its nodes.
  std::optional<std::int64_t> max_runtime_seconds{};
  // The queues that it was a part of then, its parent first: should the Queue be deleted, the job
  // counts there.
  kube::SharedVector<std::string> parents{};
  bool operator==(const QueuePlace&) const = default;
};

struct PodGroupStatus {
  std::int64_t observed_generation = 0;  // the spec generation last decided on
  std::int64_t next_placement = 1;
  QueuePlace queue{};
  std::vector<GangStatus> gangs;     // in the order of the spec
  std::vector<AvoidedNode> avoid{};  // bounded: kMostAvoided
  // In spec order. Needed because a waiting gang has no pods that could tell.
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
// Planned, but kube-scheduler refused a pod of it: planned again on other nodes.
inline constexpr std::string_view kReasonRefusedByScheduler = "RefusedByScheduler";
// Planned, but no pod of it was bound in time: planned again later.
inline constexpr std::string_view kReasonPlanExpired = "PlanExpired";
inline constexpr std::string_view kReasonOverQuota = "OverQuota";
// A claim of its pods does not exist (StartCheck): it is planned when it does. Also the code of the
// cause (NotAdmitted::rule).
inline constexpr std::string_view kReasonClaimMissing = "ClaimMissing";
// The reason of a gang that waits: kReasonUnschedulable, kReasonOverQuota, or the code of the rule
// of its queue (NotAdmitted).
std::string_view waiting_reason(const NoFit& no_fit);
// The API server rejects the plan: it is too large, or the schema does not allow it.
inline constexpr std::string_view kReasonPlanRefused = "PlanRefused";
// A committed gang has missing pods: every slot has a node, but some pods do not run there yet.
inline constexpr std::string_view kReasonHealing = "Healing";
// The gang was incomplete for longer than the healing deadline: the controller requeues it.
inline constexpr std::string_view kReasonHealingTimeout = "HealingDeadlineExceeded";

// An administrator drains the gang's queue (HoldAndDrain): the controller requeues it.
inline constexpr std::string_view kReasonQueueDrained = "QueueDrained";
// The gang has nodes, and waits until the pods of its victims have ended.
inline constexpr std::string_view kReasonPreempting = "Preempting";
// Another gang gets its capacity: the controller requeues it.
inline constexpr std::string_view kReasonPreempted = "Preempted";
// The extender has released a committed gang: the controller requeues it.
inline bool is_released(const GangStatus& gang) {
  return gang.reason == kReasonHealingTimeout || gang.reason == kReasonQueueDrained ||
         gang.reason == kReasonPreempted;
}
inline bool is_preempting(const GangStatus& gang) { return !gang.victims.empty(); }

// Codec. decode: kInvalid names the field; an absent spec or status has defaults. Neighbouring
// slots form one entry with a count, placements by role and node: 5,000 slots, each on its own node
// with a name of 100 characters, stay below 1 MiB (tests/gang/pod_group_size_test.cpp).
Result<PodGroup> decode_pod_group(const Json& object);
// The same from JSON text.
Result<PodGroup> parse_pod_group(std::string_view json);
Result<PodGroupSpec> decode_spec(const Json& from);
Result<PodGroupStatus> decode_status(const Json& from);
Json encode_spec(const PodGroupSpec& spec);
Json encode_status(const PodGroupStatus& status);

// The placement of a slot, or nullptr. Cost: linear in the group's placements.
const Placement* find_placement(const PodGroupStatus& status, std::string_view role, SlotId slot);
const GangStatus* find_gang(const PodGroupStatus& status, std::string_view name);
const Gang* find_gang(const PodGroupSpec& spec, std::string_view name);
const MemberSet* find_set(const PodGroupSpec& spec, std::string_view name);
// Number of pods that capacity is reserved for under that set's name.
int reserved_for(const GangStatus& gang, std::string_view set);
// The slot's pod may have been created with its node and bound from the start. False for later
// placements: a slot that moved, was added, or whose pod was replaced.
inline bool is_direct(const GangStatus& gang, const Placement& placement) {
  return placement.number <= gang.direct_through;
}
// The gang that a placement belongs to.
const GangStatus* find_gang_with_slot(const PodGroupStatus& status, std::string_view role,
                                      SlotId slot);

// -- iteration over sets

// Walks the sets of all gangs, in the order of the spec.
template <typename G, typename Set>
class SetIterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = MemberSet;
  using difference_type = std::ptrdiff_t;
  using pointer = Set*;
  using reference = Set&;

  SetIterator() = default;
  SetIterator(G* gang, G* end) : gang_(gang), end_(end) { skip_empty_gangs(); }
  Set& operator*() const { return gang_->members[set_]; }
  Set* operator->() const { return &**this; }
  SetIterator& operator++() {
    ++set_;
    skip_empty_gangs();
    return *this;
  }
  SetIterator operator++(int) { return std::exchange(*this, std::next(*this)); }
  bool operator==(const SetIterator& other) const = default;

 private:
  void skip_empty_gangs() {
    for (; gang_ != end_ && set_ == gang_->members.size(); ++gang_) set_ = 0;
  }

  G* gang_ = nullptr;
  G* end_ = nullptr;
  std::size_t set_ = 0;
};

// A range over the sets of all gangs; borrows from `gangs`.
template <typename G, typename Set>
struct AllSets {
  SetIterator<G, Set> begin() const { return {first, last}; }
  SetIterator<G, Set> end() const { return {last, last}; }
  G* first = nullptr;
  G* last = nullptr;
};
inline AllSets<const Gang, const MemberSet> all_sets(const std::vector<Gang>& gangs) {
  return {gangs.data(), gangs.data() + gangs.size()};
}
inline AllSets<Gang, MemberSet> all_sets(std::vector<Gang>& gangs) {
  return {gangs.data(), gangs.data() + gangs.size()};
}

}  // namespace nervex::gang
