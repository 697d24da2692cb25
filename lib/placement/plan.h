// placement/plan.h - where do the pods of one gang go, or why does it wait? Pure: no I/O, clock,
// locks or logging.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gang/no_fit.h"
#include "gang/pod_group.h"
#include "placement/capacity.h"

namespace nervex::placement {

struct Assignment {  // Placement without its number
  std::string role;
  gang::SlotId slot;
  std::string node;
  bool operator==(const Assignment&) const = default;
};

using Plan = std::variant<std::vector<Assignment>, gang::NoFit>;

// Limits the work of plan_gang() after its quick ways fail. A step is one choice of the search,
// about 50 ns. Steps instead of time make equal input give equal plans.
struct SearchBudget {
  std::int64_t steps = 20'000;
  // kPlacesOnly: one of many attempts. NoFit is InsufficientCapacity and says only whether the
  // search gave up.
  enum class Answer { kExplained, kPlacesOnly };
  Answer answer = Answer::kExplained;
};

// Places every slot of `members`, the sets of one gang, or none. To reserve capacity
// (gang::MemberSet::reserved_pods), the caller adds slots: gang::reserved_slot().
//
// Sets choose nodes largest request first (GPUs, then cpu, then name); input order does not matter.
// Nodes that would evict a set's pods after a while (kube::evicts()) are used only if the gang does
// not fit without them. A set's preferred nodes (kube::preference()) come first, unless the gang
// fits only without that preference. Then come nodes left with the least of the scarce resource:
// whole nodes stay free, and pods without GPUs avoid GPU nodes. If the gang does not fit this way,
// the planner tries other orders, then moves pods out of each other's way, then searches
// exhaustively (placement/search.h). Guarantees: no node gets more than its `free` or than `limits`
// allow; each slot is placed once; a gang that can be placed is placed, unless
// InsufficientCapacity::search_gave_up reports that the budget was used up. Cost: sets x nodes, and
// log(nodes) for each node used; if the gang does not fit, a few times that, and twice `budget`.
// Nodes that evict add one more attempt.
[[nodiscard]] Plan plan_gang(std::span<const gang::MemberSet> members, const Cluster& cluster,
                             const PlanLimits& limits = {}, SearchBudget budget = {});

}  // namespace nervex::placement
