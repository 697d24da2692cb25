// controller/decide/attempt/creation_failures.h - what happens to an added gang when one of its
// pods cannot be created? The whole gang is requeued. Pure.
//
// Gangs that are added after the base gang also start whole or not at all: those of a request, or
// of base replicas added to a running job. Otherwise the pods that were created would hold their
// GPUs and wait for the others. (A failure of the base gang ends the attempt: transition.h.) A gang
// that was whole is not requeued: the pod only replaces another one, and the rest keeps running
// (docs/concepts/replacement.md). Exception: a multi-GPU learner is useless in part, so it is
// requeued alone.
//
// This is about permanent failures (is_definite): the API server's answer will not change by
// itself, because of a quota, an admission policy or an invalid object.
//
// A requeue is one status write: status.requeuedGangs names the gang or its learner and the time of
// the next try, and the incarnations of slots with bound pods are raised. Until that time the pods
// are deleted and their slots stay out of the PodGroup, so that others can use the capacity.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/decide/actions.h"
#include "controller/decide/round/observed.h"
#include "controller/decide/round/round.h"

namespace nervex::controller {

// Slots that wait for their next try: they are not in the PodGroup, their pods are deleted and not
// created, and a deleted pod does not count as lost.
SlotNumbers slots_backing_off(const Observed& seen, const Attempt& attempt,
                              const WantedSlots& slots);

// Until the first of them may be tried again; nullopt: none waits.
std::optional<std::chrono::milliseconds> time_until_requeue(const Round& round);

// What to write after the creation of object `name` (a pod, or its Service) failed permanently with
// this message. Empty if nothing is to be requeued, or the name belongs to the base gang or to no
// wanted object.
Actions requeue_failed_gang(const Round& round, std::string_view name, const std::string& message);

// What to write when the extender has released an added gang, whose lost pods could not be replaced
// in time: it is requeued as above, a multi-GPU learner alone. Empty if there is none.
Actions requeue_released_gang(const Round& round);

// While starts of the gang fail, since its pods are refused by the API server or rejected by
// kubelets: when it may preempt others for its next try. For a base gang the pause is as long as
// that has lasted, its time in the queue included; for others it doubles. It is between one minute
// and an hour. nullopt: at once.
std::optional<SysTime> find_preempt_after(const job::Status& status, const gang::Gang& gang);

// For people: "request-7", "learner 4096 of request-7".
std::string describe(const job::Status::RequeuedGang& requeued);

// status.requeuedGangs without gangs that are whole by now or no longer wanted.
std::vector<job::Status::RequeuedGang> still_requeued(const Round& round);

// -- how does a user learn that needed objects cannot be created?

// Reports a write that keeps failing: an event, and the condition PodsCreated=False with `reason`,
// kFailedCreate or kFailedDelete, and the API server's message. Empty if the job already says so
// (numbers aside, which may change with each try), so that retries cost no writes. reconcile.h ends
// the condition when nothing is left to write.
Actions report_failed_write(const job::Job& job, std::string_view reason,
                            const std::string& message, SysTime now);

// The same request will fail again: it is invalid or forbidden.
bool is_definite(Code code);

// Is a failure worth a report, after `failures_before` consecutive failed rounds? A permanent one:
// at once. One that may pass: the second time. A stale cache, which is expected: only if it does
// not catch up.
bool is_worth_reporting(Code code, int failures_before);

}  // namespace nervex::controller
