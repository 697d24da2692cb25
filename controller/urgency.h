// controller/urgency.h - may a change of a pod wait for more of its kind?
#pragma once

#include "kube/model/pod.h"

namespace nervex::controller {

// True if at most counts follow from it: a worker or aggregator starts, runs, becomes ready or ends
// by itself. The pods of a gang do so one after the other, and each would cost the job a status
// write. What the coordinator does, and pods that have to be replaced, are looked at once.
bool can_be_coalesced(const kube::Pod& after);

}  // namespace nervex::controller
