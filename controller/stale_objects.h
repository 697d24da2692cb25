// controller/stale_objects.h - what is left of the job's earlier attempts?
#pragma once

#include "controller/actions.h"
#include "controller/attempt.h"

namespace nervex::controller {

// Pods of other PodGroups, then, before the attempt has a PodGroup, all services (the next pods get
// their own), then the other PodGroups. Pods first: while they live nobody else may get their
// capacity. What a stale cache takes for a stray may be all that the job has: only for what
// observe.h gave.
Actions delete_stale_objects(const Observed& seen, const Attempt& attempt);

}  // namespace nervex::controller
