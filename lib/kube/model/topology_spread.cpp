#include "kube/model/topology_spread.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "kube/model/resources.h"

namespace nervex::kube {
namespace {

int count_at(const Json& from, std::string_view field) {
  return static_cast<int>(
      std::clamp<std::int64_t>(int_at(from, {field}, 1), 1, std::numeric_limits<int>::max()));
}

}  // namespace

PodSelector make_pod_selector(std::string_view ns, std::string_view requirements) {
  std::string counter(kMatchingPods);
  counter.append(ns).append("/").append(hash_term(requirements));
  return {std::string(ns), std::string(requirements), std::move(counter)};
}

Result<LabelSelector> decode_selector(const PodSelector& pods) {
  const auto requirements = parse_json(pods.requirements);
  if (!requirements) return requirements.error();
  return decode_label_selector({{"matchExpressions", *requirements}});
}

std::optional<TopologySpread> decode_topology_spread(const Json& constraint, std::string_view ns,
                                                     const Labels& labels) {
  TopologySpread spread;
  spread.key = string_at(constraint, {"topologyKey"});
  if (spread.key.empty()) return std::nullopt;
  spread.max_skew = count_at(constraint, "maxSkew");
  spread.min_domains = count_at(constraint, "minDomains");
  spread.is_required = string_at(constraint, {"whenUnsatisfiable"}) != "ScheduleAnyway";
  spread.honors_affinity = string_at(constraint, {"nodeAffinityPolicy"}) != "Ignore";
  spread.honors_taints = string_at(constraint, {"nodeTaintsPolicy"}) == "Honor";
  const Json* selector = find(constraint, {"labelSelector"});
  spread.pods = make_pod_selector(ns, "");
  if (selector == nullptr || selector->is_null()) return spread;
  if (!decode_label_selector(*selector)) return std::nullopt;
  Json requirements = list_requirements(*selector);
  for (const Json& key : array_at(constraint, {"matchLabelKeys"})) {
    const auto label = std::find_if(labels.begin(), labels.end(), [&](const auto& one) {
      return key.is_string() && one.first == key.get_ref<const std::string&>();
    });
    if (label == labels.end()) continue;
    requirements.push_back(
        {{"key", key}, {"operator", "In"}, {"values", Json::array({label->second})}});
  }
  const std::string text = to_text(requirements);
  if (text.size() > kMaxSelectorBytes) return std::nullopt;
  spread.pods = make_pod_selector(ns, text);
  return spread;
}

Json encode_topology_spread(const TopologySpread& spread) {
  Json out{{"topologyKey", spread.key}, {"maxSkew", spread.max_skew}};
  if (auto requirements = parse_json(spread.pods.requirements)) {
    out["labelSelector"] = {{"matchExpressions", *std::move(requirements)}};
  }
  if (spread.min_domains > 1) out["minDomains"] = spread.min_domains;
  if (!spread.is_required) out["whenUnsatisfiable"] = "ScheduleAnyway";
  if (!spread.honors_affinity) out["nodeAffinityPolicy"] = "Ignore";
  if (spread.honors_taints) out["nodeTaintsPolicy"] = "Honor";
  return out;
}

std::vector<TopologySpread> list_topology_spread(const Json& pod_spec, std::string_view ns,
                                                 const Labels& labels) {
  std::vector<TopologySpread> out;
  for (const Json& constraint : array_at(pod_spec, {"topologySpreadConstraints"})) {
    if (out.size() == kMaxSpreadConstraints) break;
    if (auto spread = decode_topology_spread(constraint, ns, labels))
      out.push_back(*std::move(spread));
  }
  return out;
}

}  // namespace nervex::kube
