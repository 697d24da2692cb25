// tests/placement/spread_judge.h - does a placement keep its topology spread constraints? Counts
// the whole cluster again, as kube-scheduler does.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "placement/plan.h"
#include "tests/placement/brute_force.h"
#include "tests/placement/random_spread.h"

namespace nervex::testing {

using PodCounts = BruteForce::Counts;

// As kube-scheduler reads the constraint, of the cluster as it is in the end.
inline bool is_kept(const SpreadCase& c, const PodCounts& pods, std::size_t set,
                    const kube::TopologySpread& spread) {
  const gang::MemberSet& its = c.members[set];
  const kube::NodeConstraints constraints = its.shape.constraints.unpack();
  const std::string counter = spread.pods.counter;
  const auto counts_at = [&](std::size_t node) {
    const kube::Node& on = *c.nodes[node].node;
    for (const auto& one : its.shape.spread) {
      if (on.labels.count(one.key) == 0) return false;
    }
    if (spread.honors_affinity && !kube::selects(constraints, on)) return false;
    return !spread.honors_taints || on.taints.empty();
  };
  std::map<std::string, int> by_value;
  for (std::size_t node = 0; node < c.nodes.size(); ++node) {
    if (!counts_at(node)) continue;
    int& count = by_value[c.nodes[node].node->labels.find(spread.key)->second.str()];
    count -= static_cast<int>(c.nodes[node].free.get(counter));
    for (std::size_t other = 0; other < c.members.size(); ++other) {
      if (c.members[other].shape.requests.get(counter) > 0) count += pods[other][node];
    }
  }
  int fewest = 1 << 20;
  for (const auto& [value, count] : by_value) fewest = std::min(fewest, count);
  if (static_cast<int>(by_value.size()) < spread.min_domains) fewest = 0;
  for (std::size_t node = 0; node < c.nodes.size(); ++node) {
    if (pods[set][node] == 0) continue;
    if (!counts_at(node)) return false;
    const auto label = c.nodes[node].node->labels.find(spread.key);
    if (by_value.at(label->second.str()) > fewest + spread.max_skew) return false;
  }
  return true;
}

inline bool is_kept(const SpreadCase& c, const PodCounts& pods) {
  for (std::size_t set = 0; set < c.members.size(); ++set) {
    for (const auto& spread : c.members[set].shape.spread) {
      if (!is_kept(c, pods, set, spread)) return false;
    }
  }
  return true;
}

inline PodCounts count_pods(const SpreadCase& c, const std::vector<placement::Assignment>& plan) {
  PodCounts pods(c.members.size(), std::vector<int>(c.nodes.size(), 0));
  for (const placement::Assignment& one : plan) {
    for (std::size_t set = 0; set < c.members.size(); ++set) {
      for (std::size_t node = 0; node < c.nodes.size(); ++node) {
        if (c.members[set].role == one.role && c.nodes[node].node->name == one.node) {
          ++pods[set][node];
        }
      }
    }
  }
  return pods;
}

}  // namespace nervex::testing
