// controller/decide/round.h - what every policy of one reconcile round reads, computed once. Pure.
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
  // As stored, but for what this round's status will say of slots: `ended`, `replaced`.
  job::Job job;
  const bool requests_lost;  // attempt.h
  WantedSlots slots;         // of `job`
  SlotNumbers backing_off;   // of `slots`: refusals.h
  Placements placements;     // of all gangs, whatever became of their plans
  // Names of pods that are wanted and not in `seen`, but were created. A stale cache looks the
  // same: live_checks.h asks the API server first.
  std::vector<std::string> vanished;
  Replacement losses;
};

}  // namespace nervex::controller
