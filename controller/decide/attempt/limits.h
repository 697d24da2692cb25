// controller/decide/attempt/limits.h - which of the job's time limits has passed, and when is the
// next one due?
//
// All follow from times in the status, so they survive a restart of the controller.
#pragma once

#include <chrono>
#include <optional>

#include "controller/decide/attempt/result.h"
#include "controller/decide/round/round.h"
#include "job/types.h"

namespace nervex::controller {

// The smaller of activeDeadlineSeconds and the queue's maxRuntimeSeconds applies to the time that
// the job was active (activity.h), in this attempt from when its base gang got its nodes:
// kTimedOut, with a message that says which one; scheduleTimeoutSeconds from the later of
// waitingSince and nextAttemptTime until the whole base gang was bound once: kTimedOut.
// startTimeoutSeconds, or the controller's default, from activeSince until all pods of the base
// gang run: kFailure. nullopt: no limit has passed. Not for suspended jobs.
std::optional<AttemptResult> passed_limit(const Round& round);

// When the activeDeadlineSeconds of a job that has ended would have passed if it still ran: until
// then cleanPodPolicy None keeps its unfinished pods. nullopt: it has none.
std::optional<SysTime> deadline_after_end(const job::Job& job);

// Until the first of these limits, or the end of the back-off. nullopt: none.
std::optional<std::chrono::milliseconds> time_until_limit(const Round& round);

// reservationSeconds have passed since the attempt's coordinator started to run.
bool has_reservation_ended(const Round& round);
// Until then, if the PodGroup reserves capacity; nullopt: it does not, or the time has not begun.
std::optional<std::chrono::milliseconds> time_until_reservation_ends(const Round& round);

// When a finished job is to be deleted; nullopt: never. For jobs in a final phase.
std::optional<SysTime> time_to_delete(const job::Job& job);

}  // namespace nervex::controller
