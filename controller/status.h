// controller/status.h - how does the job stand, judged by what is there?
#pragma once

#include <vector>

#include "controller/attempt.h"

namespace nervex::controller {

// The first status: Created, attempt 1, a place in the queue from now on.
job::Status first_status(const Observed& seen);

// The slots of collectors and learners whose pods have finished: those that the status knows and
// those seen now, sorted by role and slot.
std::vector<job::Status::Ended> ended_slots(const job::Status& status, const Attempt& attempt);

// The status that the objects call for. Equal to the stored one if nothing has changed. With a
// final phase only if the stored one has none. `nothing_to_create`: every object that may exist
// does.
job::Status next_status(const Observed& seen, const Attempt& attempt,
                        std::vector<job::Status::Ended> ended, bool nothing_to_create);

}  // namespace nervex::controller
