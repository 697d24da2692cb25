// controller/requeued_gangs.h - what becomes of a gang that grows the job when the API server
// refuses one of its pods for good? It is taken back as a whole, and tried again later. Pure.
//
// A gang starts whole or not at all, also the ones that come after the base gang: what one request
// asked for, or what was added to the base replicas of a running job. Otherwise the pods that could
// be created would hold their GPUs and wait for those that could not. (The base gang's refusal ends
// the attempt: attempt_transition.h.) Of a gang that has been whole a refused pod takes nothing
// back, it only replaces another one and what runs goes on (docs/replacement.md); but for a
// multi-GPU learner, of which no part is of any use: it is taken back alone.
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

#include "controller/actions.h"
#include "controller/attempt.h"
#include "controller/wanted.h"

namespace nervex::controller {

// By role and ordinal.
using SlotNumbers = std::set<std::pair<job::Role, int>>;

// The slots of what waits for its next try: they are not in the PodGroup, no pod of theirs is
// created or stays, and none that goes was lost.
SlotNumbers slots_backing_off(const Observed& seen, const Attempt& attempt,
                              const WantedSlots& slots);

// Until the first of them may be tried again; nullopt: none waits.
std::optional<std::chrono::milliseconds> time_until_requeue(const Observed& seen);

// What to write when the creation of the object `name` (a pod, or its Service) was refused in these
// words. Empty if nothing is to be taken back; so, too, if the name is of the base gang or of
// nothing that is wanted.
Actions requeue_gang_of(const Observed& seen, const Attempt& attempt, std::string_view name,
                        const std::string& message);

// For people: "request-7", "learner 4096 of request-7".
std::string describe(const job::Status::RequeuedGang& requeued);

// status.requeuedGangs without what is whole by now, or not wanted any more.
std::vector<job::Status::RequeuedGang> still_requeued(const Observed& seen, const Attempt& attempt,
                                                      const WantedSlots& slots);

}  // namespace nervex::controller
