// planner/gang/domains.h - in which group of nodes are pods placed that must be together?
// Pure.
//
// Required pod affinity of pods to each other (PodShape::together) needs nodes with the same value
// of a label: one domain. A pin to a node leaves kube-scheduler no choice, so the planner chooses
// the domain. It does not know whether pods of other owners match the term.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "placement/plan.h"

namespace nervex::planner {

// By term: values of its label where pods with that term already run.
using TakenDomains = std::map<std::string, std::set<std::string>>;

// As placement::plan_spread(). All pods of a term get one domain, or one of those that have such
// pods already: the smallest that holds them, and first those without nodes that refused a pod of
// the set, so that a refused plan is not repeated in the same domain, or whose taints evict its
// pods or are of effect PreferNoSchedule. Cost: a plan for each combination of domains with enough
// capacity, at most kMostDomainPlans.
inline constexpr int kMostDomainPlans = 16;
[[nodiscard]] placement::Plan plan_in_domains(const std::vector<gang::MemberSet>& members,
                                              const placement::Cluster& cluster,
                                              const placement::PlanLimits& limits,
                                              const TakenDomains& taken);

}  // namespace nervex::planner
