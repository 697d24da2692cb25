// controller/wanted.h - which pods does the job want, and which of them have places?
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/observed.h"
#include "gang/pod_group.h"
#include "job/slots.h"
#include "job/types.h"

namespace nervex::controller {

// One pod that the job wants in its current attempt. Borrows from the job.
struct WantedSlot {
  job::Role role = job::Role::kCoordinator;
  job::Slot slot;
  job::Unit unit;  // the replica it is a pod of; of coordinator and aggregator the slot itself
  int part = 0;    // of a ddp-learner: which pod of its learner, from 0
  // It has finished, or another pod of its replica has: nobody makes its pod again.
  bool is_over = false;

  const job::RequestEntry* entry() const { return unit.entry; }  // null: not requested
};

// Coordinator, aggregator, then collectors and learners by ordinal. Borrows from the job.
class WantedSlots {
 public:
  WantedSlots(const job::Job& job, bool has_aggregator);

  const std::vector<WantedSlot>& all() const& { return slots_; }
  // The slot of that number, with whatever incarnation it has now; null: not wanted (any more).
  const WantedSlot* find(job::Role role, int ordinal) const;
  // The same, if it has this very incarnation.
  const WantedSlot* find(job::Role role, job::Slot slot) const;

 private:
  void add(WantedSlot slot);
  void add_units(const job::Job& job, job::Role role);
  void mark_over(const std::vector<job::Status::Ended>& ended);

  std::vector<WantedSlot> slots_;
  std::map<std::pair<job::Role, int>, std::size_t> by_number_;
};

// A wanted slot that has a place. Borrows from WantedSlots and the PodGroup.
struct WantedPod {
  std::string name;
  job::Role role = job::Role::kCollector;
  job::Slot slot;
  const job::RequestEntry* entry = nullptr;  // null: not requested
  const gang::Placement* place = nullptr;
  bool is_over = false;
  bool is_of_base = false;  // of the gang that the job starts with
};

// Of the gangs that are planned, by role and slot. Borrows from the PodGroup.
using Places = std::map<std::pair<std::string_view, gang::SlotId>, const gang::Placement*>;
Places places_of(const gang::PodGroupStatus& status);
// Of all gangs, whatever became of their plans.
Places all_places(const gang::PodGroupStatus& status);

struct Wanted {
  std::vector<WantedPod> pods;  // in the order of the slots
  bool base_is_placed = true;   // every slot of the base gang is among them
};

// The wanted slots that the plan has a place for. Cost: slots x log(slots).
Wanted wanted_pods(const job::Job& job, const WantedSlots& slots, const gang::PodGroup& group,
                   const Places& places);

}  // namespace nervex::controller
