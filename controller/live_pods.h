// controller/live_pods.h - which pods does a job have, as the API server itself says?
#pragma once

#include <vector>

#include "job/types.h"
#include "kube/api.h"
#include "kube/model/pod.h"

namespace nervex::controller {

// Those whose controller is the job, by its uid. One list, read anew: costs the API server a look
// at all pods of the namespace that carry the job's label.
Result<std::vector<kube::Pod>> live_pods(kube::Api& api, const job::Job& job);

}  // namespace nervex::controller
