#include "job/wanted_slots.h"

#include <set>

namespace nervex::job {

WantedSlots::WantedSlots(const Job& job, bool has_aggregator) {
  const auto add_single = [&](Role role) {
    const Slot slot = current_slot(job, role, {});
    add({role, slot, {role, slot, nullptr}, 0, false});
  };
  // A coordinator has no next incarnation: losing it ends the attempt.
  add({Role::kCoordinator, {}, {Role::kCoordinator, {}, nullptr}, 0, false});
  if (has_aggregator) add_single(Role::kAggregator);
  add_replicas(job, Role::kCollector);
  add_replicas(job, Role::kLearner);
  mark_over(job.status.ended);
}

void WantedSlots::add(const WantedSlot& slot) {
  if (by_number_.emplace(std::pair(slot.role, slot.slot.ordinal), slots_.size()).second) {
    slots_.push_back(slot);
  }
}

void WantedSlots::add_replicas(const Job& job, Role role) {
  for (const Replica& replica : wanted_replicas(job, role)) {
    for (const ReplicaPod& pod : replica_pods(replica)) {
      add({pod.role, pod.slot, replica, pod.slot.ordinal - replica.slot.ordinal, false});
    }
  }
}

void WantedSlots::mark_over(const std::vector<Status::Ended>& ended) {
  std::set<std::pair<Role, Slot>> replicas;
  for (const auto& finished : ended) {
    const auto* slot = find(finished.role, finished.slot);
    if (slot != nullptr) replicas.emplace(slot->replica.role, slot->replica.slot);
  }
  for (auto& slot : slots_) {
    slot.is_over = replicas.count({slot.replica.role, slot.replica.slot}) != 0;
  }
}

const WantedSlot* WantedSlots::find(Role role, int ordinal) const {
  const auto at = by_number_.find({role, ordinal});
  return at == by_number_.end() ? nullptr : &slots_[at->second];
}

const WantedSlot* WantedSlots::find(Role role, Slot slot) const {
  const WantedSlot* found = find(role, slot.ordinal);
  return found != nullptr && found->slot == slot ? found : nullptr;
}

}  // namespace nervex::job
