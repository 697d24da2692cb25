// controller/phase.h - how does an attempt go, judged by its coordinator's main container?
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/attempt.h"

namespace nervex::controller {

enum class AttemptOutcome {
  kWaits,      // the coordinator does not run, or is about to go: the phase stays as it is
  kRuns,       // it runs
  kSucceeded,  // it has completed: the job has
  kFailed,     // counts against backoffLimit
  kDisrupted,  // taken back by the cluster: a new attempt, which costs no retry
  kTimedOut,   // a deadline of the job itself has passed: it has failed, whatever is left
};

struct Verdict {
  AttemptOutcome outcome = AttemptOutcome::kWaits;
  std::string_view reason;          // of the last four: status.reason
  std::string message;              // for people
  std::optional<int> exit_code;     // of the main container, if its end was seen
  std::string termination_message;  // its termination message
};

// Not for jobs in a final phase, nor for suspended ones.
Verdict judge_attempt(const Observed& seen, const Attempt& attempt);

}  // namespace nervex::controller
