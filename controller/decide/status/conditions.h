// controller/decide/status/conditions.h - what do a job's metav1.Conditions and its Reason column
// say?
#pragma once

#include "controller/decide/attempt/result.h"
#include "controller/decide/round/round.h"
#include "job/types.h"

namespace nervex::controller {

// Sets the conditions and the reason of a job that continues, from the phase and counts in
// `status`. They never contradict each other; `nothing_to_create` ends a PodsCreated=False.
void set_conditions(const Round& round, bool nothing_to_create, job::Status& status);

// For a job that ends now, in the phase of `status`.
void set_final_conditions(const Observed& seen, const AttemptResult& result, job::Status& status);

}  // namespace nervex::controller
