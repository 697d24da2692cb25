// controller/decide/attempt/transition.h - does the attempt end here, or the job? Pure.
//
// An attempt ends in one status write: the next attempt's number, what is known of the end, and
// nothing that belonged to the old attempt. That number implies the rest: objects of other attempts
// are stale (cleanup.h), and the next PodGroup is created when the job may begin (queueing.h).
#pragma once

#include <optional>
#include <string>

#include "controller/decide/actions.h"
#include "controller/decide/attempt/result.h"
#include "controller/decide/round/round.h"

namespace nervex::controller {

struct AttemptTransition {
  // For the next attempt or a resumed job; for a job that ends the stored one, with what is known
  // of its last attempt. write_transition() in reconcile.h completes it.
  job::Status status;
  RecordEvent event;
  std::optional<AttemptResult> final_result{};  // the job ends with it
  bool has_not_started = false;                 // as AttemptResult's
};

// nullopt: the attempt continues. Otherwise write the status before anything else.
std::optional<AttemptTransition> find_transition(const Round& round);

// The creation of an object that the base gang needs failed permanently, with this message: the
// gang's objects give their capacity back. The next attempt begins after as long again as the
// creation has failed, at least `retry_delay` and at most 6 min. The job keeps its place in the
// queue, scheduleTimeoutSeconds keeps running, and it costs no retry.
AttemptTransition requeue_after_failed_creation(const Round& round, const std::string& message);

}  // namespace nervex::controller
