// tests/placement/random_spread.h - small clusters and gangs with topology spread constraints.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "kube/model/anti_affinity.h"
#include "placement/capacity.h"
#include "tests/support/gang_builders.h"

namespace nervex::testing {

inline const std::string kSpreadZone = "topology.kubernetes.io/zone";

// Pods with the label "s0", and those with "s1".
inline std::vector<kube::PodSelector> spread_selectors() {
  std::vector<kube::PodSelector> selectors;
  for (const char* label : {"s0", "s1"}) {
    const Json requirement{{"key", label}, {"operator", "Exists"}};
    selectors.push_back(
        kube::make_pod_selector("team-a", kube::to_text(Json::array({requirement}))));
  }
  return selectors;
}

struct SpreadCase {
  std::vector<gang::MemberSet> members;
  std::vector<placement::NodeView> nodes;
};

inline SpreadCase random_spread_case(std::mt19937& rng) {
  const auto below = [&rng](unsigned n) { return static_cast<int>(rng() % n); };
  SpreadCase out;
  const char* const roles[] = {"coordinator", "collector", "learner", "aggregator"};
  const std::vector<kube::PodSelector> selectors = spread_selectors();
  const int sets = 1 + std::min(below(4), below(4));
  int left = 8;
  for (int i = 0; i < sets && left > 0; ++i) {
    const int slots = 1 + below(static_cast<unsigned>(std::min(left, sets == 1 ? 8 : 4)));
    left -= slots;
    auto set = a_set(roles[i], slots, ask(below(4), 1 + below(2)));
    if (below(4) == 0) set = selecting(std::move(set), "disk", "ssd");
    if (below(8) == 0) set = apart_by(std::move(set), std::string(kube::kHostname));
    for (int k = 0; k < 1 + below(2); ++k) {
      if (below(4) == 0) continue;
      kube::TopologySpread constraint;
      constraint.key = below(2) == 0 ? kSpreadZone : std::string(kube::kHostname);
      constraint.max_skew = 1 + std::min(below(3), below(3));
      constraint.pods = selectors[static_cast<std::size_t>(below(2))];
      if (below(5) == 0) constraint.min_domains = 1 + below(4);
      constraint.honors_affinity = below(3) != 0;
      constraint.honors_taints = below(3) == 0;
      const bool counts_itself = below(8) != 0;
      if (counts_itself) set.shape.requests.set(constraint.pods.counter, 1);
      set.shape.spread.push_back(std::move(constraint));
    }
    out.members.push_back(std::move(set));
  }
  const int nodes = 1 + std::max(below(8), below(12));
  for (int i = 0; i < nodes; ++i) {
    const std::string name = "n" + std::to_string(i);
    auto made = a_node(name, 8, 16);
    if (below(10) != 0) made = labelled(std::move(made), std::string(kube::kHostname), name);
    if (below(8) != 0)
      made = labelled(std::move(made), kSpreadZone, std::string(1, "abc"[below(3)]));
    if (below(2) == 0) made = labelled(std::move(made), "disk", "ssd");
    if (below(10) == 0) made = tainted(std::move(made));
    auto used = capacity(below(9), 10 + below(6), 100);
    for (const kube::PodSelector& pods : selectors) {
      if (below(4) == 0) used.set(pods.counter, 1 + below(2));
    }
    out.nodes.push_back(view(std::move(made), used));
  }
  return out;
}

}  // namespace nervex::testing
