// controller/decide/round/round.h - which facts do all policies of one reconcile round read?
// make_round() computes them once.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/decide/round/attempt.h"
#include "controller/decide/round/observed.h"
#include "gang/pod_group.h"
#include "job/types.h"
#include "job/wanted_slots.h"

namespace nervex::controller {

using job::WantedSlot;
using job::WantedSlots;

// -- which wanted pods have a placement?

// A wanted slot with a placement. Borrows from WantedSlots and the PodGroup.
struct WantedPod {
  std::string name;
  job::Role role = job::Role::kCollector;
  job::Slot slot;
  const job::RequestEntry* entry = nullptr;  // null: not requested
  const gang::Placement* placement = nullptr;
  bool is_over = false;
  bool is_of_base = false;  // of the base gang
};

// Placements of planned gangs, by role and slot. Borrows from the PodGroup.
using Placements = std::map<gang::SlotKey, const gang::Placement*>;
Placements planned_placements(const gang::PodGroupStatus& status);
// Includes gangs without a current plan.
Placements all_placements(const gang::PodGroupStatus& status);

struct Wanted {
  std::vector<WantedPod> pods;  // in the order of the slots
  bool base_is_placed = true;   // every slot of the base gang has a placement
};

// The wanted slots with a placement. Cost: slots x log(slots).
Wanted wanted_pods(const job::Job& job, const WantedSlots& slots, const gang::PodGroup& group,
                   const Placements& placements);

// -- the facts

// Lost pods, and whether they are replaced.
struct Losses {
  // The new status.replaced, to be written before any replacement: one entry per replica, with the
  // incarnation after the lost one, sorted. Equal to the stored one if nothing is new.
  std::vector<job::Status::Replaced> replaced;
  std::vector<std::string> lost;  // for people: the pods that are now replaced, and why
  // Some pods are replaced only then: each replica waits longer each time, so that a node that
  // rejects everything does not use up its incarnations.
  std::optional<std::chrono::seconds> look_again;
};

// Its parts borrow from one another and from `seen`, which must outlive it. Moving keeps them
// valid.
struct Round {
  Round(const Observed& observed, Attempt current)
      : seen(observed), attempt(std::move(current)), job(observed.job) {}
  Round(Round&&) = default;

  const Observed& seen;
  Attempt attempt;
  // As stored, except what this round's status will say of slots and Services: `ended`, `replaced`,
  // `continued`, `services`, `max_reservation_seconds`.
  job::Job job;
  bool requests_lost = false;  // attempt.h
  WantedSlots slots;           // of `job`
  SlotNumbers backing_off;     // of `slots`: creation_failures.h
  Placements placements;       // of all gangs, including those without a current plan
  // Wanted pods that were created but are not in `seen`. A stale cache looks the same:
  // live_checks() asks the API server first.
  std::vector<std::string> vanished;
  Losses losses;
  // The job's first PodGroup, or one that should ask for more pods than it does, and
  // Observed::group_pods has no space for them: it is not created, or gets no new gangs.
  bool exceeds_pod_limit = false;
};

// The job was begun and has not ended.
inline bool is_in_progress(const job::Status& status) {
  return status.phase != job::Phase::kNone && !is_final(status.phase);
}

}  // namespace nervex::controller
