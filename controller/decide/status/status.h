// controller/decide/status/status.h - how does the job stand, judged by what is there?
#pragma once

#include "controller/decide/attempt/result.h"
#include "controller/decide/round/round.h"
#include "job/types.h"

namespace nervex::controller {

// The first status: Created, attempt 1, a place in the queue from now on.
job::Status first_status(const Observed& seen);

// The status that the objects call for while the attempt goes on. Equal to the stored one if
// nothing has changed. `nothing_to_create`: every object that may exist does.
job::Status next_status(const Round& round, bool nothing_to_create);

// The change informs people, and no decision depends on it: pods that start or are ready, a gang
// that is placed, numbers in a message. Such a write may wait for the next ones. Everything else is
// written at once: a phase, an attempt, an end, a condition that turns, a reason to wait.
bool only_informs(const job::Status& before, const job::Status& after);

// That of a job that ends here with that result, Succeeded or Failed, with its last counts.
// `status`: as stored, with what is known of the attempt's end.
job::Status final_status(const Round& round, const AttemptResult& result, job::Status status);

}  // namespace nervex::controller
