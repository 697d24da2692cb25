// kube/model/topology_spread.h - over which domains is a pod spread, and beside which other pods?
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kube/model/json.h"
#include "kube/model/label_selector.h"

namespace nervex::kube {

// The pods of one namespace that a selector matches.
struct PodSelector {
  std::string ns;
  // list_requirements() as one text: an array of matchExpressions. "": matches no pod.
  std::string requirements;
  // The implicit resource that counts these pods (resources.h): "matchingPods:team-a/4fe5...". Of
  // another namespace than its pods none has the same.
  std::string counter;
  bool operator==(const PodSelector&) const = default;
};
PodSelector make_pod_selector(std::string_view ns, std::string_view requirements);
// kInvalid: the text is none, or matches no pod.
Result<LabelSelector> decode_selector(const PodSelector& pods);

// A pod's constraints are read up to these. It may have more, at the cost of others: admission
// refuses a job that has, and of other pods kube-scheduler checks all.
inline constexpr std::size_t kMaxSpreadConstraints = 16;
inline constexpr std::size_t kMaxSelectorBytes = 4096;  // of PodSelector::requirements

// A topologySpreadConstraint of a pod. Nodes with one value of the label `key` are a domain. In the
// domain of the pod there may be at most `max_skew` more matching pods than in the domain with the
// fewest.
struct TopologySpread {
  std::string key;  // topologyKey
  int max_skew = 1;
  int min_domains = 1;          // with fewer domains, another one counts as empty
  bool is_required = true;      // whenUnsatisfiable: DoNotSchedule; else a preference
  bool honors_affinity = true;  // nodeAffinityPolicy: other nodes and their pods do not count
  bool honors_taints = false;   // nodeTaintsPolicy: nor do nodes whose taints are not tolerated
  PodSelector pods;             // with matchLabelKeys of the pod's own labels
  bool operator==(const TopologySpread&) const = default;
};

// nullopt: the API server refuses the constraint, or its selector is too long. Without a
// labelSelector it counts no pod, and only asks for nodes with the label.
std::optional<TopologySpread> decode_topology_spread(const Json& constraint, std::string_view ns,
                                                     const Labels& labels);
// The inverse, with matchLabelKeys as part of labelSelector.
Json encode_topology_spread(const TopologySpread& spread);
// The first kMaxSpreadConstraints of a pod with these labels.
std::vector<TopologySpread> list_topology_spread(const Json& pod_spec, std::string_view ns,
                                                 const Labels& labels);

}  // namespace nervex::kube
