// placement/domain_terms.h - which rules keep pods on nodes with one value of a label? Pure.
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

#include "gang/no_fit.h"
#include "gang/pod_group.h"
#include "kube/model/anti_affinity.h"
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
  bool operator==(const DomainFacts&) const = default;
};

// False: nothing keeps the pods of the set in a domain.
bool has_domain_terms(const gang::MemberSet& set);
// Adds the domains that the node is in, for each term of the set.
void add_taken_domains(const gang::MemberSet& set, const Cluster& cluster, std::string_view node,
                       DomainFacts& facts);
// Adds the class of the node, for other pods of the gang: ClassRule::kOneForRole.
void add_taken_class(const gang::MemberSet& set, const Cluster& cluster, std::string_view node,
                     DomainFacts& facts);

// Pods of a gang keep the required terms of their sets, among each other and with what runs. Cost:
// pods.
bool keeps_domains(std::span<const SetOnNode> pods, const Cluster& cluster,
                   const DomainFacts& facts);

// -- names of terms

// Sets with terms of one name are meant together.
std::string name_of_topology(const gang::TopologyTerm& term);
std::string name_of_classes(const gang::MemberSet& set);

// Calls visit(name, key, reason, is_required) for each term of the set but node classes.
template <typename Visit>
void each_domain_term(const gang::MemberSet& set, const Visit& visit) {
  for (const gang::TopologyTerm& term : set.shape.topology) {
    visit(name_of_topology(term), term.key, gang::DomainLimit::Reason::kTopology, term.is_required);
  }
  for (const std::string& term : set.shape.together) {
    visit(term, std::string(kube::topology_key_of_term(term)),
          gang::DomainLimit::Reason::kPodAffinity, true);
  }
}

}  // namespace nervex::placement
