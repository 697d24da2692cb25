// kube/pod_condition.h - how does a program set one condition of a pod?
#pragma once

#include <string>

#include "base/error.h"
#include "kube/api.h"
#include "kube/model/json.h"

namespace nervex::kube {

struct PodKey {
  std::string ns;
  std::string name;
  std::string uid;
};
// Sets the condition of its type and keeps the others; conditional on the version that it reads.
// Does nothing if that pod was deleted.
Result<Nothing> set_pod_condition(Api& api, const PodKey& pod, Json condition);

}  // namespace nervex::kube
