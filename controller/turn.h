// controller/turn.h - does the attempt end here, or the job?
//
// An attempt ends in one status write: the next attempt's number, what is known of the end, and
// nothing of what belonged to the old attempt. All else follows from that number: objects of other
// attempts are strays (strays.h), and the next PodGroup is made when the job may begin (limits.h).
#pragma once

#include <optional>

#include "controller/actions.h"
#include "controller/attempt.h"

namespace nervex::controller {

struct Turn {
  job::Status status;  // final, or of the next attempt, or of a job that is resumed
  RecordEvent event;
};

// nullopt: the attempt goes on. Else the status is to be written before anything else is done.
std::optional<Turn> turn_of(const Observed& seen, const Attempt& attempt);

}  // namespace nervex::controller
