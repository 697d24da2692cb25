// extender/decide/domains.h - in which group of nodes do pods go that have to be together? Pure.
//
// Required pod affinity of pods to each other (PodShape::together) wants them on nodes with one
// value of a label: in one domain. A pin to a node leaves kube-scheduler no choice, so the planner
// chooses the domain. Whether other people's pods match the term, too, it does not know.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "placement/plan.h"

namespace nervex::extender {

// By term: values of its label where pods with that term are already.
using TakenDomains = std::map<std::string, std::set<std::string>>;

// As placement::plan_gang(). Of each term all pods get into one domain, or into one of those that
// have some already: the smallest that holds them, and first those without nodes that refused a pod
// of the set, so that a refused plan is not repeated in the same domain. Cost: a plan for each
// combination of domains with enough capacity, at most kMostDomainPlans.
inline constexpr int kMostDomainPlans = 16;
[[nodiscard]] placement::Plan plan_in_domains(const std::vector<gang::MemberSet>& members,
                                              const placement::Cluster& cluster,
                                              std::span<const placement::NodeLimit> limits,
                                              const TakenDomains& taken);

}  // namespace nervex::extender
