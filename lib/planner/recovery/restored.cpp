#include "planner/recovery/restored.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace nervex::planner {
namespace {

using GangBySlot = std::map<gang::SlotKey, const gang::Gang*>;

GangBySlot wanted_slots(const gang::PodGroup& group) {
  GangBySlot wanted;
  for (const gang::Gang& gang : group.spec.gangs) {
    for (const gang::MemberSet& set : gang.members) {
      for (const gang::SlotId slot : set.slots) {
        wanted.emplace(gang::SlotKey(set.role, slot), &gang);
      }
    }
  }
  return wanted;
}

gang::GangStatus& gang_named(gang::PodGroupStatus& status, const std::string& name) {
  const auto known = std::find_if(status.gangs.begin(), status.gangs.end(),
                                  [&](const gang::GangStatus& gang) { return gang.name == name; });
  if (known != status.gangs.end()) return *known;
  gang::GangStatus& gang = status.gangs.emplace_back();
  gang.name = name;
  return gang;
}

std::size_t count_slots(const gang::Gang& gang) {
  std::size_t slots = 0;
  for (const gang::MemberSet& set : gang.members) slots += set.slots.size();
  return slots;
}

}  // namespace

bool has_all_placements(const gang::PodGroup& group) {
  std::size_t slots = 0;
  std::size_t placements = 0;
  for (const gang::Gang& gang : group.spec.gangs) slots += count_slots(gang);
  for (const gang::GangStatus& gang : group.status.gangs) {
    if (!gang.committed) return false;
    placements += gang.placements.size();
  }
  return slots == placements;
}

std::optional<gang::PodGroupStatus> restored_status(const gang::PodGroup& group,
                                                    std::span<const BoundSlot> bound,
                                                    std::int64_t highest) {
  const bool is_lost = group.status.observed_generation == 0;
  GangBySlot lacking = is_lost ? wanted_slots(group) : GangBySlot();
  std::set<std::int64_t> numbers;
  for (const gang::GangStatus& gang : group.status.gangs) {
    for (const gang::Placement& placement : gang.placements) {
      lacking.erase(gang::SlotKey(placement.role, placement.slot));
      numbers.insert(placement.number);
    }
  }
  // Of two pods of one slot the later one counts.
  std::map<gang::SlotKey, const BoundSlot*> found;
  for (const BoundSlot& pod : bound) {
    if (numbers.count(pod.placement) > 0) continue;
    const auto want = lacking.find(gang::SlotKey(pod.role, pod.slot));
    if (want == lacking.end()) continue;
    const BoundSlot*& last = found[want->first];
    if (last == nullptr || last->placement < pod.placement) last = &pod;
  }
  if (found.empty() && highest < group.status.next_placement) return std::nullopt;
  gang::PodGroupStatus status = group.status;
  status.next_placement = std::max(status.next_placement, highest + 1);
  std::map<const gang::Gang*, std::vector<const BoundSlot*>> by_gang;
  for (const auto& [key, pod] : found) by_gang[lacking.at(key)].push_back(pod);
  for (const gang::Gang& wanted : group.spec.gangs) {
    const auto at = by_gang.find(&wanted);
    if (at == by_gang.end()) continue;
    const std::vector<const BoundSlot*>& pods = at->second;
    const std::size_t slots = count_slots(wanted);
    const gang::GangStatus* known = gang::find_gang(group.status, wanted.name);
    // A status with a reason for the missing plan was not lost.
    const bool is_undecided = known == nullptr || known->reason.empty();
    const bool is_proven =
        pods.size() == slots || std::any_of(pods.begin(), pods.end(),
                                            [](const BoundSlot* pod) { return !pod->is_finished; });
    const bool is_committed = known != nullptr && known->committed;
    if (!is_committed && !(is_undecided && is_proven)) continue;
    gang::GangStatus& gang = gang_named(status, wanted.name);
    gang.committed = true;
    for (const BoundSlot* pod : pods) {
      gang.placements.push_back({pod->role, pod->slot, pod->node, pod->placement});
    }
    std::sort(gang.placements.begin(), gang.placements.end(),
              [](const gang::Placement& a, const gang::Placement& b) {
                return std::tie(a.role, a.slot) < std::tie(b.role, b.slot);
              });
    gang.planned = gang.placements.size() >= slots;
  }
  return status;
}

}  // namespace nervex::planner
