// controller/decide/status.h - how does the job stand, judged by what is there?
#pragma once

#include <vector>

#include "controller/decide/attempt_transition.h"
#include "controller/decide/round.h"

namespace nervex::controller {

// The first status: Created, attempt 1, a place in the queue from now on.
job::Status first_status(const Observed& seen);

// The status that the objects call for while the attempt goes on. Equal to the stored one if
// nothing has changed. `nothing_to_create`: every object that may exist does.
job::Status next_status(const Round& round, bool nothing_to_create);

// Nothing is decided by what changes, and nobody waits for it to the second: pods that start or are
// ready, that a gang is placed, the numbers in a message. Such a write may wait for the next ones.
// Everything else is written at once: a phase, an attempt, an end, a condition that turns, a reason
// to wait.
bool only_informs(const job::Status& before, const job::Status& after);

// That of a job that ends here, kSucceeded or kFailed, with its last counts. `status`: as stored,
// with what is known of the attempt's end.
job::Status final_status(const Round& round, job::Status status, job::Phase phase,
                         const AttemptResult& verdict);

}  // namespace nervex::controller
