#include "extender/group_places.h"

#include <tuple>

namespace nervex::extender {
namespace {

using SlotKey = std::pair<std::string_view, gang::SlotId>;

std::map<SlotKey, const gang::MemberSet*> wanted_slots(const gang::PodGroup& group) {
  std::map<SlotKey, const gang::MemberSet*> wanted;
  for (const gang::MemberSet& set : group.spec.members) {
    for (const gang::SlotId slot : set.slots) wanted.emplace(SlotKey(set.role, slot), &set);
  }
  return wanted;
}

}  // namespace

void GroupPlaces::set_group(PodGroupPtr group) {
  release_all();
  group_ = std::move(group);
  hold_all();
}

void GroupPlaces::set_attempted(PodGroupPtr attempted) {
  release_all();
  attempted_ = std::move(attempted);
  hold_all();
}

void GroupPlaces::set_committing(const std::string& gang, bool committing) {
  if (committing_.count(gang) == (committing ? 1U : 0U)) return;
  release_all();
  if (committing) {
    committing_.insert(gang);
  } else {
    committing_.erase(gang);
  }
  hold_all();
}

void GroupPlaces::refresh(const gang::PodSlot& slot) {
  const auto at = places_.find(slot.placement);
  if (at == places_.end()) return;
  Place& place = at->second;
  count(place, false);
  place.bound = pods_.is_bound(place.group->meta.uid, place.group->meta.ns, place.placement);
  count(place, true);
}

SlotSeen GroupPlaces::seen(std::string_view role, int ordinal) const {
  SlotSeen seen{group_, std::nullopt, "", false, {}};
  const auto number = numbers_.find({std::string(role), ordinal});
  if (number == numbers_.end()) return seen;
  const Place& place = places_.at(number->second);
  seen.placement = place.placement;
  seen.gang = place.gang->name;
  seen.committed = place.gang->committed;
  seen.requests = place.set->requests;
  return seen;
}

void GroupPlaces::hold_all() {
  if (group_ && !group_->meta.deleting) add_places(*group_);
  for (const auto& [number, place] : places_) {
    numbers_.emplace(std::pair(place.placement.role, place.placement.slot.ordinal), number);
  }
  if (attempted_) add_places(*attempted_);
  for (const auto& [number, place] : places_) count(place, true);
}

void GroupPlaces::release_all() {
  for (const auto& [number, place] : places_) count(place, false);
  places_.clear();
  numbers_.clear();
}

void GroupPlaces::add_places(const gang::PodGroup& group) {
  const auto wanted = wanted_slots(group);
  for (const gang::GangStatus& gang : group.status.gangs) {
    const bool committed = gang.committed || committing_.count(gang.name) > 0;
    for (const gang::Placement& placement : gang.placements) {
      const auto set = wanted.find(SlotKey(placement.role, placement.slot));
      if (set == wanted.end()) continue;
      const bool bound = pods_.is_bound(group.meta.uid, group.meta.ns, placement);
      places_.try_emplace(placement.number,
                          Place{placement, set->second, &group, &gang, committed, bound});
    }
  }
}

void GroupPlaces::count(const Place& place, bool add) {
  if (place.bound) return;
  if (add) {
    nodes_.hold(place.placement.node, place.set->requests, place.committed);
  } else {
    nodes_.release(place.placement.node, place.set->requests, place.committed);
  }
}

}  // namespace nervex::extender
