// controller/decide/attempt/result.h - what is the outcome of the attempt, judged by its
// coordinator's main container?
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/decide/round/round.h"

namespace nervex::controller {

enum class AttemptOutcome {
  kWaits,       // the coordinator does not run, or is about to end: the phase stays
  kRuns,        // it runs
  kSuccess,     // the coordinator, and so the job, has completed
  kFailure,     // counts against backoffLimit
  kDisruption,  // ended by the cluster: a new attempt that costs no retry
  kTimedOut,    // a deadline of the job has passed: it fails even if retries are left
};

struct AttemptResult {
  AttemptOutcome outcome = AttemptOutcome::kWaits;
  std::string_view reason;          // of the last four outcomes: status.reason
  std::string message;              // for people
  std::optional<int> exit_code;     // of the main container, if its end was seen
  std::string termination_message;  // its termination message
  bool coordinator_ran = true;      // false: the job may never have run
  bool has_not_started = false;     // it ends for that: a stale cache would look the same
};

// Not for suspended jobs or jobs in a final phase.
AttemptResult judge_attempt(const Round& round);

}  // namespace nervex::controller
