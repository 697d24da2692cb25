#include "extender/commit.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "extender/ledger.h"

namespace nervex::extender {
namespace {

using Placements = std::map<std::pair<std::string_view, gang::SlotId>, const gang::Placement*>;

Placements placements_of(const gang::GangStatus& gang) {
  Placements placements;
  for (const gang::Placement& placement : gang.placements) {
    placements.emplace(std::pair(std::string_view(placement.role), placement.slot), &placement);
  }
  return placements;
}

// The spec may have moved slots to another gang whose plan was not written yet: then this plan is
// not one of a whole gang.
std::string moved_slot(const gang::PodGroup& group, std::string_view gang,
                       const Placements& placements) {
  for (const gang::MemberSet& set : group.spec.members) {
    if (set.gang == gang) continue;
    for (const gang::SlotId slot : set.slots) {
      if (placements.count({set.role, slot}) == 0) continue;
      return fmt::format("{} belongs to gang {} now, whose plan is not written yet",
                         gang::slot_key(set.role, slot.ordinal), set.gang);
    }
  }
  return "";
}

}  // namespace

std::string check_commit(const gang::PodGroup& group, std::string_view gang_name,
                         std::span<const gang::NodeView> nodes) {
  const gang::GangStatus* gang = gang::find_gang(group.status, gang_name);
  if (gang == nullptr || !gang->planned) return fmt::format("gang {} has no plan", gang_name);
  const Placements placements = placements_of(*gang);
  if (std::string moved = moved_slot(group, gang_name, placements); !moved.empty()) return moved;
  Ledger ledger({nodes.begin(), nodes.end()});
  for (const gang::MemberSet& set : group.spec.members) {
    if (set.gang != gang_name) continue;
    for (const gang::SlotId slot : set.slots) {
      const auto place = placements.find({set.role, slot});
      const std::string key = gang::slot_key(set.role, slot.ordinal);
      if (place == placements.end())
        return fmt::format("gang {} lacks a placement for {}", gang_name, key);
      const std::string reason = ledger.why_not(set, place->second->node);
      if (!reason.empty()) return fmt::format("{}: {}", key, reason);
      ledger.take(set, place->second->node);
    }
  }
  return "";
}

std::string check_bind(const gang::PodSlot& slot, const SlotSeen& seen, std::string_view ns,
                       std::string_view node) {
  const std::string key = gang::slot_key(slot.role, slot.slot.ordinal);
  if (!seen.group) return "the pod's PodGroup was not seen yet";
  if (seen.group->meta.ns != ns) return "the pod names a PodGroup of another namespace";
  if (!seen.placement || seen.placement->slot != slot.slot ||
      seen.placement->number != slot.placement) {
    return fmt::format("placement {} of {} was superseded", slot.placement, key);
  }
  if (seen.placement->node != node) {
    return fmt::format("{} is planned on node {}", key, seen.placement->node);
  }
  return "";
}

}  // namespace nervex::extender
