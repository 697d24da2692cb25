#include "controller/wanted.h"

#include "controller/attempt.h"
#include "job/names.h"

namespace nervex::controller {
namespace {

using job::Role;

using Numbers = std::set<std::pair<std::string_view, int>>;

Numbers numbers_of_base(const gang::PodGroup& group) {
  Numbers numbers;
  for (const auto& set : group.spec.members) {
    if (set.gang != gang::kBaseGang) continue;
    for (const auto slot : set.slots) numbers.emplace(set.role, slot.ordinal);
  }
  return numbers;
}

}  // namespace

WantedSlots::WantedSlots(const job::Job& job, bool has_aggregator) {
  const auto add_single = [&](Role role) {
    const job::Slot slot = job::current_slot(job, role, {});
    if (slot.incarnation > job::kMaxIncarnation) return;  // used up: replacement.h
    add({role, slot, {role, slot, nullptr}, 0, false});
  };
  // A coordinator has no next incarnation: a lost one is the end of the attempt.
  add({Role::kCoordinator, {}, {Role::kCoordinator, {}, nullptr}, 0, false});
  if (has_aggregator) add_single(Role::kAggregator);
  add_units(job, Role::kCollector);
  add_units(job, Role::kLearner);
  mark_over(job.status.ended);
}

void WantedSlots::add(WantedSlot slot) {
  if (by_number_.emplace(std::pair(slot.role, slot.slot.ordinal), slots_.size()).second) {
    slots_.push_back(std::move(slot));
  }
}

void WantedSlots::add_units(const job::Job& job, Role role) {
  for (const job::Unit& unit : job::wanted_units(job, role)) {
    for (const job::UnitPod& pod : job::pods_of(unit)) {
      add({pod.role, pod.slot, unit, pod.slot.ordinal - unit.slot.ordinal, false});
    }
  }
}

void WantedSlots::mark_over(const std::vector<job::Status::Ended>& ended) {
  std::set<std::pair<Role, job::Slot>> units;
  for (const auto& of : ended) {
    if (const auto* slot = find(of.role, of.slot)) units.emplace(slot->unit.role, slot->unit.slot);
  }
  for (auto& slot : slots_) slot.is_over = units.count({slot.unit.role, slot.unit.slot}) != 0;
}

const WantedSlot* WantedSlots::find(Role role, int ordinal) const {
  const auto at = by_number_.find({role, ordinal});
  return at == by_number_.end() ? nullptr : &slots_[at->second];
}

const WantedSlot* WantedSlots::find(Role role, job::Slot slot) const {
  const WantedSlot* found = find(role, slot.ordinal);
  return found != nullptr && found->slot == slot ? found : nullptr;
}

Places places_of(const gang::PodGroupStatus& status) {
  Places places;
  for (const auto& of : status.gangs) {
    if (!of.planned && !of.committed) continue;
    for (const auto& place : of.placements) places[{place.role, place.slot}] = &place;
  }
  return places;
}

Places all_places(const gang::PodGroupStatus& status) {
  Places places;
  for (const auto& of : status.gangs) {
    for (const auto& place : of.placements) {
      places.try_emplace({place.role, place.slot}, &place);
    }
  }
  return places;
}

Wanted wanted_pods(const job::Job& job, const WantedSlots& slots, const gang::PodGroup& group,
                   const Places& places) {
  Wanted wanted;
  const Numbers base = numbers_of_base(group);
  for (const auto& slot : slots.all()) {
    const std::string_view role = to_string(slot.role);
    const bool is_of_base = base.count({role, slot.slot.ordinal}) != 0;
    const auto place = places.find({role, slot_id(slot.slot)});
    if (place == places.end()) {
      if (is_of_base && !slot.is_over) wanted.base_is_placed = false;
      continue;
    }
    wanted.pods.push_back({job::pod_name(job, slot.role, slot.slot), slot.role, slot.slot,
                           slot.entry(), place->second, slot.is_over, is_of_base});
  }
  return wanted;
}

}  // namespace nervex::controller
