// controller/decide/attempt/replacement.h - is a pod that is gone replaced, by a client or by the
// controller? Pure.
//
// A collector or learner that has finished by itself is counted and kept; only the client that
// requested it may request another one. What was taken away from it (evicted, deleted, rejected by
// a node, lost with one) is replaced by the controller: docs/concepts/replacement.md has the table.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "controller/decide/actions.h"
#include "controller/decide/round/round.h"

namespace nervex::controller {

// The slots of pods that have finished by themselves, but for coordinator and the job's own
// aggregator: those that the status knows and those seen now, sorted by role and slot.
std::vector<job::Status::Ended> ended_slots(const job::Status& status, const Attempt& attempt);

// Collectors and learners that are wanted and have no name left (job/slots.h).
std::vector<job::Replica> exhausted_replicas(const job::Job& job);

// Gives these the names of fresh ordinals, in status.continued, as far as there are any. They come
// from a range that only the controller uses, so no name is used twice even if nervex-server
// renames the same replica at the same time. Returns whether it changed anything.
bool continue_exhausted(job::Job& job);

// Of a round that is complete but for `losses` (make_round.h), with a PodGroup and no lost
// requests.
Losses replace_lost(const Round& round);

// The name that a pod of the job would get belongs to another object: its replica goes
// on to the next incarnation, which has another name. Nothing if it is a fixed name (coordinator,
// the job's own aggregator), or no pod that is wanted has it.
Actions pass_by_taken_name(const job::Job& job, const std::string& name);

// One event for all of them; none if nothing was lost.
Actions lost_events(const Losses& losses);

// Sets the condition ReplacementLimitExceeded while a replica that is wanted has no name left, and
// Ready with it.
void report_replacement_limit(const Round& round, job::Status& status);

}  // namespace nervex::controller
