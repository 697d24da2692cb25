#include "extender/observe/parts/group_placements.h"

#include <algorithm>
#include <tuple>

namespace nervex::extender {
namespace {

std::map<gang::SlotKey, const gang::MemberSet*> wanted_slots(const gang::PodGroup& group) {
  std::map<gang::SlotKey, const gang::MemberSet*> wanted;
  for (const gang::MemberSet& set : gang::all_sets(group.spec.gangs)) {
    for (const gang::SlotId slot : set.slots) wanted.emplace(gang::SlotKey(set.role, slot), &set);
  }
  return wanted;
}

}  // namespace

void GroupPlacements::set_group(gang::PodGroupPtr group) {
  release_all();
  group_ = std::move(group);
  reserve_all();
}

void GroupPlacements::set_attempted(gang::PodGroupPtr attempted) {
  release_all();
  attempted_ = std::move(attempted);
  reserve_all();
}

void GroupPlacements::set_committing(const std::string& gang, bool committing) {
  if (committing_.count(gang) == (committing ? 1U : 0U)) return;
  release_all();
  if (committing) {
    committing_.insert(gang);
  } else {
    committing_.erase(gang);
  }
  reserve_all();
}

void GroupPlacements::refresh(const gang::PodSlot& slot) {
  refresh(slot.placement);
  // A finished pod counts for its slot's current placement, too.
  const auto now = numbers_.find({slot.role, slot.slot.ordinal});
  if (now != numbers_.end() && now->second != slot.placement) refresh(now->second);
}

void GroupPlacements::refresh(std::int64_t number) {
  const auto at = reservations_.find(number);
  if (at == reservations_.end()) return;
  Reservation& reservation = at->second;
  count(reservation, false);
  see_pods(reservation);
  count(reservation, true);
  note_open(number, reservation);
}

void GroupPlacements::see_pods(Reservation& reservation) const {
  const auto& [ns, uid] = std::tie(reservation.group->meta.ns, reservation.group->meta.uid);
  const gang::Placement& placement = reservation.placement;
  reservation.bound = pods_.is_bound(uid, ns, placement);
  reservation.over = pods_.has_finished(uid, ns, placement.role, placement.slot);
}

void GroupPlacements::note_open(std::int64_t number, const Reservation& reservation) {
  open_.erase(number);
  finished_.erase(number);
  if (reservation.over) finished_.insert(number);
  if (!reservation.gang->committed || reservation.group != group_.get()) return;
  if (open_slot(reservation)) open_.insert(number);
}

bool GroupPlacements::waits_for_kubelet(const Reservation& reservation) const {
  if (!gang::is_direct(*reservation.gang, reservation.placement) || reservation.set->bind_last) {
    return false;
  }
  const auto& [ns, uid] = std::tie(reservation.group->meta.ns, reservation.group->meta.uid);
  return !pods_.has_started(uid, ns, reservation.placement);
}

std::optional<planner::OpenSlot> GroupPlacements::open_slot(const Reservation& reservation) const {
  const auto& [ns, uid] = std::tie(reservation.group->meta.ns, reservation.group->meta.uid);
  auto slot = pods_.open_slot(uid, ns.str(), reservation.placement);
  if (slot || !waits_for_kubelet(reservation)) return slot;
  return planner::OpenSlot{reservation.placement, planner::OpenSlot::Why::kNotStarted, {}, {}};
}

std::vector<planner::OpenSlot> GroupPlacements::open_slots() const {
  std::vector<planner::OpenSlot> slots;
  for (const std::int64_t number : open_) {
    if (auto slot = open_slot(reservations_.at(number))) slots.push_back(*std::move(slot));
  }
  return slots;
}

namespace {

std::set<std::int64_t> placement_numbers(const gang::PodGroupStatus& status) {
  std::set<std::int64_t> numbers;
  for (const gang::GangStatus& gang : status.gangs) {
    for (const gang::Placement& placement : gang.placements) numbers.insert(placement.number);
  }
  return numbers;
}

}  // namespace

bool GroupPlacements::may_lose(std::int64_t placement) const {
  return attempted_ != nullptr && placement_numbers(attempted_->status).count(placement) == 0;
}

bool GroupPlacements::supersedes_bound(const gang::PodGroup& other) const {
  const std::set<std::int64_t> kept = placement_numbers(other.status);
  return std::any_of(reservations_.begin(), reservations_.end(), [&](const auto& entry) {
    const Reservation& reservation = entry.second;
    return reservation.group == group_.get() && reservation.gang->committed && reservation.bound &&
           kept.count(entry.first) == 0;
  });
}

planner::SlotSeen GroupPlacements::seen(std::string_view role, int ordinal) const {
  planner::SlotSeen seen{group_, std::nullopt, "", false, {}};
  const auto number = numbers_.find({std::string(role), ordinal});
  if (number == numbers_.end()) return seen;
  const Reservation& reservation = reservations_.at(number->second);
  seen.placement = reservation.placement;
  seen.gang = reservation.gang->name;
  seen.committed = reservation.gang->committed;
  seen.bind_last = reservation.set->bind_last;
  seen.requests = reservation.set->shape.requests;
  return seen;
}

planner::GangSeen GroupPlacements::seen(std::string_view name) const {
  const gang::GangStatus* status = gang::find_gang(group_->status, name);
  planner::GangSeen seen{group_, status != nullptr && status->committed, {}};
  const gang::Gang* gang = gang::find_gang(group_->spec, name);
  if (gang == nullptr) return seen;
  for (const gang::MemberSet& set : gang->members) {
    for (const gang::SlotId slot : set.slots) {
      planner::MemberSeen& member =
          seen.members.emplace_back(planner::MemberSeen{&set, slot, {}, {}});
      const std::string& uid = group_->meta.uid;
      const bool is_over = pods_.has_finished(uid, group_->meta.ns, set.role, slot);
      if (is_over) member.pod = planner::MemberSeen::Pod::kBound;
      const auto number = numbers_.find({set.role, slot.ordinal});
      if (number == numbers_.end()) continue;
      const Reservation& reservation = reservations_.at(number->second);
      member.placement = reservation.placement;
      if (!is_over) member.pod = pods_.state(uid, group_->meta.ns, *member.placement);
      if (member.pod == planner::MemberSeen::Pod::kBound && waits_for_kubelet(reservation)) {
        member.pod = planner::MemberSeen::Pod::kNotStarted;
      }
      member.refusal = pods_.refusal(uid, group_->meta.ns, *member.placement);
    }
  }
  return seen;
}

void GroupPlacements::reserve_all() {
  if (group_ && !group_->meta.deleting) add_placements(*group_);
  for (const auto& [number, reservation] : reservations_) {
    numbers_.emplace(std::pair(reservation.placement.role, reservation.placement.slot.ordinal),
                     number);
  }
  if (attempted_) add_placements(*attempted_);
  for (const auto& [number, reservation] : reservations_) {
    count(reservation, true);
    note_open(number, reservation);
  }
  if (group_ && !group_->meta.deleting) add_reserved(*group_);
  if (attempted_) add_reserved(*attempted_);
  count_reserved(true);
}

void GroupPlacements::release_all() {
  for (const auto& [number, reservation] : reservations_) count(reservation, false);
  reservations_.clear();
  open_.clear();
  finished_.clear();
  numbers_.clear();
  count_reserved(false);
  reserved_.clear();
}

void GroupPlacements::add_placements(const gang::PodGroup& group) {
  const auto wanted = wanted_slots(group);
  for (const gang::GangStatus& gang : group.status.gangs) {
    const bool committed = gang.committed || committing_.count(gang.name) > 0;
    for (const gang::Placement& placement : gang.placements) {
      const auto set = wanted.find(gang::SlotKey(placement.role, placement.slot));
      if (set == wanted.end()) continue;
      const auto [at, is_new] = reservations_.try_emplace(
          placement.number, Reservation{placement, set->second, &group, &gang, committed});
      if (is_new) see_pods(at->second);
      at->second.committed =
          at->second.committed || committed;  // as the status being written has it
    }
  }
}

// Includes what the spec no longer requests: the planner gives it back, or to a request.
void GroupPlacements::add_reserved(const gang::PodGroup& group) {
  for (const gang::GangStatus& gang : group.status.gangs) {
    const bool committed = gang.committed || committing_.count(gang.name) > 0;
    for (const gang::ReservedCapacity& entry : gang.reserved) {
      const gang::MemberSet* set = gang::find_set(group.spec, entry.set);
      if (set == nullptr) continue;
      ReservedPods& pods = reserved_[{entry.set, entry.node}];
      pods.set = set;
      pods.count = std::max(pods.count, entry.count);
      pods.committed = pods.committed || committed;
    }
  }
}

void GroupPlacements::count_reserved(bool add) {
  for (const auto& [place, pods] : reserved_) {
    const std::string node(place.second);
    for (int i = 0; i < pods.count; ++i) {
      if (add) {
        nodes_.reserve(node, pods.set->shape.requests, pods.committed);
      } else {
        nodes_.release(node, pods.set->shape.requests, pods.committed);
      }
    }
  }
}

void GroupPlacements::count(const Reservation& reservation, bool add) {
  if (reservation.bound || reservation.over) return;
  if (add) {
    nodes_.reserve(reservation.placement.node, reservation.set->shape.requests,
                   reservation.committed);
  } else {
    nodes_.release(reservation.placement.node, reservation.set->shape.requests,
                   reservation.committed);
  }
}

}  // namespace nervex::extender
