// controller/decide/attempt/refused_nodes.h - which nodes does the job's next attempt avoid? Pure.
//
// The nodes where kube-scheduler or a kubelet refused pods. The extender notes them in the status
// of the attempt's PodGroup, which is deleted with the attempt: the job's status hands them to the
// next PodGroup.
#pragma once

#include <vector>

#include "controller/decide/round/round.h"
#include "gang/pod_group.h"
#include "job/types.h"

namespace nervex::controller {

// The new status.avoid when the attempt ends: what its PodGroup knows, and rejected pods that the
// extender has not noted yet, such as the coordinator's, whose end is the attempt's. Of requests
// none: their pods differ from those of the next attempt. At most 100 nodes.
std::vector<job::Status::AvoidedNode> refused_nodes(const Round& round);

// spec.avoid of the attempt's PodGroup, which is fixed when it is created: status.avoid, by the
// names of the base gang's sets.
std::vector<gang::AvoidedNode> inherited_avoid(const Round& round);

}  // namespace nervex::controller
