#include "planner/facts/settled.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace nervex::planner {
namespace {

// Each gang has as many placements as slots, and no other has any.
bool has_what_is_wanted(const gang::PodGroup& group) {
  std::size_t slots = 0;
  std::size_t placements = 0;
  // Hashed, as this runs for each group in each cycle.
  std::unordered_map<std::string_view, std::size_t> slots_by_gang;
  for (const gang::Gang& gang : group.spec.gangs) {
    std::size_t& in_gang = slots_by_gang[gang.name];
    for (const gang::MemberSet& set : gang.members) in_gang += set.slots.size();
    slots += in_gang;
  }
  for (const gang::GangStatus& gang : group.status.gangs) {
    const auto asked = slots_by_gang.find(gang.name);
    if (gang.placements.size() != (asked == slots_by_gang.end() ? 0 : asked->second)) return false;
    placements += gang.placements.size();
  }
  return slots == placements;
}

}  // namespace

bool reserves_capacity(const gang::PodGroup& group) {
  const auto sets = gang::all_sets(group.spec.gangs);
  return std::any_of(sets.begin(), sets.end(),
                     [](const auto& set) { return set.reserved_pods > 0; }) ||
         std::any_of(group.status.gangs.begin(), group.status.gangs.end(),
                     [](const auto& gang) { return !gang.reserved.empty(); });
}

bool is_settled(const gang::PodGroup& group, const std::vector<gang::EnlargedSet>& enlarged) {
  return enlarged == group.status.enlarged &&
         group.status.observed_generation == group.meta.generation && has_what_is_wanted(group) &&
         !reserves_capacity(group) &&
         std::all_of(group.status.gangs.begin(), group.status.gangs.end(),
                     [](const gang::GangStatus& gang) {
                       return gang.planned && gang.committed && !gang.healing_since &&
                              !gang::is_released(gang);
                     });
}

}  // namespace nervex::planner
