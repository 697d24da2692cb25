#include "placement/domain_terms.h"

#include <fmt/format.h>

#include <algorithm>

namespace nervex::placement {

std::string name_of_topology(const gang::TopologyTerm& term) {
  return fmt::format("{}#{}", term.key, term.group);
}

// No label key is empty.
std::string name_of_classes(const gang::MemberSet& set) { return "#" + set.role; }

bool has_domain_terms(const gang::MemberSet& set) {
  return !set.shape.together.empty() || !set.shape.topology.empty() ||
         !set.shape.node_classes.empty();
}

void add_taken_domains(const gang::MemberSet& set, const Cluster& cluster, std::string_view node,
                       DomainFacts& facts) {
  const auto at = cluster.find(node);
  if (!at) return;
  each_domain_term(set, [&](const std::string& name, const std::string& key, auto, bool) {
    const auto& labels = cluster.node(*at).labels;
    const auto label = labels.find(key);
    if (label != labels.end()) facts.taken[name].insert(label->second);
  });
}

void add_taken_class(const gang::MemberSet& set, const Cluster& cluster, std::string_view node,
                     DomainFacts& facts) {
  const auto at = cluster.find(node);
  if (!at || set.shape.node_classes.empty()) return;
  const auto& labels = cluster.node(*at).labels;
  const auto label = labels.find(cluster.labels().node_class);
  if (label != labels.end()) facts.taken[name_of_classes(set)].insert(label->second);
}

bool keeps_domains(std::span<const SetOnNode> pods, const Cluster& cluster,
                   const DomainFacts& facts) {
  std::map<std::string, std::string_view> value_of;  // by term
  const auto keeps = [&](const std::string& name, const std::string& key, std::size_t node) {
    const auto& labels = cluster.node(node).labels;
    const auto label = labels.find(key);
    if (label == labels.end()) return false;
    const auto taken = facts.taken.find(name);
    if (taken != facts.taken.end() && taken->second.count(label->second) == 0) return false;
    return value_of.emplace(name, label->second.str()).first->second == label->second.str();
  };
  return std::all_of(pods.begin(), pods.end(), [&](const SetOnNode& pod) {
    const auto& [set, node] = pod;
    bool is_kept = true;
    each_domain_term(*set, [&, node = node](const std::string& name, const std::string& key, auto,
                                            bool is_required) {
      if (is_required) is_kept = is_kept && keeps(name, key, node);
    });
    const auto& allowed = set->shape.node_classes;
    if (allowed.empty()) return is_kept;
    const std::string& key = cluster.labels().node_class;
    const auto& labels = cluster.node(node).labels;
    const auto label = labels.find(key);
    const bool is_allowed =
        label != labels.end() &&
        std::find(allowed.begin(), allowed.end(), label->second.str()) != allowed.end();
    const bool is_for_each = facts.classes == ClassRule::kForEachPod;
    return is_kept && is_allowed && (is_for_each || keeps(name_of_classes(*set), key, node));
  });
}

}  // namespace nervex::placement
