// controller/decide/attempt/queueing.h - may the attempt begin, when does the next one follow a
// failure, and what is the job's place in the queue?
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "controller/decide/round/round.h"
#include "gang/pod_group.h"
#include "job/types.h"

namespace nervex::controller {

// The user wants the job suspended, or it still is.
bool is_suspended(const job::Job& job);

// May objects of the attempt be created? The job is not suspended, its back-off is over, its name
// is valid for pods and services, and a deleted job of that name has no objects left.
bool may_begin(const Observed& seen);
bool is_backing_off(const Observed& seen);
// No PodGroup is created while a pod names a PriorityClass that does not exist: the API server
// would refuse that pod.
bool waits_for_priority_class(const Round& round);

// -- may a failed attempt be followed by another, and when?

// Failed attempts after which a job whose last attempt failed for that reason fails; nullopt:
// unlimited. As in a batch/v1 Job, except for the default: unlimited if the kubelet has restarted
// the coordinator (kCoordinatorRestarted: by a policy or a rule, which have no limit either); else
// 0 if the coordinator's restartPolicy is Never or unset, unlimited for other policies.
std::optional<int> backoff_limit(const job::Spec& spec, std::string_view reason);

// True if another attempt may follow `failed_attempts` failures, of which the last one had that
// reason.
bool may_retry(const job::Spec& spec, int failed_attempts, std::string_view reason);

// Delay after the n-th failure: `first`, doubling, at most 6 min.
std::chrono::milliseconds retry_delay(std::chrono::milliseconds first, int failed_attempts);

// Limits a back-off to the maximum of 6 min.
std::chrono::milliseconds at_most_longest(std::chrono::milliseconds delay);

// The attempt follows one that has ended, and not a suspension: the job keeps what it had.
bool follows_attempt(const job::Status& status);

// Corrects a time written by a wrong clock, for example another leader's: the end of a back-off
// more than twice the maximum ahead becomes now. For a status to be written.
void pass_over_wrong_clock(job::Status& status, SysTime now);

// -- which place in the queue does the job have?

// The job's place in the queue: status.queuedSince, or its initial value. Retries and requeues keep
// it, a resume ends it. For a job queued by a version without that field: the place in the current
// attempt's PodGroup; null: none.
SysTime place_in_queue(const job::Job& job, const gang::PodGroup* group);
// The place of a job seen for the first time: its creation. metadata.creationTimestamp has whole
// seconds; jobs of the same second are ordered by when the controller saw them. Those not seen
// within that second come last, by a hash of their UIDs, so that no namespace or name is preferred.
SysTime first_place_in_queue(const kube::Meta& meta, SysTime now);

}  // namespace nervex::controller
