// placement/spread.h - which nodes does a gang get, spread as its templates ask? Pure.
//
// A topology spread constraint (PodShape::spread) bounds how many more matching pods the domain of
// a pod has than the domain with the fewest. A pod that is pinned to its node leaves kube-scheduler
// no choice, so the plan keeps the constraints: they hold when all pods of the gang are placed,
// beside those that run. Where all matching pods have one constraint, kube-scheduler would accept
// them one by one, too: always the next in the domain with the fewest.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "placement/plan.h"

namespace nervex::placement {

// As plan_gang(), within the constraints of the sets. Preferred ones (ScheduleAnyway) are kept if
// the gang fits so. Cost without constraints: that of plan_gang(). With them: nodes x constraints,
// and up to five plans.
[[nodiscard]] Plan plan_spread(const std::vector<gang::MemberSet>& members, const Cluster& cluster,
                               const PlanLimits& limits, SearchBudget budget = {});

// A pod of the set on the node with this index.
using SetOnNode = std::pair<const gang::MemberSet*, std::size_t>;
// Pods that the cluster counts keep the required constraints of their sets. Cost: nodes x
// constraints.
bool keeps_spread(std::span<const SetOnNode> pods, const Cluster& cluster);

}  // namespace nervex::placement
