// controller/decide/attempt_transition.h - how does an attempt go, judged by its coordinator's main
// container?
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/decide/reconcile.h"
#include "controller/decide/round.h"

namespace nervex::controller {

enum class AttemptOutcome {
  kWaits,       // the coordinator does not run, or is about to go: the phase stays as it is
  kRuns,        // it runs
  kSuccess,     // it has completed: the job has
  kFailure,     // counts against backoffLimit
  kDisruption,  // taken back by the cluster: a new attempt, which costs no retry
  kTimedOut,    // a deadline of the job itself has passed: it has failed, whatever is left
};

struct AttemptResult {
  AttemptOutcome outcome = AttemptOutcome::kWaits;
  std::string_view reason;          // of the last four: status.reason
  std::string message;              // for people
  std::optional<int> exit_code;     // of the main container, if its end was seen
  std::string termination_message;  // its termination message
  bool coordinator_ran = true;      // else the job may never have run
};

// Not for jobs in a final phase, nor for suspended ones.
AttemptResult judge_attempt(const Round& round);

// -- does the attempt end here, or the job?
//
// An attempt ends in one status write: the next attempt's number, what is known of the end, and
// nothing of what belonged to the old attempt. All else follows from that number: objects of other
// attempts are stale (cleanup.h), and the next PodGroup is made when the job may begin
// (limits.h).

struct AttemptTransition {
  job::Status status;  // final, or of the next attempt, or of a job that is resumed
  RecordEvent event;
};

// nullopt: the attempt goes on. Else the status is to be written before anything else is done.
std::optional<AttemptTransition> transition_of(const Round& round);

// The creation of an object that the base gang cannot start without failed for good, with this
// message: what was made of the gang gives its capacity back. The next attempt begins after as long
// again as the creation has failed, at least `retry_delay` and at most 6 min. The job keeps its
// place in the queue, its scheduleTimeoutSeconds go on, and it costs no retry.
AttemptTransition transition_of_failed_creation(const Round& round, const std::string& message);

}  // namespace nervex::controller
