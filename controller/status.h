// controller/status.h - how does the job stand, judged by what is there?
#pragma once

#include <vector>

#include "controller/attempt.h"

namespace nervex::controller {

// The first status: Created, attempt 1, a place in the queue from now on.
job::Status first_status(const Observed& seen);

// The status that the objects call for. Equal to the stored one if nothing has changed. With a
// final phase only if the stored one has none. `ended` and `replaced` are replacement.h's;
// `nothing_to_create`: every object that may exist does.
job::Status next_status(const Observed& seen, const Attempt& attempt,
                        std::vector<job::Status::Ended> ended,
                        std::vector<job::Status::Replaced> replaced, bool nothing_to_create);

}  // namespace nervex::controller
