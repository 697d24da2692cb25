// webhook/priorities.h - would the API server refuse pods for a priority that a template states?
//
// Its admission plugin Priority fills in `priority` and `preemptionPolicy` from the pod's class,
// and refuses a pod that states others. A template is not asked about that, and only the cluster
// knows its classes. People copy both fields from a running pod.
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
  std::string name;  // of the PriorityClass; "": the pod has none
  std::int64_t value = 0;
  std::string preemption_policy = "PreemptLowerPriority";
  bool operator==(const ClassPriority&) const = default;
};

// Of a PriorityClass.
ClassPriority decode_class_priority(const Json& object);
// Of a PriorityClassList: that of pods without a class.
ClassPriority default_class_priority(const Json& list);

// By the name of a class, "" for pods without. nullopt: nobody knows, and nothing is refused.
using FindPriority = std::function<std::optional<ClassPriority>(const std::string& name)>;

// The fields of the templates of `roles` that the cluster would refuse pods for. `find` is asked
// only of templates that state one of them.
job::FieldErrors priority_errors(const Json& object, const std::vector<std::string_view>& roles,
                                 const FindPriority& find);

}  // namespace nervex::webhook
