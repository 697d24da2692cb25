// placement/explain.h - why does a gang wait, and what helps? Numbers, and the sentence made of
// them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nervex::placement {

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
  // (gang::PodShape::together). All above is about the value that comes nearest; the caller of
  // plan_gang knows.
  std::string domain{};
  bool operator==(const NoFit&) const = default;
};

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

}  // namespace nervex::placement
