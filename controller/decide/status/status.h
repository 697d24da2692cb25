// controller/decide/status/status.h - what is the job's status, judged by its objects?
#pragma once

#include "controller/decide/attempt/result.h"
#include "controller/decide/round/round.h"
#include "job/types.h"

namespace nervex::controller {

// Of a job without a status: Created, attempt 1, and a place in the queue, which is the PodGroup's
// if there is one.
job::Status first_status(const Observed& seen);

// The status that follows from the objects while the attempt continues. Equal to the stored one if
// nothing has changed. `nothing_to_create`: every object that may exist does.
job::Status next_status(const Round& round, bool nothing_to_create);

// The change only informs users: pods that start or are ready, a gang that is placed, its position
// in the queue, numbers in a message. Such a write may be delayed and combined. All other changes
// are written at once: a phase, an attempt, an end, a condition's status, a reason to wait.
bool only_informs(const job::Status& before, const job::Status& after);

// The job is queued or starts, and there is nothing else to say of it: its PodGroup shows as much.
bool is_on_its_way(const job::Status& status);

// May the write of `after` be delayed? If it only informs. The first status: if, in addition, the
// job is on its way.
bool may_be_delayed(const Observed& seen, const job::Status& after);

// For a job that ends with that result, Succeeded or Failed, with its last counts. `status`: as
// stored, with what is known of the attempt's end.
job::Status final_status(const Round& round, const AttemptResult& result, job::Status status);

}  // namespace nervex::controller
