// placement/topology.h - in which domains of the cluster do the pods of a gang go? Pure.
#pragma once

#include <vector>

#include "placement/domain_terms.h"
#include "placement/plan.h"

namespace nervex::placement {

// Plans as plan_spread() does, each term in one domain: of node classes the first that holds the
// pods, else the smallest that does. Domains come last that have nodes which refused a pod of the
// set, so that a refused plan is not repeated there, or whose taints evict its pods or are of
// effect PreferNoSchedule. Where one domain does not hold the pods of a preferred term, they get as
// few as possible, if they can in one domain of the next larger level (NodeLabels::topology).
//
// Cost: nodes x sets for each domain that is tried, and a plan for each combination of domains with
// capacity for each set; of 5,000 nodes at most 8 in each of three passes, of fewer nodes more. If
// there is no place, one more plan says why. A gang that is not placed within that may still fit:
// InsufficientCapacity::search_gave_up.
[[nodiscard]] Plan plan_in_domains(const std::vector<gang::MemberSet>& members,
                                   const Cluster& cluster, const PlanLimits& limits,
                                   const DomainFacts& facts);

}  // namespace nervex::placement
