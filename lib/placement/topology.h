// placement/topology.h - in which domains of the cluster do the pods of a gang go? Pure.
//
// Nodes with the same value of a label are a domain: a rack, a zone, a class of nodes. Three rules
// of a set ask for one: required pod affinity of its pods to each other (PodShape::together),
// topology (PodShape::topology), and node classes (PodShape::node_classes). A pin to a node leaves
// kube-scheduler no choice, so the plan keeps them. The planner does not know whether pods of other
// owners match a term of pod affinity.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "placement/spread.h"

namespace nervex::placement {

// Which of its node classes may a pod of a set get?
enum class ClassRule {
  kOneForRole,  // all pods of its role together the first one that holds them
  kForEachPod,  // each of them the first one that has capacity for it
};

struct DomainFacts {
  // By term (add_taken_domains() names them): values of its label where pods with it already run.
  // Others join them there: in any case, or if they fit there (preferred topology).
  std::map<std::string, std::set<std::string>> taken{};
  ClassRule classes = ClassRule::kOneForRole;
};

// False: plan_in_domains() of such sets is plan_spread().
bool has_domain_terms(const gang::MemberSet& set);
// The domains of the node, for each term of the set.
void add_taken_domains(const gang::MemberSet& set, const Cluster& cluster, std::string_view node,
                       DomainFacts& facts);
// Its class, for other pods of the gang: ClassRule::kOneForRole.
void add_taken_class(const gang::MemberSet& set, const Cluster& cluster, std::string_view node,
                     DomainFacts& facts);

// As plan_spread(). All pods of a term get one domain: of node classes the first that holds them,
// else the smallest that does, but first those without nodes that refused a pod of the set, so that
// a refused plan is not repeated in the same domain, or whose taints evict its pods or are of
// effect PreferNoSchedule. Where one domain does not hold the pods of a preferred term, they get as
// few as possible, if they can in one domain of the next larger level (NodeLabels::topology). Cost:
// nodes x sets for each domain that is tried, and a plan for each combination that has capacity for
// each set: at most 16 plans of 5,000 nodes, more of fewer nodes. A gang that is not placed within
// that may still fit: InsufficientCapacity::search_gave_up.
[[nodiscard]] Plan plan_in_domains(const std::vector<gang::MemberSet>& members,
                                   const Cluster& cluster, const PlanLimits& limits,
                                   const DomainFacts& facts);

// Pods of a gang keep the required terms of their sets, among each other and with what runs. Cost:
// pods.
bool keeps_domains(std::span<const SetOnNode> pods, const Cluster& cluster,
                   const DomainFacts& facts);

}  // namespace nervex::placement
