// job/priority.h - what is a job's priority in the queue, and may its pods be created? Pure.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "job/types.h"
#include "kube/model/json.h"
#include "kube/model/meta.h"

namespace nervex::job {

struct PriorityClass {
  kube::Meta meta;
  int value = 0;
  bool is_global_default = false;
  bool never_preempts = false;  // preemptionPolicy: Never
  bool operator==(const PriorityClass&) const = default;
};
Result<PriorityClass> decode_priority_class(std::string_view json);

using PriorityClasses = std::vector<std::shared_ptr<const PriorityClass>>;

struct Priority {
  int value = 0;
  // The missing PriorityClass that a pod of the job names, and the field that names it: the API
  // server would refuse that pod. "": none.
  std::string missing;
  std::string named_by;
  bool never_preempts = false;  // of the class that gives the value
  bool operator==(const Priority&) const = default;
};

// Resolves the coordinator pod's class as the API server's admission plugin Priority does:
// spec.priorityClassName, which every pod of the job gets; else the class of the coordinator's
// template; else the PriorityClass with globalDefault (of several the lowest); else 0.
// `aggregator_template` may be null. Without spec.priorityClassName each template keeps its own.
Priority resolve_priority(const Spec& spec, const Json& aggregator_template,
                          const PriorityClasses& classes);

}  // namespace nervex::job
