// controller/decide/attempt/result.h - how does the attempt go, judged by its coordinator's main
// container?
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/decide/round/round.h"

namespace nervex::controller {

enum class AttemptOutcome {
  kWaits,       // the coordinator does not run, or is about to go: the phase stays as it is
  kRuns,        // it runs
  kSuccess,     // it has completed: the job has
  kFailure,     // counts against backoffLimit
  kDisruption,  // taken back by the cluster: a new attempt, which costs no retry
  kTimedOut,    // a deadline of the job itself has passed: it has failed, with or without retries
                // left
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

}  // namespace nervex::controller
