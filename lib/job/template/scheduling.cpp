// Scheduling of pods: labels and selectors, affinity, tolerations, spread, gates.
#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "base/text.h"
#include "job/names.h"
#include "job/template/rules.h"
#include "job/template/syntax.h"
#include "kube/model/topology_spread.h"

namespace nervex::job::pod_template {
namespace {

using Seen = std::set<std::string, std::less<>>;

void check_key(const Place& key) { key.must_be(label_key_problem(key.text())); }

void check_key_if_text(const Place& key) {
  if (key.value().is_string() || !key.is_there()) check_key(key);
}

void check_values(const Place& values) {
  values.each_item([](const Place& value) {
    if (value.value().is_string()) value.must_be(label_value_problem(value.text()));
  });
}

// What an operator requires of `values`. Node labels are also compared as numbers.
void check_operator(const Place& requirement, bool compares_numbers) {
  const Place op = requirement.at("operator");
  const Place values = requirement.at("values");
  const std::string& name = op.text();
  if (name == "In" || name == "NotIn") {
    if (values.size() == 0) {
      values.required("must be specified when `operator` is 'In' or 'NotIn'");
    }
  } else if (name == "Exists" || name == "DoesNotExist") {
    if (values.size() > 0) {
      values.forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
    }
  } else if (compares_numbers && (name == "Gt" || name == "Lt")) {
    if (values.size() != 1) {
      values.required("must be specified single value when `operator` is 'Lt' or 'Gt'");
    }
  } else if (op.value().is_string() || !op.is_there()) {
    op.invalid(name, "not a valid selector operator");
  }
}

void check_selector_requirement(const Place& requirement) {
  if (!requirement.is_object()) return;
  check_operator(requirement, false);
  check_key_if_text(requirement.at("key"));
  check_values(requirement.at("values"));
}

void check_label_selector(const Place& selector) {
  const Place labels = selector.at("matchLabels");
  check_labels(labels);
  const Place expressions = selector.at("matchExpressions");
  expressions.each_item(check_selector_requirement);
}

// ---- nodes

void check_node_requirement(const Place& requirement, bool are_values_labels) {
  if (!requirement.is_object()) return;
  check_operator(requirement, true);
  check_key_if_text(requirement.at("key"));
  if (are_values_labels) check_values(requirement.at("values"));
}

void check_node_field(const Place& requirement) {
  if (!requirement.is_object()) return;
  const Place op = requirement.at("operator");
  const Place values = requirement.at("values");
  if (op.text() == "In" || op.text() == "NotIn") {
    if (values.size() != 1) {
      values.required(
          "must be only one value when `operator` is 'In' or 'NotIn' for node field selector");
    }
  } else if (op.value().is_string() || !op.is_there()) {
    op.invalid(op.text(), "not a valid selector operator");
  }
  const Place key = requirement.at("key");
  if (key.text() != "metadata.name") {
    if (key.value().is_string() || !key.is_there()) {
      key.invalid(key.text(), "not a valid field selector key");
    }
    return;
  }
  values.each_item([](const Place& value) {
    if (value.value().is_string()) value.must_be(dns_subdomain_problem(value.text()));
  });
}

void check_node_term(const Place& term, bool are_values_labels) {
  const Place expressions = term.at("matchExpressions");
  expressions.each_item([&](const Place& one) { check_node_requirement(one, are_values_labels); });
  const Place fields = term.at("matchFields");
  fields.each_item(check_node_field);
}

void check_weight(const Place& term) {
  const Place weight = term.at("weight");
  const auto number = weight.integer().value_or(weight.is_there() ? 1 : 0);
  if (number < 1 || number > 100) {
    weight.invalid("must be in the range 1-100");
  }
}

void check_node_affinity(const Place& affinity) {
  const Place required = affinity.at("requiredDuringSchedulingIgnoredDuringExecution");
  if (required.is_object()) {
    const Place terms = required.at("nodeSelectorTerms");
    if (terms.size() == 0 && (terms.value().is_array() || !terms.is_there())) {
      terms.required("must have at least one node selector term");
    }
    terms.each_item([](const Place& term) { check_node_term(term, true); });
  }
  const Place preferred = affinity.at("preferredDuringSchedulingIgnoredDuringExecution");
  preferred.each_item([](const Place& term) {
    check_weight(term);
    const Place preference = term.at("preference");
    check_node_term(preference, false);
  });
}

// ---- other pods

// Whether the pod has the label, from its template or from the controller.
bool has_label(const Facts& facts, std::string_view key) {
  constexpr std::array kAdded{kGroupLabel, kJobLabel, kControllerLabel, kRoleLabel, kPodNameLabel};
  return std::find(kAdded.begin(), kAdded.end(), key) != kAdded.end() ||
         (facts.labels != nullptr && kube::member(*facts.labels, key) != nullptr);
}

// Keys that the selector uses twice after the API server has added an expression for each of
// `added` that is a label of the pod.
Seen keys_selected_twice(const Json& selector, const Json& added, const Facts& facts) {
  Seen once;
  Seen twice;
  const auto count = [&](const std::string& key) {
    if (!once.insert(key).second) twice.insert(key);
  };
  if (const Json* labels = kube::find(selector, {"matchLabels"}); labels && labels->is_object()) {
    for (const auto& [key, unused] : labels->items()) count(key);
  }
  for (const Json& expression : kube::array_at(selector, {"matchExpressions"})) {
    count(kube::string_at(expression, {"key"}));
  }
  for (const Json& key : added) {
    if (key.is_string() && has_label(facts, key.get_ref<const std::string&>())) count(key);
  }
  return twice;
}

void check_label_keys(const Place& holder, std::string_view field) {
  const Place keys = holder.at(field);
  if (keys.size() == 0) return;
  const Place selector = holder.at("labelSelector");
  if (!selector.is_there()) {
    return keys.forbidden("must not be specified when labelSelector is not set");
  }
  keys.each_item(check_key_if_text);
}

// `mismatched`: absent for spreads, which do not have it.
void check_match_keys(const Place& holder, const Place& mismatched, const Facts& facts) {
  check_label_keys(holder, "matchLabelKeys");
  const Place keys = holder.at("matchLabelKeys");
  const Place selector = holder.at("labelSelector");
  if (!keys.value().is_array() || !selector.is_object()) return;
  const Seen twice = keys_selected_twice(selector.value(), keys.value(), facts);
  Seen others;
  if (mismatched.value().is_array()) {
    mismatched.each_item([&](const Place& key) { others.insert(key.text()); });
  }
  keys.each_item([&](const Place& key) {
    if (twice.contains(key.text())) {
      key.invalid("exists in both matchLabelKeys and labelSelector");
    } else if (key.has_text() && others.contains(key.text())) {
      key.invalid("exists in both matchLabelKeys and mismatchLabelKeys");
    }
  });
}

void check_pod_term(const Place& term, const Facts& facts) {
  if (!term.is_object()) return;
  const Place selector = term.at("labelSelector");
  check_label_selector(selector);
  const Place namespace_selector = term.at("namespaceSelector");
  check_label_selector(namespace_selector);
  const Place names = term.at("namespaces");
  const Place told = term.at("namespace");  // the API server's path
  names.each_item([&](const Place& name) {
    const std::string why = dns_label_problem(name.text());
    if (name.value().is_string() && !why.empty()) told.invalid(name.text(), why);
  });
  const Place mismatched = term.at("mismatchLabelKeys");
  check_match_keys(term, mismatched, facts);
  check_label_keys(term, "mismatchLabelKeys");
  const Place key = term.at("topologyKey");
  if (key.text().empty()) {
    if (key.value().is_string() || !key.is_there()) key.required("can not be empty");
  } else {
    check_key(key);
  }
}

void check_pod_affinity(const Place& affinity, const Facts& facts) {
  const Place required = affinity.at("requiredDuringSchedulingIgnoredDuringExecution");
  required.each_item([&](const Place& term) { check_pod_term(term, facts); });
  const Place preferred = affinity.at("preferredDuringSchedulingIgnoredDuringExecution");
  preferred.each_item([&](const Place& weighted) {
    check_weight(weighted);
    const Place term = weighted.at("podAffinityTerm");
    check_pod_term(term, facts);
  });
}

// ---- tolerations

bool is_integer(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && text == std::to_string(number);
}

void check_toleration(const Place& toleration) {
  if (!toleration.is_object()) return;
  const Place key = toleration.at("key");
  const Place op = toleration.at("operator");
  const Place value = toleration.at("value");
  const Place effect = toleration.at("effect");
  const std::string& name = op.text();
  if (!key.text().empty()) check_key(key);
  if (name.empty() || name == "Equal") {
    const std::string why = label_value_problem(value.text());
    if (!why.empty()) op.invalid(value.text(), why);
  } else if (name == "Exists") {
    if (!value.text().empty()) {
      op.invalid(value.text(), "value must be empty when `operator` is 'Exists'");
    }
  } else if (name == "Lt" || name == "Gt") {
    // A newer operator, behind a feature gate: the cluster may know it.
    if (!is_integer(value.text())) {
      value.invalid("must be a valid decimal integer in canonical form");
    }
  } else {
    op.not_supported({"Equal", "Exists"});
  }
  if (key.text().empty() && (name.empty() || name == "Equal")) {
    op.invalid(name.empty() ? "Equal" : std::string_view(name),
               "operator must be Exists when `key` is empty, which means \"match all values and "
               "all keys\"");
  }
  if (toleration.at("tolerationSeconds").is_there() && effect.text() != "NoExecute") {
    effect.invalid(effect.text(), "effect must be 'NoExecute' when `tolerationSeconds` is set");
  }
  effect.one_of({"NoSchedule", "PreferNoSchedule", "NoExecute"});
}

// ---- spread

void check_constraint(const Place& constraint, const Facts& facts) {
  if (!constraint.is_object()) return;
  const Place skew = constraint.at("maxSkew");
  const auto skew_number = skew.integer();
  if ((skew_number && *skew_number <= 0) || !skew.is_there()) {
    skew.invalid("must be greater than zero");
  }
  const Place key = constraint.at("topologyKey");
  if (key.text().empty() && (key.value().is_string() || !key.is_there())) {
    key.required("can not be empty");
  }
  const Place action = constraint.at("whenUnsatisfiable");
  const std::string& when = action.text();
  if (when != "DoNotSchedule" && when != "ScheduleAnyway" &&
      (action.value().is_string() || !action.is_there())) {
    action.not_supported({"DoNotSchedule", "ScheduleAnyway"});
  }
  const Place domains = constraint.at("minDomains");
  if (domains.integer() && *domains.integer() <= 0) domains.invalid("must be greater than zero");
  if (domains.is_there() && when != "DoNotSchedule") {
    domains.invalid(
        fmt::format("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {}", when));
  }
  for (const auto field : {"nodeAffinityPolicy", "nodeTaintsPolicy"}) {
    const Place policy = constraint.at(field);
    policy.exactly_one_of({"Honor", "Ignore"});
  }
  const Place mismatched = constraint.at("mismatchLabelKeys");
  check_match_keys(constraint, mismatched, facts);
  const Place selector = constraint.at("labelSelector");
  check_label_selector(selector);
}

// ---- size

// About, without a copy: quotes, commas and colons count, escapes do not.
std::size_t text_size(const Json& value) {
  if (value.is_string()) return value.get_ref<const std::string&>().size() + 3;
  std::size_t bytes = 2;
  if (value.is_object()) {
    for (auto at = value.begin(); at != value.end(); ++at) {
      bytes += at.key().size() + 4 + text_size(*at);
    }
  } else if (value.is_array()) {
    for (const Json& item : value) bytes += text_size(item);
  }
  return bytes;
}

}  // namespace

// The API server reports the path of all labels, so each key and value is shown.
void check_labels(const Place& labels) {
  labels.each_entry([&](const std::string& key, const Place& value) {
    if (const auto why = label_key_problem(key); !why.empty()) labels.invalid(key, why);
    if (!value.value().is_string()) return;
    const auto why = label_value_problem(value.text());
    if (!why.empty()) labels.invalid(value.text(), why);
  });
}

void check_annotations(const Place& annotations) {
  constexpr std::size_t kMaxBytes = std::size_t{256} << 10U;
  std::size_t bytes = 0;
  annotations.each_entry([&](const std::string& key, const Place& value) {
    const std::string lower = to_lower(key);  // may differ in case
    if (const auto why = label_key_problem(lower); !why.empty()) annotations.invalid(key, why);
    bytes += key.size() + value.text().size();
  });
  if (bytes > kMaxBytes) annotations.too_long(kMaxBytes);
}

void check_node_selector(const Place& spec, const Facts&) {
  const Place selector = spec.at("nodeSelector");
  check_labels(selector);
}

void check_affinity(const Place& spec, const Facts& facts) {
  const Place affinity = spec.at("affinity");
  const Place nodes = affinity.at("nodeAffinity");
  check_node_affinity(nodes);
  for (const auto kind : {"podAffinity", "podAntiAffinity"}) {
    const Place pods = affinity.at(kind);
    check_pod_affinity(pods, facts);
  }
}

void check_tolerations(const Place& spec, const Facts&) {
  const Place tolerations = spec.at("tolerations");
  tolerations.each_item(check_toleration);
}

void check_spread(const Place& spec, const Facts& facts) {
  const Place constraints = spec.at("topologySpreadConstraints");
  constraints.each_item([&](const Place& one) { check_constraint(one, facts); });
  // The API server reports the first of two equal ones.
  const auto kind_at = [&](std::size_t i) {
    const Json& constraint = constraints.value()[i];
    return fmt::format("{{{}, {}}}", kube::string_at(constraint, {"topologyKey"}),
                       kube::string_at(constraint, {"whenUnsatisfiable"}));
  };
  Seen later;
  for (std::size_t i = constraints.size(); i-- > 0 && !constraints.is_full();) {
    const std::string kind = kind_at(i);
    if (later.insert(kind).second) continue;
    const Place constraint = constraints.item(i);
    const Place both = constraint.at("{topologyKey, whenUnsatisfiable}");
    both.duplicate(kind);
  }
}

// Our own: nervex-controller and nervex-extender keep these fields of each job that waits, parsed.
void check_constraint_size(const Place& spec, const Facts&) {
  constexpr std::size_t kMaxBytes = std::size_t{32} << 10;
  std::size_t bytes = 0;
  for (const char* key : {"nodeSelector", "affinity", "tolerations", "topologySpreadConstraints"}) {
    bytes += text_size(spec.at(key).value());
  }
  if (bytes <= kMaxBytes) return;
  // Without the size, so that an update of a larger one, stored before, is no new error.
  spec.forbidden(
      "nodeSelector, affinity, tolerations and topologySpreadConstraints may have at most 32 KiB "
      "together, as JSON");
}

// Our own: more would not be planned (kube/model/topology_spread.h).
void check_planned_spread(const Place& spec, const Facts&) {
  const Place spreads = spec.at("topologySpreadConstraints");
  bool is_any_long = false;
  spreads.each_item([&](const Place& one) {
    const Json requirements = kube::list_requirements(one.at("labelSelector").value());
    is_any_long = is_any_long || text_size(requirements) > kube::kMaxSelectorBytes;
  });
  if (!is_any_long && spreads.size() <= kube::kMaxSpreadConstraints) return;
  spreads.forbidden(
      "may have at most 16 constraints, each labelSelector at most 4 KiB as JSON in "
      "matchExpressions");
}

void check_gates(const Place& spec, const Facts&) {
  const Place readiness = spec.at("readinessGates");
  readiness.each_item([](const Place& gate) {
    const Place type = gate.at("conditionType");
    check_key_if_text(type);
  });
  const Place scheduling = spec.at("schedulingGates");
  Seen seen;
  scheduling.each_item([&](const Place& gate) {
    const std::string name = kube::string_at(gate.value(), {"name"});
    if (!gate.is_object()) return;
    if (const auto why = label_key_problem(name); !why.empty()) gate.invalid(name, why);
    if (!seen.insert(name).second) gate.duplicate(name);
  });
}

}  // namespace nervex::job::pod_template
