#include "planner/bind/commit.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "planner/gang/ledger.h"

namespace nervex::planner {
namespace {

Error conflict(std::string reason) { return {Code::kConflict, std::move(reason)}; }

using Placements = std::map<gang::SlotKey, const gang::Placement*>;

Placements index_placements(const gang::GangStatus& gang) {
  Placements placements;
  for (const gang::Placement& placement : gang.placements) {
    placements.emplace(gang::SlotKey(placement.role, placement.slot), &placement);
  }
  return placements;
}

// The spec may have moved slots to another gang whose plan was not written yet: then this plan is
// not one of a whole gang.
Result<Nothing> check_no_slot_moved(const gang::PodGroup& group, std::string_view name,
                                    const Placements& placements) {
  for (const gang::Gang& gang : group.spec.gangs) {
    if (gang.name == name) continue;
    for (const gang::MemberSet& set : gang.members) {
      for (const gang::SlotId slot : set.slots) {
        if (placements.count({set.role, slot}) == 0) continue;
        return conflict(fmt::format("{} belongs to gang {} now, whose plan is not written yet",
                                    gang::slot_key(set.role, slot.ordinal), gang.name));
      }
    }
  }
  return ok();
}

// Capacity that the gang reserves beside its members'.
Result<Nothing> check_reserved(const gang::GangStatus& gang, const gang::MemberSet& set,
                               Ledger& ledger) {
  const int reserved = gang::reserved_for(gang, set.name);
  if (reserved < set.reserved_pods) {
    return conflict(fmt::format("gang {} has capacity reserved for {} of {} {}s", gang.name,
                                reserved, set.reserved_pods, set.role));
  }
  for (const gang::ReservedCapacity& entry : gang.reserved) {
    if (entry.set != set.name) continue;
    for (int i = 0; i < entry.count; ++i) {
      const auto fits = ledger.check(set, entry.node);
      if (!fits) return with_context("reserved " + set.role, fits.error());
      ledger.take(set, entry.node);
    }
  }
  return ok();
}

}  // namespace

Result<Nothing> check_commit(const gang::PodGroup& group, std::string_view gang_name,
                             std::span<const placement::NodeView> nodes) {
  const gang::GangStatus* gang = gang::find_gang(group.status, gang_name);
  if (gang == nullptr || !gang->planned) {
    return conflict(fmt::format("gang {} has no plan", gang_name));
  }
  const Placements placements = index_placements(*gang);
  if (auto same = check_no_slot_moved(group, gang_name, placements); !same) return same;
  Ledger ledger{placement::Cluster(nodes)};
  const gang::Gang* wanted = gang::find_gang(group.spec, gang_name);
  if (wanted == nullptr) return conflict(fmt::format("gang {} is no longer wanted", gang_name));
  for (const gang::MemberSet& set : wanted->members) {
    for (const gang::SlotId slot : set.slots) {
      const auto placement = placements.find({set.role, slot});
      const std::string key = gang::slot_key(set.role, slot.ordinal);
      if (placement == placements.end()) {
        if (gang::may_wait(set, slot, gang->committed)) continue;
        return conflict(fmt::format("gang {} lacks a placement for {}", gang_name, key));
      }
      const auto fits = ledger.check(set, placement->second->node);
      if (!fits) return with_context(key, fits.error());
      ledger.take(set, placement->second->node);
    }
    if (auto fits = check_reserved(*gang, set, ledger); !fits) return fits;
  }
  return ok();
}

Result<Nothing> check_bind(const gang::PodSlot& slot, const SlotSeen& seen, std::string_view ns,
                           std::string_view node) {
  const std::string key = gang::slot_key(slot.role, slot.slot.ordinal);
  if (!seen.group) return Error{Code::kTransient, "the pod's PodGroup was not seen yet"};
  if (seen.group->meta.ns != ns) return conflict("the pod names a PodGroup of another namespace");
  if (!seen.placement || seen.placement->slot != slot.slot ||
      seen.placement->number != slot.placement) {
    return conflict(fmt::format("placement {} of {} was superseded", slot.placement, key));
  }
  if (seen.placement->node != node) {
    return conflict(fmt::format("{} is planned on node {}", key, seen.placement->node));
  }
  return ok();
}

std::vector<const gang::Placement*> added_placements(const gang::PodGroupStatus& before,
                                                     const gang::PodGroupStatus& after) {
  std::vector<const gang::Placement*> places;
  for (const gang::GangStatus& gang : after.gangs) {
    const gang::GangStatus* known = gang::find_gang(before, gang.name);
    if (known == nullptr || !known->committed) continue;
    for (const gang::Placement& placement : gang.placements) {
      if (placement.number >= before.next_placement) places.push_back(&placement);
    }
  }
  return places;
}

bool have_capacity(const gang::PodGroup& after, const gang::PodGroupStatus& before,
                   std::span<const placement::NodeView> nodes) {
  Ledger ledger{placement::Cluster(nodes)};
  std::map<std::pair<std::string_view, std::string_view>, int> released;  // by set and node
  for (const gang::GangStatus& gang : before.gangs) {
    for (const auto& entry : gang.reserved) released[{entry.set, entry.node}] += entry.count;
  }
  for (const gang::GangStatus& gang : after.status.gangs) {
    for (const auto& entry : gang.reserved) released[{entry.set, entry.node}] -= entry.count;
  }
  for (const auto& [where, count] : released) {
    const auto& [name, node] = where;
    const gang::MemberSet* set = gang::find_set(after.spec, name);
    for (int i = 0; set != nullptr && i < count; ++i) ledger.give_back(*set, node);
  }
  const auto sets = gang::all_sets(after.spec.gangs);
  const auto places = added_placements(before, after.status);
  return std::all_of(places.begin(), places.end(), [&](const gang::Placement* place) {
    const auto set = std::find_if(sets.begin(), sets.end(), [&](const gang::MemberSet& one) {
      return one.role == place->role &&
             std::find(one.slots.begin(), one.slots.end(), place->slot) != one.slots.end();
    });
    if (set == sets.end() || !ledger.fits(*set, place->node)) return false;
    ledger.take(*set, place->node);
    return true;
  });
}

}  // namespace nervex::planner
