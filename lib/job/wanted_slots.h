// job/wanted_slots.h - which pods does a job want in its current attempt? Pure.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "job/slots.h"
#include "job/types.h"

namespace nervex::job {

// One pod that the job wants in its current attempt. Borrows from the job.
struct WantedSlot {
  Role role = Role::kCoordinator;
  Slot slot;
  Replica replica;  // the pod's replica; for coordinator and aggregator the slot itself
  int part = 0;     // of a ddp-learner: index of the pod in its learner, from 0
  // This pod or another pod of its replica has finished: the pod is not created again.
  bool is_over = false;

  const RequestEntry* entry() const { return replica.entry; }  // null: not requested
};

// Coordinator, aggregator, then collectors and learners by ordinal. Borrows from the job.
class WantedSlots {
 public:
  WantedSlots() = default;
  WantedSlots(const Job& job, bool has_aggregator);

  // Sets is_over for exactly the slots whose replica has a pod among `ended`.
  void mark_over(const std::vector<Status::Ended>& ended);

  const std::vector<WantedSlot>& all() const& { return slots_; }
  // The slot of that number in its current incarnation; null: not wanted.
  const WantedSlot* find(Role role, int ordinal) const;
  // The same, if it has exactly this incarnation.
  const WantedSlot* find(Role role, Slot slot) const;

 private:
  void add(const WantedSlot& slot);
  void add_replicas(const Job& job, Role role);
  std::vector<WantedSlot> slots_;
  std::map<std::pair<Role, int>, std::size_t> by_number_;
};

}  // namespace nervex::job
