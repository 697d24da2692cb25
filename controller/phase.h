// controller/phase.h - which phase is a job in? It follows the coordinator's main container.
#pragma once

#include <string>
#include <string_view>

#include "controller/attempt.h"

namespace nervex::controller {

struct PhaseVerdict {
  job::Phase phase = job::Phase::kCreated;
  std::string_view reason;  // of a final phase: status.reason
  std::string message;      // of a final phase: for people
};

// Never goes back: from Running only to a final phase. Not for jobs that are in one.
PhaseVerdict judge_phase(const Observed& seen, const Attempt& attempt);

}  // namespace nervex::controller
