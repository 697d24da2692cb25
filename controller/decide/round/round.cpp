#include "controller/decide/round/round.h"

#include <set>
#include <string_view>
#include <utility>

#include "job/names.h"

namespace nervex::controller {

namespace {

using Numbers = std::set<std::pair<std::string_view, int>>;

Numbers base_numbers(const gang::PodGroup& group) {
  Numbers numbers;
  const gang::Gang* base = gang::find_gang(group.spec, gang::kBaseGang);
  if (base == nullptr) return numbers;
  for (const auto& set : base->members) {
    for (const auto slot : set.slots) numbers.emplace(set.role, slot.ordinal);
  }
  return numbers;
}

}  // namespace

Placements planned_placements(const gang::PodGroupStatus& status) {
  Placements placements;
  for (const auto& gang : status.gangs) {
    if (!gang.planned && !gang.committed) continue;
    for (const auto& placement : gang.placements)
      placements[{placement.role, placement.slot}] = &placement;
  }
  return placements;
}

Placements all_placements(const gang::PodGroupStatus& status) {
  Placements placements;
  for (const auto& gang : status.gangs) {
    for (const auto& placement : gang.placements) {
      placements.try_emplace({placement.role, placement.slot}, &placement);
    }
  }
  return placements;
}

Wanted wanted_pods(const job::Job& job, const WantedSlots& slots, const gang::PodGroup& group,
                   const Placements& placements) {
  Wanted wanted;
  const Numbers base = base_numbers(group);
  for (const auto& slot : slots.all()) {
    const std::string_view role = to_string(slot.role);
    const bool is_of_base = base.count({role, slot.slot.ordinal}) != 0;
    const auto placement = placements.find({role, slot_id(slot.slot)});
    if (placement == placements.end()) {
      if (is_of_base && !slot.is_over) wanted.base_is_placed = false;
      continue;
    }
    wanted.pods.push_back({job::pod_name(job, slot.role, slot.slot), slot.role, slot.slot,
                           slot.entry(), placement->second, slot.is_over, is_of_base});
  }
  return wanted;
}

}  // namespace nervex::controller
