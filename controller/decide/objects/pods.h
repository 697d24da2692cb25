// controller/decide/objects/pods.h - which pods are missing, and which must be deleted?
#pragma once

#include <vector>

#include "controller/decide/actions.h"
#include "controller/decide/round/round.h"

namespace nervex::controller {

// Deletions first, then services, then workers and aggregator, then the coordinator alone: it
// starts only when every other pod of the base gang exists. Deletes pods whose slot is not wanted
// with that incarnation (any more), newest first, and pods whose slot has another placement now; a
// slot's next pod waits until the previous one is deleted or finished. Empty without a PodGroup; no
// pod is created while the PodGroup's status is older than its spec, or about to be
// (`spec_changes`: this round writes the spec).
Actions pod_steps(const Round& round, bool spec_changes = false);

// The plan in the PodGroup's status is for its current spec.
bool is_plan_current(const gang::PodGroup& group);

}  // namespace nervex::controller
