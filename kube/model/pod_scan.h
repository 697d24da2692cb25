// kube/model/pod_scan.h - a pod inside a larger message. Private to kube/model.
#pragma once

#include "kube/model/pod.h"
#include "kube/model/scan.h"

namespace nervex::kube {

// decode_pod() on a scan under way. The name is empty if there is none.
Pod scan_pod(Value value, const PodFilter& filter);

}  // namespace nervex::kube
