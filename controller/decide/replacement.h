// controller/decide/replacement.h - who replaces a pod that is no more: nobody, a client, or we?
// Pure.
//
// A collector or learner that has finished by itself is counted and kept; only who asked for it may
// ask for another one. What was taken away from it (evicted, deleted, rejected by a node, lost with
// one) is replaced by the controller: docs/concepts/replacement.md has the table.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "controller/decide/attempt.h"
#include "controller/decide/reconcile.h"

namespace nervex::controller {

// The slots of pods that have finished by themselves, but for coordinator and the job's own
// aggregator: those that the status knows and those seen now, sorted by role and slot.
std::vector<job::Status::Ended> ended_slots(const job::Status& status, const Attempt& attempt);

struct Replacement {
  // What status.replaced has to say before any of it is done: one entry per replica, with the
  // incarnation after the one that was seen, sorted. Equal to what it says if nothing is new.
  std::vector<job::Status::Replaced> replaced;
  std::vector<std::string> lost;  // for people: the pods that are replaced from now on, and why
  // Some pods are replaced only then: each replica waits longer than the time before, so that a
  // node which rejects everything does not use up its incarnations.
  std::optional<std::chrono::seconds> look_again;
};

// Collectors and learners that are wanted and have no name left (job/slots.h).
std::vector<job::Replica> exhausted_replicas(const job::Job& job);

// Gives these the names of fresh ordinals, in status.continued, as far as there are any. Those come
// from a range that the controller alone gives out: whatever nervex-server does with the same
// replica at the same time, no name is used twice. Returns whether it changed anything.
bool continue_exhausted(job::Job& job);

// Of a round that is complete but for `losses` (round.h), with a PodGroup and no lost requests.
Replacement replace_lost(const Round& round);

// The name that a pod of the job would get is held by an object of somebody else: its replica goes
// on to the next incarnation, which has another name. Nothing if it is a fixed name (coordinator,
// the job's own aggregator), or no pod that is wanted has it.
Actions pass_by_taken_name(const job::Job& job, const std::string& name);

// One event for all of them; none if nothing was lost.
Actions lost_events(const Replacement& replacement);

// Sets the condition ReplacementLimitExceeded while a replica that is wanted has no name left, and
// Ready with it.
void report_replacement_limit(const Round& round, job::Status& status);

}  // namespace nervex::controller
