#include "controller/decide/priority.h"

#include <algorithm>
#include <utility>

namespace nervex::controller {

namespace {

std::string class_of(const Json& pod_template) {
  return kube::string_at(pod_template, {"spec", "priorityClassName"});
}

const PriorityClass* find_class(const PriorityClasses& classes, const std::string& name) {
  const auto at = std::find_if(classes.begin(), classes.end(),
                               [&](const auto& one) { return one->meta.name == name; });
  return at == classes.end() ? nullptr : at->get();
}

int default_priority(const PriorityClasses& classes) {
  const PriorityClass* lowest = nullptr;
  for (const auto& one : classes) {
    if (!one->is_global_default) continue;
    if (lowest == nullptr || one->value < lowest->value) lowest = one.get();
  }
  return lowest == nullptr ? 0 : lowest->value;
}

}  // namespace

Result<PriorityClass> decode_priority_class(std::string_view json) {
  const auto object = kube::parse_json(json);
  if (!object) return with_context("priorityclass", object.error());
  const Json* is_default = kube::find(*object, {"globalDefault"});
  return PriorityClass{kube::decode_meta(*object),
                       static_cast<int>(kube::int_at(*object, {"value"})),
                       is_default != nullptr && *is_default == true};
}

Priority priority_of(const job::Spec& spec, const Json& aggregator_template,
                     const PriorityClasses& classes) {
  // The coordinator's first: its class is the job's place in the queue.
  std::vector<std::pair<std::string, std::string>> named;  // class, field
  if (!spec.priority_class_name.empty()) {
    named.emplace_back(spec.priority_class_name, "spec.priorityClassName");
  } else {
    const std::string field = ".template.spec.priorityClassName";
    named.emplace_back(class_of(spec.coordinator_template), "spec.coordinator" + field);
    if (spec.collector) {
      named.emplace_back(class_of(spec.collector->pod_template), "spec.collector" + field);
    }
    if (spec.learner) {
      named.emplace_back(class_of(spec.learner->pod_template), "spec.learner" + field);
    }
    if (spec.aggregator != "OnDemand") {
      named.emplace_back(class_of(aggregator_template),
                         "the AggregatorConfig's spec.aggregator" + field);
    }
  }

  Priority priority;
  const auto* first = find_class(classes, named.front().first);
  priority.value = first != nullptr ? first->value : default_priority(classes);
  for (const auto& [name, field] : named) {
    if (name.empty() || find_class(classes, name) != nullptr) continue;
    priority.missing = name;
    priority.named_by = field;
    break;
  }
  return priority;
}

}  // namespace nervex::controller
