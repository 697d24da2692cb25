// controller/pods.h - which pods and services are missing, and which pods are in the way?
#pragma once

#include <vector>

#include "controller/actions.h"
#include "controller/attempt.h"

namespace nervex::controller {

// Deletions first, then services, then workers and aggregator, then the coordinator alone: it
// starts only when every other pod of the base gang is there. Empty while the PodGroup does not
// exist or its status is older than its spec. `seen` with the job's status as this round writes it:
// what has ended is never made again.
Actions pod_steps(const Observed& seen, const Attempt& attempt);

// The plan in the PodGroup's status is about its spec as it is now.
bool is_plan_current(const gang::PodGroup& group);

}  // namespace nervex::controller
