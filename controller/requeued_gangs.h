// controller/requeued_gangs.h - what becomes of a gang that grows the job when the API server
// refuses one of its pods for good? It is taken back as a whole, and tried again later. Pure.
//
// A gang starts whole or not at all, also the ones that come after the base gang: what one request
// asked for, or what was added to the base replicas of a running job. Otherwise the pods that could
// be created would hold their GPUs and wait for those that could not. (The base gang's refusal ends
// the attempt: turn.h.)
//
// Taking back is one status write: status.requeuedGangs names the gang with the time of the next
// try, and the incarnations of the slots that have bound pods are raised. Until that time the
// gang's pods are deleted and its slots stay out of the PodGroup, so their capacity is free for
// others.
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

// The gang waits for its next try: it has no slots in the PodGroup, and no pod of it is created.
bool is_backing_off(const Observed& seen, std::string_view gang);

// The slots of the gangs that back off, by role and ordinal: no pod of theirs stays, and none that
// goes was lost.
std::set<std::pair<job::Role, int>> slots_backing_off(const Observed& seen, const Attempt& attempt,
                                                      const WantedSlots& slots);

// Until the first gang that backs off may be tried again; nullopt: none does.
std::optional<std::chrono::milliseconds> time_until_requeue(const Observed& seen);

// What to write when the creation of the object `name` (a pod, or its Service) was refused in these
// words: the gang it belongs to is taken back. Empty if that is not called for: the name is of the
// base gang or of nothing that is wanted, or the gang has been whole before, and a pod that
// replaces one of its pods is refused (what runs goes on; docs/replacement.md). The gang of a
// single multi-GPU learner is taken back even then: no part of such a learner is of any use.
Actions requeue_gang_of(const Observed& seen, const Attempt& attempt, std::string_view name,
                        const std::string& words);

// status.requeuedGangs without the gangs that are whole by now, or not wanted any more.
std::vector<job::Status::RequeuedGang> still_requeued(const Observed& seen, const Attempt& attempt,
                                                      const WantedSlots& slots);

}  // namespace nervex::controller
