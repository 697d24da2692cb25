// placement/plan.h - where do the pods of one gang go, or why does it wait? Pure: no I/O, clock,
// locks or logging.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gang/pod_group.h"
#include "placement/capacity.h"
#include "placement/explain.h"

namespace nervex::placement {

struct Assignment {  // as Placement, without its number
  std::string role;
  gang::SlotId slot;
  std::string node;
  bool operator==(const Assignment&) const = default;
};

using Plan = std::variant<std::vector<Assignment>, NoFit>;

// How much plan_gang() may do where its quick ways fail. A step is a choice of the search, some
// 50 ns: steps and not time, so that equal input gives equal plans.
struct SearchBudget {
  std::int64_t steps = 20'000;
};

// Places every slot of `members`, which are the sets of one gang, or none. Capacity that is to be
// reserved (gang::MemberSet::reserved_pods) is planned as slots that the caller adds:
// gang::reserved_slot().
//
// Sets choose largest request first (GPUs, then cpu, then name); the order of the input does not
// matter. Nodes that would be left with the least of the scarce resource are filled first, so that
// whole nodes stay free and pods without GPUs keep away from nodes that have them. Before all that
// come the nodes that a set prefers, unless the gang fits only without that. If it does not fit so,
// it is tried in other orders, then with pods moved out of each other's way, and at last every way
// is tried (placement/search.h).
// Guarantees: no node gets more than its `free` or than `limits` allow; each slot is named once; a
// gang that can be placed is placed, unless InsufficientCapacity::search_gave_up says that the
// budget was used up. Limits for sets or nodes that are not given are ignored. Cost: sets x nodes,
// and log(nodes) for each node that is used; where it does not fit a few times that, and `budget`,
// twice.
[[nodiscard]] Plan plan_gang(std::span<const gang::MemberSet> members, const Cluster& cluster,
                             std::span<const NodeLimit> limits = {}, SearchBudget budget = {});

}  // namespace nervex::placement
