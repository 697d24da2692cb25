// job/pin.h - how is a pod bound to one node by its own constraints?
#pragma once

#include <string>

#include "kube/model/json.h"

namespace nervex::job {

// Restricts the pod to `node` on top of what its spec demands already: required node affinity terms
// are ORed, so the pin goes into every one of them. Terms without any demand match no node in
// Kubernetes, and must not begin to.
void pin_to_node(Json& pod_spec, const std::string& node);

}  // namespace nervex::job
