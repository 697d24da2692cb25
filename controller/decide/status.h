// controller/decide/status.h - how does the job stand, judged by what is there?
#pragma once

#include <vector>

#include "controller/decide/attempt.h"
#include "controller/decide/attempt_transition.h"

namespace nervex::controller {

// The first status: Created, attempt 1, a place in the queue from now on.
job::Status first_status(const Observed& seen);

// The status that the objects call for while the attempt goes on. Equal to the stored one if
// nothing has changed. `ended` and `replaced` are replacement.h's; `nothing_to_create`: every
// object that may exist does.
job::Status next_status(const Observed& seen, const Attempt& attempt,
                        std::vector<job::Status::Ended> ended,
                        std::vector<job::Status::Replaced> replaced, bool nothing_to_create);

// That of a job that ends here, kSucceeded or kFailed, with its last counts.
job::Status final_status(const Observed& seen, const Attempt& attempt, job::Phase phase,
                         const Verdict& verdict);

}  // namespace nervex::controller
