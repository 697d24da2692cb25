// controller/attempt_transition.h - does the attempt end here, or the job?
//
// An attempt ends in one status write: the next attempt's number, what is known of the end, and
// nothing of what belonged to the old attempt. All else follows from that number: objects of other
// attempts are strays (stale_objects.h), and the next PodGroup is made when the job may begin
// (limits.h).
#pragma once

#include <optional>

#include "controller/actions.h"
#include "controller/attempt.h"

namespace nervex::controller {

struct AttemptTransition {
  job::Status status;  // final, or of the next attempt, or of a job that is resumed
  RecordEvent event;
};

// nullopt: the attempt goes on. Else the status is to be written before anything else is done.
std::optional<AttemptTransition> transition_of(const Observed& seen, const Attempt& attempt);

// The API server refuses for good, in these words, an object that the base gang cannot start
// without: what was made of the gang gives its capacity back. The next attempt begins after as long
// again as the refusal has lasted, at least `retry_delay` and at most 6 min. The job keeps its
// place in the queue, its scheduleTimeoutSeconds go on, and it costs no retry.
AttemptTransition transition_of_refusal(const Observed& seen, const std::string& message);

}  // namespace nervex::controller
