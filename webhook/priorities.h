// webhook/priorities.h - would the API server refuse pods for a priority stated in a template?
//
// Its admission plugin Priority sets `priority` and `preemptionPolicy` from the pod's class, and
// refuses pods that state other values. It does not check templates, and only the cluster knows its
// classes. People copy both fields from a running pod.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "job/field_error.h"
#include "kube/model/json.h"

namespace nervex::webhook {

// What the cluster computes for a pod.
struct ClassPriority {
  std::string name;  // of the PriorityClass; "": none
  std::int64_t value = 0;
  std::string preemption_policy = "PreemptLowerPriority";
  bool operator==(const ClassPriority&) const = default;
};

// From a PriorityClass.
ClassPriority decode_class_priority(const Json& object);
// From a PriorityClassList: the default for pods without a class.
ClassPriority default_class_priority(const Json& list);

// By class name, "" for pods without a class. nullopt: unknown, so nothing is refused.
using FindPriority = std::function<std::optional<ClassPriority>(const std::string& name)>;

// The fields in the templates of `roles` for which the cluster would refuse pods. Calls `find` only
// for templates that state one of them.
job::FieldErrors priority_errors(const Json& object, const std::vector<std::string_view>& roles,
                                 const FindPriority& find);

}  // namespace nervex::webhook
