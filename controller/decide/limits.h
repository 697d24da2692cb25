// controller/decide/limits.h - which of the job's time limits has passed, and when is the next one
// due?
//
// All follow from times in the status, so that a restart of the controller loses none of them.
#pragma once

#include <chrono>
#include <optional>

#include "controller/decide/attempt_transition.h"
#include "controller/decide/round.h"
#include "job/types.h"

namespace nervex::controller {

// activeDeadlineSeconds of the time that the job was active (activity.h); scheduleTimeoutSeconds
// from the later of waitingSince and nextAttemptTime until every pod of the base gang is bound:
// kTimedOut. startTimeoutSeconds, or the controller's default, from activeSince until all pods of
// the base gang run: kFailure. nullopt: none has passed. Not for suspended jobs.
std::optional<AttemptResult> passed_limit(const Round& round);

// Until the first of these, or the end of the back-off, is due. nullopt: none is to come.
std::optional<std::chrono::milliseconds> time_until_limit(const Round& round);

// May anything of the attempt be made: the job is not suspended, its back-off is over, its name can
// be that of pods and services, and no deleted job of that name has any left.
bool may_begin(const Observed& seen);
bool is_backing_off(const Observed& seen);
// Its PodGroup is not made as long as the API server would refuse one of its pods, which names a
// PriorityClass that does not exist.
bool waits_for_priority_class(const Round& round);

// When a finished job is to be deleted; nullopt: never. For jobs in a final phase.
std::optional<SysTime> time_to_delete(const job::Job& job);

// -- may a failed attempt be followed by another, and when?

// Attempts that may fail before the job does; nullopt: any number. As batch/v1 Job has it, but for
// the default: 0 if the coordinator's restartPolicy is Never or unset, else unlimited.
std::optional<int> backoff_limit(const job::Spec& spec);

// True if after `failed_attempts` failures (this one counted) another attempt may follow.
bool may_retry(const job::Spec& spec, int failed_attempts);

// From the n-th failure to the next attempt: `first`, doubling, at most 6 min.
std::chrono::milliseconds retry_delay(std::chrono::milliseconds first, int failed_attempts);

// No back-off is longer: 6 min.
std::chrono::milliseconds at_most_longest(std::chrono::milliseconds delay);

// What a clock that was wrong has written, another leader's say, holds nothing up: the end of a
// back-off that is further away than twice the longest becomes now. For a status to be written.
void pass_over_wrong_clock(job::Status& status, SysTime now);

}  // namespace nervex::controller
