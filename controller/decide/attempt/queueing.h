// controller/decide/attempt/queueing.h - may the attempt begin, when does the next one follow a
// failure, and which place in the queue does the job have?
#pragma once

#include <chrono>
#include <optional>

#include "base/clock.h"
#include "controller/decide/round/round.h"
#include "gang/pod_group.h"
#include "job/types.h"

namespace nervex::controller {

// The user wants the job suspended, or it still is.
bool is_suspended(const job::Job& job);

// May anything of the attempt be made: the job is not suspended, its back-off is over, its name can
// be that of pods and services, and no deleted job of that name has any left.
bool may_begin(const Observed& seen);
bool is_backing_off(const Observed& seen);
// Its PodGroup is not made as long as the API server would refuse one of its pods, which names a
// PriorityClass that does not exist.
bool waits_for_priority_class(const Round& round);

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

// -- which place in the queue does the job have?

// The job's place in the queue: status.queuedSince, or what that is at first. A retry or requeue
// keeps it, a resume ends it. What a version without that field has queued keeps what the current
// attempt's PodGroup says; null: there is none.
SysTime place_in_queue(const job::Job& job, const gang::PodGroup* group);
// Of a job that is seen for the first time: its creation. metadata.creationTimestamp has whole
// seconds; within that second jobs are ordered by when the controller saw them. Those that it did
// not see in that second come last, by a hash of their UIDs, so that no namespace or name is first.
SysTime first_place_in_queue(const kube::Meta& meta, SysTime now);

}  // namespace nervex::controller
