// extender/observe/pods.h - what is kept of a pod, and how is one read at the API server?
#pragma once

#include <string>

#include "base/error.h"
#include "kube/api.h"
#include "kube/model/pod.h"

namespace nervex::extender {

// The cache keeps of each pod the annotations of its slot, and the label of its foreign PodGroup.
const kube::PodFilter& pod_filter();

// The live pod. kNotFound also if the name belongs to another UID by now.
Result<kube::Pod> read_pod(kube::Api& api, const std::string& ns, const std::string& name,
                           const std::string& uid);

}  // namespace nervex::extender
