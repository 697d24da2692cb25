// controller/decide/objects/pods.h - which pods are missing, and which are in the way?
#pragma once

#include <vector>

#include "controller/decide/actions.h"
#include "controller/decide/round/round.h"

namespace nervex::controller {

// Deletions first, then services, then workers and aggregator, then the coordinator alone: it
// starts only when every other pod of the base gang is there. Deletes pods of slots that are not
// wanted with that incarnation (any more), newest first, and those whose slot has got another
// place; a slot's next pod waits until the one before is gone or has finished. Empty while the
// PodGroup does not exist; no pod is made while its status is older than its spec, or about to be
// (`spec_changes`: this round writes it).
Actions pod_steps(const Round& round, bool spec_changes = false);

// The plan in the PodGroup's status is about its spec as it is now.
bool is_plan_current(const gang::PodGroup& group);

}  // namespace nervex::controller
