// controller/decide/attempt/creation_failures.h - what becomes of a gang that grows the job when
// one of its pods cannot be created? It is taken back as a whole, and tried again later. Pure.
//
// A gang starts whole or not at all, also the ones that come after the base gang: what one request
// asked for, or what was added to the base replicas of a running job. Otherwise the pods that could
// be created would hold their GPUs and wait for those that could not. (A failure of the base gang
// ends the attempt: transition.h.) Of a gang that has been whole nothing is taken back: the
// pod only replaces another one, and the rest runs on (docs/concepts/replacement.md). Exception: a
// multi-GPU learner is useless in part, so it is requeued alone.
//
// This is about failures for good (is_definite): the API server's answer will not change by itself,
// because of a quota, an admission policy or a wrong object.
//
// Taking back is one status write: status.requeuedGangs names the gang, or its learner, with the
// time of the next try, and the incarnations of the slots that have bound pods are raised. Until
// that time the pods are deleted and their slots stay out of the PodGroup, so their capacity is
// free for others.
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

// The slots of what waits for its next try: they are not in the PodGroup, no pod of theirs is
// created or stays, and none that goes was lost.
SlotNumbers slots_backing_off(const Observed& seen, const Attempt& attempt,
                              const WantedSlots& slots);

// Until the first of them may be tried again; nullopt: none waits.
std::optional<std::chrono::milliseconds> time_until_requeue(const Round& round);

// What to write when the creation of the object `name` (a pod, or its Service) failed for good with
// this message. Empty if nothing is to be taken back; so, too, if the name is of the base gang or
// of nothing that is wanted.
Actions requeue_failed_gang(const Round& round, std::string_view name, const std::string& message);

// What to write when a gang that grows the job could not be made whole again within the healing
// deadline: it is taken back as above, a multi-GPU learner alone. Empty if there is none.
Actions requeue_gang_not_healed(const Round& round);

// For people: "request-7", "learner 4096 of request-7".
std::string describe(const job::Status::RequeuedGang& requeued);

// status.requeuedGangs without what is whole by now, or not wanted any more.
std::vector<job::Status::RequeuedGang> still_requeued(const Round& round);

// -- how does a user learn that what the job needs cannot be created?

// What to write about a write that keeps failing: the condition PodsCreated=False with `reason`,
// kFailedCreate or kFailedDelete, and the API's own words, and an event. None if the job says so
// already (but for numbers, which may change with each try), so that trying again costs no writes.
// reconcile.h ends the condition when nothing is left to write.
Actions report_failed_write(const job::Job& job, std::string_view reason,
                            const std::string& message, SysTime now);

// The same request will fail again: what it asks for is wrong, or not allowed.
bool is_definite(Code code);

// Is a failure worth a report, after so many failed rounds in a row before this one? At once if
// the answer will be the same again. What may pass by itself, the second time; a cache that lags
// behind, which is part of every controller's day, only when it does not catch up.
bool is_worth_reporting(Code code, int failures_before);

}  // namespace nervex::controller
