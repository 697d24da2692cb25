#include "job/priority.h"

#include <algorithm>

namespace nervex::job {
namespace {

std::string read_class_name(const Json& pod_template) {
  return kube::string_at(pod_template, {"spec", "priorityClassName"});
}

const PriorityClass* find_class(const PriorityClasses& classes, const std::string& name) {
  const auto at = std::find_if(classes.begin(), classes.end(),
                               [&](const auto& one) { return one->meta.name == name; });
  return at == classes.end() ? nullptr : at->get();
}

struct NamedClass {
  std::string name;  // "" if the field is not set
  std::string field;
};

// The coordinator's first: its class is the job's place in the queue.
std::vector<NamedClass> named_classes(const Spec& spec, const Json& aggregator_template) {
  if (!spec.priority_class_name.empty()) {
    return {{spec.priority_class_name, "spec.priorityClassName"}};
  }
  const std::string field = ".template.spec.priorityClassName";
  std::vector<NamedClass> named;
  named.push_back({read_class_name(spec.coordinator_template), "spec.coordinator" + field});
  if (spec.collector) {
    named.push_back({read_class_name(spec.collector->pod_template), "spec.collector" + field});
  }
  if (spec.learner) {
    named.push_back({read_class_name(spec.learner->pod_template), "spec.learner" + field});
  }
  if (spec.aggregator != "OnDemand") {
    named.push_back(
        {read_class_name(aggregator_template), "the AggregatorConfig's spec.aggregator" + field});
  }
  return named;
}

const PriorityClass* find_default(const PriorityClasses& classes) {
  const PriorityClass* lowest = nullptr;
  for (const auto& one : classes) {
    if (!one->is_global_default) continue;
    if (lowest == nullptr || one->value < lowest->value) lowest = one.get();
  }
  return lowest;
}

}  // namespace

Result<PriorityClass> decode_priority_class(std::string_view json) {
  const auto object = kube::parse_json(json);
  if (!object) return with_context("priorityclass", object.error());
  const Json* is_default = kube::find(*object, {"globalDefault"});
  return PriorityClass{kube::decode_meta(*object),
                       static_cast<int>(kube::int_at(*object, {"value"})),
                       is_default != nullptr && *is_default == true,
                       kube::string_at(*object, {"preemptionPolicy"}) == "Never"};
}

Priority resolve_priority(const Spec& spec, const Json& aggregator_template,
                          const PriorityClasses& classes) {
  Priority priority;
  const auto named = named_classes(spec, aggregator_template);
  const auto* first = find_class(classes, named.front().name);
  if (first == nullptr) first = find_default(classes);
  priority.value = first == nullptr ? 0 : first->value;
  priority.never_preempts = first != nullptr && first->never_preempts;
  for (const auto& [name, field] : named) {
    if (name.empty() || find_class(classes, name) != nullptr) continue;
    priority.missing = name;
    priority.named_by = field;
    break;
  }
  return priority;
}

}  // namespace nervex::job
