// controller/decide/status/conditions.h - what is said about a job in metav1.Conditions, and in its
// Reason column?
#pragma once

#include "controller/decide/attempt/result.h"
#include "controller/decide/round/round.h"
#include "job/types.h"

namespace nervex::controller {

// Sets the conditions and the reason of a job that goes on, from its phase and counts in `status`.
// No two contradict each other; `nothing_to_create` ends a PodsCreated=False.
void set_conditions(const Round& round, bool nothing_to_create, job::Status& status);

// Those of a job that ends here, in the phase that `status` has.
void set_final_conditions(const Observed& seen, const AttemptResult& result, job::Status& status);

}  // namespace nervex::controller
