// gang/no_fit.h - why does a gang wait, and what helps? A code with its parameters.
//
// PodGroup.status carries both for programs; placement/explain.h makes the sentence for people.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kube/model/json.h"

namespace nervex::gang {

// How many nodes can take a pod of a set, and how many cannot, by reason.
struct NodeCounts {
  int free = 0;       // allowed nodes with capacity for one more now
  int full = 0;       // allowed nodes without enough free capacity that would hold one when empty
  int too_small = 0;  // allowed nodes that could not hold one even when empty
  int tainted = 0;
  int not_selected = 0;
  int volume_elsewhere = 0;  // a bound volume cannot be used there
  int not_ready = 0;
  int cordoned = 0;  // spec.unschedulable
  int avoided = 0;   // allowed nodes that hold fewer than they could: placement::NodeLimit
  bool operator==(const NodeCounts&) const = default;
};

// A topology spread constraint that all pods of a set cannot keep, while they would fit without it.
struct SkewLimit {
  std::string topology_key;
  int max_skew = 1;
  // If there are too few values of the key: how many, and the constraint's minDomains.
  int domains = 0;
  int min_domains = 0;
  // Else the value with the fewest pods, and no capacity for more. Empty: no node has the label, or
  // the constraint can be kept alone, but not beside others.
  std::string fewest{};
  bool operator==(const SkewLimit&) const = default;
};

// Pods that need nodes with one value of a label: a domain.
struct DomainLimit {
  enum class Reason { kPodAffinity, kTopology, kNodeClasses };
  std::string key;  // the label
  Reason reason = Reason::kPodAffinity;
  struct Capacity {
    std::string value;  // of the label; empty: not for users
    int pods = 0;       // of the set that fit there
    bool operator==(const Capacity&) const = default;
  };
  // No domain holds all pods of the set: the ones that hold most, at most two, the largest first.
  // Empty: one may, but not beside the other sets; then the counts of nodes describe the domain
  // that comes closest.
  std::vector<Capacity> capacity{};
  int needed = 0;            // as many domains would hold the pods; 0: all together do not, or one
  bool joins_pods = false;   // only domains with pods or reserved capacity of the job count
  bool is_narrowed = false;  // only nodes that another such rule of the job leaves count
  bool operator==(const DomainLimit&) const = default;
};

// The first set that could not be placed beside earlier sets, or one that can never be placed.
struct UnplacedSet {
  std::string role;
  int wanted = 0;    // slots of the set
  int unplaced = 0;  // slots without a node
  int reserved = 0;  // of `wanted`: reserved capacity, which has no pods yet
  std::optional<DomainLimit> domain{};
  NodeCounts nodes{};
  std::optional<SkewLimit> skew{};  // the reason; then `nodes` are not counted
  bool operator==(const UnplacedSet&) const = default;
};

// The amount of the scarcest resource that one pod requests.
struct ResourceNeed {
  std::string resource;
  std::int64_t each = 0;
  bool enlarged = false;  // admission raises it above the template's request
  bool operator==(const ResourceNeed&) const = default;
};

// -- the causes

// What a search for workloads that could be preempted has found.
enum class PreemptionOutcome {
  kNotSearched,     // its queue does not preempt
  kNotEnough,       // the gang would not fit even without all workloads that may be preempted
  kSearchGaveUp,    // used up its steps
  kRateLimited,     // the queue has preempted too often in the last minutes
  kBackOff,         // the gang's last start failed
  kControllerAway,  // preempted gangs are not requeued
};

// What reservations of nodes (GangStatus::reservation) have to do with it.
enum class ReservationOutcome {
  kNone,
  kOwn,       // nodes are reserved for the gang, and others have not ended there
  kOfOthers,  // it may not use nodes that are reserved for other gangs
};

// Other pods or reservations hold the capacity.
struct InsufficientCapacity {
  UnplacedSet set;
  ResourceNeed need;
  // The search used up its budget before it tried all placements. That the gang does not fit now is
  // not proven.
  bool search_gave_up = false;
  PreemptionOutcome preemption = PreemptionOutcome::kNotSearched;
  ReservationOutcome reservation = ReservationOutcome::kNone;
  bool operator==(const InsufficientCapacity&) const = default;
};

// No node exists, or every node is tainted, not selected, not ready or otherwise barred.
struct NoNodeAllowed {
  UnplacedSet set;
  bool operator==(const NoNodeAllowed&) const = default;
};

// Proven: the set alone does not fit even if all nodes it may use are empty. Taints, cordons and
// unready nodes do not count as proof, because they change.
struct NeverFits {
  UnplacedSet set;
  ResourceNeed need;
  int most = 0;                   // slots of the set that fit when these nodes are empty
  std::int64_t largest_node = 0;  // highest amount of the resource on any of them when empty
  bool operator==(const NeverFits&) const = default;
};

// Proven for the whole gang: each set alone fits the empty nodes, but all sets together do not.
struct NeverFitsTogether {
  UnplacedSet set;
  ResourceNeed need;
  bool operator==(const NeverFitsTogether&) const = default;
};

// The gang exceeds a ResourceQuota of its namespace.
struct OverQuota {
  std::string quota;
  std::string resource;  // as the quota names it: "requests.cpu"
  std::int64_t over = 0;
  std::int64_t hard = 0;
  std::int64_t used = 0;
  std::int64_t planned = 0;  // by planned pods that do not exist yet
  std::int64_t need = 0;     // of the gang's pods that do not exist yet
  bool operator==(const OverQuota&) const = default;
};

// A rule keeps the gang from starting, even with free capacity: one of its queue
// (queue/inadmissible.h), or a claim that does not exist. The rule brings its code and its
// sentence, so that readers of the status need no change for a new one.
struct NotAdmitted {
  std::string rule;           // the code: "QueueStopped"
  std::string queue;          // whose rule it is; may be empty
  std::string resource;       // of an exceeded limit; empty: the rule is not about amounts
  std::string text;           // one sentence for people
  bool is_too_large = false;  // the gang needs more than the whole limit
  // It is not about the queue, but about what the pods need: "ClaimMissing".
  bool is_about_pods() const { return rule == "ClaimMissing"; }
  bool operator==(const NotAdmitted&) const = default;
};

using NoFit = std::variant<InsufficientCapacity, NoNodeAllowed, NeverFits, NeverFitsTogether,
                           OverQuota, NotAdmitted>;

// Of InsufficientCapacity; does nothing to other causes.
void note_reservation(NoFit& no_fit, ReservationOutcome outcome);
// The same for preemption; what was said before stays where nothing was searched.
void note_preemption(NoFit& no_fit, PreemptionOutcome outcome);

// nullptr: the cause is about the whole gang, not about nodes (OverQuota, NotAdmitted).
const UnplacedSet* find_set(const NoFit& no_fit);
UnplacedSet* find_set(NoFit& no_fit);
// nullptr: the cause names no resource of one pod.
const ResourceNeed* find_need(const NoFit& no_fit);
ResourceNeed* find_need(NoFit& no_fit);

// The gang does not fit even an empty cluster.
inline bool is_proof(const NoFit& no_fit) {
  return std::holds_alternative<NeverFits>(no_fit) ||
         std::holds_alternative<NeverFitsTogether>(no_fit);
}
// Nodes are the cause. If not, the gang may not use the capacity that there is.
inline bool is_about_nodes(const NoFit& no_fit) { return find_set(no_fit) != nullptr; }

// True if code, role, resource and kinds of barred nodes (tainted, not selected, not ready,
// cordoned, avoided) are equal. Other numbers change with every pod.
bool same_cause(const NoFit& a, const NoFit& b);

// The action that helps the gang.
enum class Remedy {
  kWait,        // others hold the capacity
  kAskForLess,  // an empty cluster or an unused quota would not suffice
  kAllowNodes,  // no node may be used, regardless of free capacity
  kOpenNodes,   // others hold the capacity, and some nodes are cordoned or not ready
  kFixPods,     // create what the pods need, or change the templates
  kFixQueue,    // name another queue, or have an administrator change this one
};
Remedy choose_remedy(const NoFit& no_fit);

// -- JSON

std::string_view code(const NoFit& no_fit);  // "InsufficientCapacity"
std::string_view code(Remedy remedy);        // "AskForLess"
// Amounts are quantities, and zeros are left out: {"code":"NeverFits","role":"learner","wanted":4,
// "unplaced":4,"nodes":{"tooSmall":2},"resource":"nvidia.com/gpu","each":"16","largestNode":"8"}.
Json encode_no_fit(const NoFit& no_fit);
// nullopt: no code. An unknown code is that of a queue's rule. Unreadable fields get their
// defaults, since they are only advice.
std::optional<NoFit> decode_no_fit(const Json& from);

// "requests.memory" of a quota becomes "memory", with its unit; other names are unchanged.
std::string_view strip_requests(std::string_view resource);

}  // namespace nervex::gang
