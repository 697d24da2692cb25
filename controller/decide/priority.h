// controller/decide/priority.h - which priority has a job in the queue, and may its pods be
// created?
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "job/types.h"
#include "kube/api.h"
#include "kube/model/json.h"
#include "kube/model/meta.h"

namespace nervex::controller {

inline constexpr kube::ResourceKind kPriorityClasses{"scheduling.k8s.io", "v1", "priorityclasses"};

struct PriorityClass {
  kube::Meta meta;
  int value = 0;
  bool is_global_default = false;
  bool operator==(const PriorityClass&) const = default;
};
Result<PriorityClass> decode_priority_class(std::string_view json);

using PriorityClasses = std::vector<std::shared_ptr<const PriorityClass>>;

struct Priority {
  int value = 0;
  // A PriorityClass that a pod of the job names and that does not exist, and the field that names
  // it: the API server would refuse that pod. "" if there is none.
  std::string missing;
  std::string named_by;
  bool operator==(const Priority&) const = default;
};

// As the API server's admission plugin Priority resolves the class of the coordinator's pod:
// spec.priorityClassName, which every pod of the job gets; without it that of the coordinator's
// template; without that the PriorityClass with globalDefault (of several the lowest), else 0.
// `aggregator_template` may be null. Without spec.priorityClassName each template keeps its own.
Priority priority_of(const job::Spec& spec, const Json& aggregator_template,
                     const PriorityClasses& classes);

}  // namespace nervex::controller
