// Which nodes does a pod spec allow? Rules of kube-scheduler 1.36, plugins NodeUnschedulable,
// TaintToleration and NodeAffinity (k8s.io/component-helpers/scheduling/corev1).
#include <algorithm>
#include <charconv>
#include <functional>
#include <optional>
#include <utility>

#include "kube/model/node.h"

namespace nervex::kube {
namespace {

// kube-scheduler treats a cordoned node as one with this taint.
const Taint kUnschedulableTaint{"node.kubernetes.io/unschedulable", "", "NoSchedule"};

bool is_met_by(const Taint& taint, const Json& toleration) {
  const std::string effect = string_at(toleration, {"effect"});
  const std::string key = string_at(toleration, {"key"});
  if (!effect.empty() && effect != taint.effect) return false;
  if (!key.empty() && key != taint.key) return false;
  const std::string op = string_at(toleration, {"operator"}, "Equal");
  if (op == "Exists") return true;
  return (op == "Equal" || op.empty()) && string_at(toleration, {"value"}) == taint.value;
}

// Each is more than all that follow it in preference(): the API allows weights up to 100, and an
// object has fewer than a million of anything.
constexpr std::int64_t kPreferNoSchedule = 100'000'000;
constexpr std::int64_t kEviction = kPreferNoSchedule * 1'000'000;

Tolerance tolerance_of(const Json& toleration) {
  const Json* seconds = find(toleration, {"tolerationSeconds"});
  return seconds == nullptr || seconds->is_null() ? Tolerance::kFull : Tolerance::kLimited;
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

// `actual` is null if the node lacks the label.
bool is_greater_or_less(const std::string* actual, const Json& values, bool greater) {
  if (actual == nullptr || values.size() != 1 || !values[0].is_string()) return false;
  const auto have = integer(*actual);
  const auto bound = integer(values[0].get_ref<const std::string&>());
  if (!have || !bound) return false;
  return greater ? *have > *bound : *have < *bound;
}

bool meets(const std::string* actual, const Json& requirement, const ConstraintIndex& index) {
  const std::string op = string_at(requirement, {"operator"});
  const Json& values = array_at(requirement, {"values"});
  const bool is_listed = actual != nullptr && index.lists(values, *actual);
  if (op == "In") return is_listed;
  if (op == "NotIn") return !is_listed;  // also true if the label is absent
  if (op == "Exists") return actual != nullptr;
  if (op == "DoesNotExist") return actual == nullptr;
  if (op == "Gt" || op == "Lt") return is_greater_or_less(actual, values, op == "Gt");
  return false;
}

const std::string* find_label(const Node& node, const std::string& key) {
  const auto at = node.labels.find(key);
  return at == node.labels.end() ? nullptr : &at->second.str();
}

bool meets_term(const Node& node, const Json& term, const ConstraintIndex& index) {
  const Json& expressions = array_at(term, {"matchExpressions"});
  const Json& fields = array_at(term, {"matchFields"});
  if (expressions.empty() && fields.empty()) return false;  // an empty term selects nothing
  const auto by_label = [&](const Json& requirement) {
    return meets(find_label(node, string_at(requirement, {"key"})), requirement, index);
  };
  const auto by_field = [&](const Json& requirement) {  // metadata.name is the only field
    return string_at(requirement, {"key"}) == "metadata.name" &&
           meets(&node.name, requirement, index);
  };
  return std::all_of(expressions.begin(), expressions.end(), by_label) &&
         std::all_of(fields.begin(), fields.end(), by_field);
}

bool meets_any(const Node& node, const Json& terms, const ConstraintIndex& index) {
  return std::any_of(terms.begin(), terms.end(),
                     [&](const Json& term) { return meets_term(node, term, index); });
}

bool is_selected(const Node& node, const NodeConstraints& constraints,
                 const ConstraintIndex& index) {
  for (const auto& [key, value] : constraints.node_selector.items()) {
    const std::string* actual = find_label(node, key);
    if (actual == nullptr || value != *actual) return false;
  }
  const Json& terms = constraints.node_selector_terms;
  return terms.empty() || meets_any(node, terms, index);
}

bool reaches_volumes(const Node& node, const NodeConstraints& constraints,
                     const ConstraintIndex& index) {
  return std::all_of(constraints.volume_terms.begin(), constraints.volume_terms.end(),
                     [&](const Json& terms) { return meets_any(node, terms, index); });
}

}  // namespace

NodeConstraints decode_node_constraints(const Json& pod_spec) {
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

namespace {

// Names of the parts in the packed text.
constexpr const char* kSelector = "selector";
constexpr const char* kTerms = "terms";
constexpr const char* kTolerations = "tolerations";
constexpr const char* kPreferred = "preferred";
constexpr const char* kVolumes = "volumes";

}  // namespace

PackedConstraints::PackedConstraints(const NodeConstraints& constraints) {
  Json parts = Json::object();
  const auto add = [&parts](const char* name, const Json& part) {
    if (!part.empty()) parts[name] = part;
  };
  add(kSelector, constraints.node_selector);
  add(kTerms, constraints.node_selector_terms);
  add(kTolerations, constraints.tolerations);
  add(kPreferred, constraints.preferred_terms);
  add(kVolumes, constraints.volume_terms);
  if (parts.empty()) return;
  std::string text = to_text(parts);
  text.shrink_to_fit();  // it is kept
  hash_ = std::hash<std::string>()(text);
  text_ = std::move(text);
}

NodeConstraints PackedConstraints::unpack() const {
  NodeConstraints constraints;
  if (empty()) return constraints;
  auto parts = parse_json(text());
  NERVEX_CHECK(parts);  // to_text() has written it
  const auto take = [&parts](const char* name, Json& part) {
    if (const auto at = parts->find(name); at != parts->end()) part = std::move(*at);
  };
  take(kSelector, constraints.node_selector);
  take(kTerms, constraints.node_selector_terms);
  take(kTolerations, constraints.tolerations);
  take(kPreferred, constraints.preferred_terms);
  take(kVolumes, constraints.volume_terms);
  return constraints;
}

ConstraintIndex::ConstraintIndex(const NodeConstraints& constraints) : tolerations_(std::in_place) {
  for (const Json& term : constraints.node_selector_terms) add_term(term);
  for (const Json& terms : constraints.volume_terms) {
    for (const Json& term : terms) add_term(term);
  }
  for (const Json& preferred : constraints.preferred_terms) {
    if (const Json* term = find(preferred, {"preference"})) add_term(*term);
  }
  for (const Json& toleration : constraints.tolerations) add_toleration(toleration);
}

void ConstraintIndex::add_term(const Json& term) {
  for (const char* part : {"matchExpressions", "matchFields"}) {
    for (const Json& requirement : array_at(term, {part})) {
      const Json& values = array_at(requirement, {"values"});
      auto& texts = values_[&values];
      for (const Json& value : values) {
        if (value.is_string()) texts.insert(value.get_ref<const std::string&>());
      }
    }
  }
}

void ConstraintIndex::add_toleration(const Json& toleration) {
  const std::string op = string_at(toleration, {"operator"}, "Equal");
  const bool is_any = op == "Exists";
  if (!is_any && op != "Equal" && !op.empty()) return;
  Toleration key(string_at(toleration, {"effect"}), string_at(toleration, {"key"}), is_any,
                 is_any ? "" : string_at(toleration, {"value"}));
  const std::size_t position = tolerations_->size();
  tolerations_->try_emplace(std::move(key), Match{position, tolerance_of(toleration)});
}

bool ConstraintIndex::lists(const Json& values, const std::string& value) const {
  if (const auto at = values_.find(&values); at != values_.end()) return at->second.contains(value);
  return std::find(values.begin(), values.end(), value) != values.end();
}

Tolerance ConstraintIndex::tolerance(const Json& tolerations, const Taint& taint) const {
  if (!tolerations_) {
    const auto first =
        std::find_if(tolerations.begin(), tolerations.end(),
                     [&](const Json& toleration) { return is_met_by(taint, toleration); });
    return first == tolerations.end() ? Tolerance::kNone : tolerance_of(*first);
  }
  const Match* first = nullptr;
  const auto look_up = [&](const Toleration& key) {
    const auto at = tolerations_->find(key);
    if (at == tolerations_->end()) return;
    if (first == nullptr || at->second.position < first->position) first = &at->second;
  };
  for (const std::string& effect : {taint.effect, std::string()}) {
    for (const std::string& key : {taint.key, std::string()}) {
      look_up({effect, key, true, ""});
      look_up({effect, key, false, taint.value});
    }
  }
  return first == nullptr ? Tolerance::kNone : first->tolerance;
}

NodeFit judge(const Node& node, const NodeConstraints& constraints, const ConstraintIndex& index) {
  if (!node.ready) return NodeFit::kNotReady;
  if (node.unschedulable && !index.tolerates(constraints.tolerations, kUnschedulableTaint)) {
    return NodeFit::kUnschedulable;
  }
  for (const auto& taint : node.taints) {
    if (keeps_pods_away(taint) && !index.tolerates(constraints.tolerations, taint)) {
      return NodeFit::kTainted;
    }
  }
  if (!is_selected(node, constraints, index)) return NodeFit::kNotSelected;
  return reaches_volumes(node, constraints, index) ? NodeFit::kAllowed : NodeFit::kVolumeElsewhere;
}

bool selects(const NodeConstraints& constraints, const Node& node, const ConstraintIndex& index) {
  return is_selected(node, constraints, index) && reaches_volumes(node, constraints, index);
}

bool evicts(const Node& node, const NodeConstraints& constraints, const ConstraintIndex& index) {
  return std::any_of(node.taints.begin(), node.taints.end(), [&](const Taint& taint) {
    return taint.effect == "NoExecute" &&
           index.tolerance(constraints.tolerations, taint) == Tolerance::kLimited;
  });
}

std::int64_t preference(const Node& node, const NodeConstraints& constraints,
                        const ConstraintIndex& index) {
  std::int64_t sum = evicts(node, constraints, index) ? -kEviction : 0;
  for (const Taint& taint : node.taints) {
    const bool is_preference = taint.effect == "PreferNoSchedule";
    if (is_preference && !index.tolerates(constraints.tolerations, taint)) sum -= kPreferNoSchedule;
  }
  for (const Json& preferred : constraints.preferred_terms) {
    const Json* term = find(preferred, {"preference"});
    if (term != nullptr && meets_term(node, *term, index)) sum += int_at(preferred, {"weight"});
  }
  return sum;
}

}  // namespace nervex::kube
