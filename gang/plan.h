// gang/plan.h - where do the pods of one gang go, or why does it wait? Pure: no I/O, clock, locks
// or logging.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gang/cluster.h"
#include "gang/pod_group.h"

namespace nervex::gang {

struct Assignment {  // as Placement, without its number
  std::string role;
  SlotId slot;
  std::string node;
  bool operator==(const Assignment&) const = default;
};

// At most so many of the slots that a call is to place from this set go to this node: the caller
// subtracts those that are there already. Of several limits for one set and node the least counts.
struct NodeLimit {
  std::string set;  // MemberSet::name
  std::string node;
  int at_most = 0;
  bool operator==(const NodeLimit&) const = default;
};

// The first set that could not be placed beside those before it, or one that never can; or the
// ResourceQuota that the gang exceeds.
struct NoFit {
  std::string role;
  int wanted = 0;           // slots of the set
  int unplaced = 0;         // of them
  std::string resource;     // the scarcest resource for it; empty: no node is allowed at all
  std::int64_t each = 0;    // of that resource
  int nodes_free = 0;       // allowed nodes with capacity for one more now
  int nodes_full = 0;       // allowed nodes that have too little free now, but would hold one empty
  int nodes_too_small = 0;  // allowed nodes that could not hold one even when empty
  int nodes_tainted = 0;
  int nodes_not_selected = 0;
  int nodes_volume_elsewhere = 0;  // where a bound volume cannot be used
  int nodes_not_ready = 0;
  int nodes_avoided = 0;          // allowed nodes that hold fewer than they could: NodeLimit
  std::int64_t largest_node = 0;  // most of `resource` any allowed node has when empty
  int most = 0;  // slots of the set that fit when all nodes that it may use are empty
  // A proof: not even if all nodes that it may use were empty. Taints, cordons and nodes that are
  // not ready prove nothing: they change.
  bool never = false;
  int reserved = 0;  // of `wanted`: capacity for requests alone; the caller of plan_gang knows
  // Not empty: the gang is over this ResourceQuota, whatever the nodes have. Then `resource` is as
  // the quota names it, and `each` by how much the gang is over it.
  std::string quota{};
  std::int64_t quota_hard = 0;
  std::int64_t quota_used = 0;
  std::int64_t quota_planned = 0;  // of planned pods that do not exist yet
  std::int64_t quota_need = 0;     // of the gang's pods that do not exist yet
  int nodes_cordoned = 0;          // spec.unschedulable
  bool enlarged =
      false;  // `each` is more than the template asks for; the caller of plan_gang knows
  // Of `never`: each set fits the empty cluster alone (most = wanted), but not all together.
  bool together = false;
  // The search ended by its budget before all ways to place the gang were tried: that it does not
  // fit now is not proven.
  bool gave_up = false;
  // Not empty: the set's pods have to be on nodes with one value of this label
  // (PodShape::together). All above is about the value that comes nearest; the caller of plan_gang
  // knows.
  std::string domain{};
  bool operator==(const NoFit&) const = default;
};

using Plan = std::variant<std::vector<Assignment>, NoFit>;

// How much plan_gang() may do where its quick ways fail. A step is a choice of the search, some
// 50 ns: steps and not time, so that equal input gives equal plans.
struct SearchBudget {
  std::int64_t steps = 20'000;
};

// Places every slot of `members`, which are the sets of one gang, or none. Capacity that is to be
// reserved (MemberSet::reserved_pods) is planned as slots that the caller adds: reserved_slot().
//
// Sets choose largest request first (GPUs, then cpu, then name); the order of the input does not
// matter. Nodes that would be left with the least of the scarce resource are filled first, so that
// whole nodes stay free and pods without GPUs keep away from nodes that have them. Before all that
// come the nodes that a set prefers, unless the gang fits only without that. If it does not fit so,
// it is tried in other orders, then with pods moved out of each other's way, and at last every way
// is tried (gang/search.h).
// Guarantees: no node gets more than its `free` or than `limits` allow; each slot is named once; a
// gang that can be placed is placed, unless NoFit::gave_up says that the budget was used up.
// Limits for sets or nodes that are not given are ignored.
// Cost: sets x nodes, and log(nodes) for each node that is used; where it does not fit a few times
// that, and `budget`, twice.
[[nodiscard]] Plan plan_gang(std::span<const MemberSet> members, const Cluster& cluster,
                             std::span<const NodeLimit> limits = {}, SearchBudget budget = {});

// ---- why does a gang wait? (gang/explain.cpp)

// "learner: 6 of 32 do not fit: each needs nvidia.com/gpu 8; 26 nodes have it free, 9 more are
// full, 3 have untolerated taints". Constant as long as the numbers are.
std::string explain(const NoFit& no_fit);

// Same role, resource, kind of proof that it never fits, and ways in which nodes are barred
// (tainted, not matched, not ready, cordoned, avoided): then an explanation is not worth an early
// rewrite.
bool same_cause(const NoFit& a, const NoFit& b);

// What helps a gang that waits, by the sentence that explain() made of it. A PodGroup keeps no more
// than that, and advice has to tell patience from a change of the job.
enum class Remedy {
  kWait,        // others hold the capacity
  kAskForLess,  // not even an empty cluster, or an unused quota, would do
  kAllowNodes,  // no node may be used, whatever is free
  kOpenNodes,   // others hold the capacity, and some nodes are cordoned or not ready
};
Remedy remedy_for(std::string_view explanation);

}  // namespace nervex::gang
