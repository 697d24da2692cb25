// extender/observe/pods.h - which parts of a pod are cached, and how is a pod read from the API
// server?
#pragma once

#include <string>

#include "base/error.h"
#include "kube/api.h"
#include "kube/model/pod.h"

namespace nervex::extender {

// Keeps the annotations of a pod's slot and the label of its foreign PodGroup.
const kube::PodFilter& pod_filter();

// The live pod. kNotFound also if the name now belongs to another UID.
Result<kube::Pod> read_pod(kube::Api& api, const std::string& ns, const std::string& name,
                           const std::string& uid);

}  // namespace nervex::extender
