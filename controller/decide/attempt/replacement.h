// controller/decide/attempt/replacement.h - is a lost pod replaced, by a client or by the
// controller? Pure.
//
// A collector or learner that finished on its own is counted and kept; only the client that
// requested it may request another one. The controller replaces pods that were evicted, deleted,
// rejected by a node, or lost with one: docs/concepts/replacement.md has the table.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "controller/decide/actions.h"
#include "controller/decide/round/round.h"

namespace nervex::controller {

// The slots of pods that finished on their own, except coordinator and the job's own aggregator:
// those in the status and those seen now, sorted by role and slot.
std::vector<job::Status::Ended> ended_slots(const job::Status& status, const Attempt& attempt);

// Wanted collectors and learners without an unused name (job/slots.h).
std::vector<job::Replica> exhausted_replicas(const job::Job& job);

// Gives them the names of fresh ordinals, in status.continued, while there are any. They come from
// a range that only the controller uses, so no name is used twice even if nervex-server renames the
// same replica at the same time. Returns whether anything changed.
bool continue_exhausted(job::Job& job);

// The round is complete except for `losses` (make_round.h), has a PodGroup and no lost requests.
Losses replace_lost(const Round& round);

// The name of a new pod belongs to another object: its replica gets the next incarnation, which has
// another name. Does nothing for a fixed name (coordinator, the job's own aggregator), or a name of
// no wanted pod.
Actions pass_by_taken_name(const job::Job& job, const std::string& name);

// One event for all losses; none without a loss.
Actions lost_events(const Losses& losses);

// Sets the condition ReplacementLimitExceeded while a wanted replica has no name left, and Ready
// with it.
void report_replacement_limit(const Round& round, job::Status& status);

}  // namespace nervex::controller
