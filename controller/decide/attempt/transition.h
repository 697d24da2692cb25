// controller/decide/attempt/transition.h - does the attempt end here, or the job? Pure.
//
// An attempt ends in one status write: the next attempt's number, what is known of the end, and
// nothing that belonged to the old attempt. All else follows from that number: objects of other
// attempts are stale (cleanup.h), and the next PodGroup is made when the job may begin
// (queueing.h).
#pragma once

#include <optional>
#include <string>

#include "controller/decide/actions.h"
#include "controller/decide/attempt/result.h"
#include "controller/decide/round/round.h"

namespace nervex::controller {

struct AttemptTransition {
  // Of the next attempt, or of a job that is resumed; of a job that ends as stored, with what is
  // known of its last attempt. The caller completes it: write_transition() in reconcile.h.
  job::Status status;
  RecordEvent event;
  std::optional<AttemptResult> final_result{};  // the job ends with it
};

// nullopt: the attempt goes on. Else the status is to be written before anything else is done.
std::optional<AttemptTransition> find_transition(const Round& round);

// The creation of an object that the base gang cannot start without failed for good, with this
// message: what was made of the gang gives its capacity back. The next attempt begins after as long
// again as the creation has failed, at least `retry_delay` and at most 6 min. The job keeps its
// place in the queue, its scheduleTimeoutSeconds go on, and it costs no retry.
AttemptTransition requeue_after_failed_creation(const Round& round, const std::string& message);

}  // namespace nervex::controller
