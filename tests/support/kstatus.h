// tests/support/kstatus.h - which status does kstatus compute for an object by its generic rules?
//
// The generic rules of sigs.k8s.io/cli-utils/pkg/kstatus (used by Flux, kpt and others), in order.
// One of "Terminating", "InProgress", "Failed", "Current".
#pragma once

#include <string>

#include "kube/model/json.h"

namespace nervex::testing {

inline std::string compute_kstatus(const Json& object) {
  if (kube::find(object, {"metadata", "deletionTimestamp"}) != nullptr) return "Terminating";
  const Json* generation = kube::find(object, {"metadata", "generation"});
  const Json* observed = kube::find(object, {"status", "observedGeneration"});
  if (generation != nullptr && observed != nullptr && *generation != *observed) return "InProgress";
  std::string ready;
  for (const auto& condition : kube::array_at(object, {"status", "conditions"})) {
    const std::string type = kube::string_at(condition, {"type"});
    const std::string status = kube::string_at(condition, {"status"});
    if (type == "Reconciling" && status == "True") return "InProgress";
    if (type == "Stalled" && status == "True") return "Failed";
    if (type == "Ready") ready = status;
  }
  return ready.empty() || ready == "True" ? "Current" : "InProgress";
}

}  // namespace nervex::testing
