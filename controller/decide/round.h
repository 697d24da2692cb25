// controller/decide/round.h - what every policy of one reconcile round reads, computed once, and
// what must be read live first. Pure.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/decide/attempt.h"
#include "controller/decide/replacement.h"

namespace nervex::controller {

// Its parts borrow from one another and from `seen`, which must outlive it: neither copied nor
// moved. Cost: slots + pods + placements, each with log.
struct Round {
  explicit Round(const Observed& seen);
  Round(const Observed& seen, Attempt attempt);  // which is not looked for in `seen`
  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;

  const Observed& seen;
  const Attempt attempt;
  // As stored, but for what this round's status will say of slots and Services: `ended`,
  // `replaced`, `continued`, `services`, `max_reservation_seconds`.
  job::Job job;
  const bool requests_lost;  // attempt.h
  WantedSlots slots;         // of `job`
  SlotNumbers backing_off;   // of `slots`: creation_failures.h
  Placements placements;     // of all gangs, whatever became of their plans
  // Names of pods that are wanted and not in `seen`, but were created. A stale cache looks the
  // same: live_checks() asks the API server first.
  std::vector<std::string> vanished;
  Replacement losses;
};

// -- what must be read from the API server before the round may decide, since a stale cache would
// look the same? observe.h reads it.

// In this order; the first that shows the attempt's end makes the others unnecessary.
struct LiveChecks {
  bool pod_group = false;             // the attempt ran, and its PodGroup seems to be deleted
  bool coordinator = false;           // the attempt ran, and its coordinator seems to be deleted
  std::vector<std::string> vanished;  // pods that would be replaced
  bool stale_objects = false;         // something would be deleted as left over
  bool given_up = false;              // a gang that could not be healed would be taken back
  bool operator==(const LiveChecks&) const = default;
};

// None for a job that has not begun, has ended or is being deleted. Nearly always all are empty.
LiveChecks live_checks(const Round& round);

// Is it the coordinator's pod of that PodGroup's attempt?
bool is_coordinator_of(const kube::Pod& pod, const gang::PodGroup& group);

}  // namespace nervex::controller
