// kube/model/pod_scan.h - how is a pod inside a larger message read? Private to kube/model.
#pragma once

#include "kube/model/pod.h"
#include "kube/model/scan.h"

namespace nervex::kube {

// decode_pod() as part of a scan. The name is empty if absent.
Pod scan_pod(Value value, const PodFilter& filter);

}  // namespace nervex::kube
