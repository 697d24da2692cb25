// Which nodes does a pod spec allow? Rules of kube-scheduler 1.36, plugins NodeUnschedulable,
// TaintToleration and NodeAffinity (k8s.io/component-helpers/scheduling/corev1).
#include <algorithm>
#include <charconv>
#include <optional>

#include "kube/model/node.h"

namespace nervex::kube {
namespace {

// kube-scheduler treats a cordoned node as one with this taint.
const Taint kUnschedulableTaint{"node.kubernetes.io/unschedulable", "", "NoSchedule"};

bool tolerates(const Json& toleration, const Taint& taint) {
  const std::string effect = string_at(toleration, {"effect"});
  const std::string key = string_at(toleration, {"key"});
  if (!effect.empty() && effect != taint.effect) return false;
  if (!key.empty() && key != taint.key) return false;
  const std::string op = string_at(toleration, {"operator"}, "Equal");
  if (op == "Exists") return true;
  return (op == "Equal" || op.empty()) && string_at(toleration, {"value"}) == taint.value;
}

bool is_tolerated(const Taint& taint, const Json& tolerations) {
  return std::any_of(tolerations.begin(), tolerations.end(),
                     [&](const Json& toleration) { return tolerates(toleration, taint); });
}

bool keeps_pods_away(const Taint& taint) {
  return taint.effect == "NoSchedule" || taint.effect == "NoExecute";
}

std::optional<std::int64_t> integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// `actual` is null where the node lacks the label.
bool is_greater_or_less(const std::string* actual, const Json& values, bool greater) {
  if (actual == nullptr || values.size() != 1 || !values[0].is_string()) return false;
  const auto have = integer(*actual);
  const auto bound = integer(values[0].get_ref<const std::string&>());
  if (!have || !bound) return false;
  return greater ? *have > *bound : *have < *bound;
}

bool meets(const std::string* actual, const Json& requirement) {
  const std::string op = string_at(requirement, {"operator"});
  const Json& values = array_at(requirement, {"values"});
  const bool is_listed =
      actual != nullptr && std::find(values.begin(), values.end(), *actual) != values.end();
  if (op == "In") return is_listed;
  if (op == "NotIn") return !is_listed;  // true also where the label is absent
  if (op == "Exists") return actual != nullptr;
  if (op == "DoesNotExist") return actual == nullptr;
  if (op == "Gt" || op == "Lt") return is_greater_or_less(actual, values, op == "Gt");
  return false;
}

const std::string* label_of(const Node& node, const std::string& key) {
  const auto at = node.labels.find(key);
  return at == node.labels.end() ? nullptr : &at->second.str();
}

bool meets_term(const Node& node, const Json& term) {
  const Json& expressions = array_at(term, {"matchExpressions"});
  const Json& fields = array_at(term, {"matchFields"});
  if (expressions.empty() && fields.empty()) return false;  // an empty term selects nothing
  const auto by_label = [&](const Json& requirement) {
    return meets(label_of(node, string_at(requirement, {"key"})), requirement);
  };
  const auto by_field = [&](const Json& requirement) {  // metadata.name is the only field there is
    return string_at(requirement, {"key"}) == "metadata.name" && meets(&node.name, requirement);
  };
  return std::all_of(expressions.begin(), expressions.end(), by_label) &&
         std::all_of(fields.begin(), fields.end(), by_field);
}

bool is_selected(const Node& node, const NodeConstraints& constraints) {
  for (const auto& [key, value] : constraints.node_selector.items()) {
    const std::string* actual = label_of(node, key);
    if (actual == nullptr || value != *actual) return false;
  }
  const Json& terms = constraints.node_selector_terms;
  return terms.empty() || std::any_of(terms.begin(), terms.end(),
                                      [&](const Json& term) { return meets_term(node, term); });
}

bool reaches_volumes(const Node& node, const NodeConstraints& constraints) {
  if (constraints.volume_terms.empty()) return true;
  return std::all_of(constraints.volume_terms.begin(), constraints.volume_terms.end(),
                     [&](const Json& terms) {
                       return std::any_of(terms.begin(), terms.end(),
                                          [&](const Json& term) { return meets_term(node, term); });
                     });
}

}  // namespace

NodeConstraints constraints_of(const Json& pod_spec) {
  NodeConstraints constraints;
  const Json* selector = find(pod_spec, {"nodeSelector"});
  if (selector != nullptr && selector->is_object()) constraints.node_selector = *selector;
  constraints.node_selector_terms =
      array_at(pod_spec, {"affinity", "nodeAffinity",
                          "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"});
  constraints.tolerations = array_at(pod_spec, {"tolerations"});
  constraints.preferred_terms = array_at(
      pod_spec, {"affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution"});
  return constraints;
}

NodeFit judge(const Node& node, const NodeConstraints& constraints) {
  if (!node.ready) return NodeFit::kNotReady;
  if (node.unschedulable && !is_tolerated(kUnschedulableTaint, constraints.tolerations)) {
    return NodeFit::kUnschedulable;
  }
  for (const auto& taint : node.taints) {
    if (keeps_pods_away(taint) && !is_tolerated(taint, constraints.tolerations)) {
      return NodeFit::kTainted;
    }
  }
  if (!is_selected(node, constraints)) return NodeFit::kNotSelected;
  return reaches_volumes(node, constraints) ? NodeFit::kAllowed : NodeFit::kVolumeElsewhere;
}

bool selects(const NodeConstraints& constraints, const Node& node) {
  return is_selected(node, constraints) && reaches_volumes(node, constraints);
}

std::int64_t preference(const Node& node, const NodeConstraints& constraints) {
  std::int64_t sum = 0;
  for (const Json& preferred : constraints.preferred_terms) {
    const Json* term = find(preferred, {"preference"});
    if (term != nullptr && meets_term(node, *term)) sum += int_at(preferred, {"weight"});
  }
  return sum;
}

}  // namespace nervex::kube
