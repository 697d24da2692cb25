#include "extender/occupancy.h"

#include <algorithm>

namespace nervex::extender {

// ---- nodes

namespace {

gang::NodeView view_of(const NodePtr& node, const kube::Resources& used,
                       const kube::Resources& held) {
  gang::NodeView view{node, node->allocatable};
  view.free -= used;
  view.free -= held;
  return view;
}

}  // namespace

void NodeTable::set_node(const std::string& name, const NodePtr& node) {
  entries_[name].node = node;
  drop_if_empty(name);
}

void NodeTable::use(const std::string& node, const kube::Resources& amount) {
  entries_[node].used += amount;
}

void NodeTable::stop_using(const std::string& node, const kube::Resources& amount) {
  entries_[node].used -= amount;
  drop_if_empty(node);
}

void NodeTable::hold(const std::string& node, const kube::Resources& amount, bool committed) {
  Entry& entry = entries_[node];
  entry.held += amount;
  if (committed) entry.held_committed += amount;
}

void NodeTable::release(const std::string& node, const kube::Resources& amount, bool committed) {
  Entry& entry = entries_[node];
  entry.held -= amount;
  if (committed) entry.held_committed -= amount;
  drop_if_empty(node);
}

std::vector<gang::NodeView> NodeTable::views() const {
  std::vector<gang::NodeView> views;
  views.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) {
    if (entry.node) views.push_back(view_of(entry.node, entry.used, entry.held_committed));
  }
  return views;
}

std::optional<gang::NodeView> NodeTable::view(std::string_view name) const {
  const auto at = entries_.find(name);
  if (at == entries_.end() || !at->second.node) return std::nullopt;
  return view_of(at->second.node, at->second.used, at->second.held_committed);
}

std::optional<kube::Resources> NodeTable::spare_beside_held(std::string_view name) const {
  const auto at = entries_.find(name);
  if (at == entries_.end() || !at->second.node || at->second.held.empty()) return std::nullopt;
  return view_of(at->second.node, at->second.used, at->second.held).free;
}

void NodeTable::drop_if_empty(const std::string& name) {
  const auto at = entries_.find(name);
  const Entry& entry = at->second;
  if (!entry.node && entry.used.empty() && entry.held.empty()) entries_.erase(at);
}

// ---- slots

void SlotPods::add(const gang::PodSlot& slot, const kube::Pod& pod) {
  groups_[slot.pod_group_uid][{slot.role, slot.slot.ordinal}][pod.meta.uid] = {
      pod.meta.name, pod.meta.ns, pod.node, "", slot.placement, pod.is_finished()};
}

void SlotPods::remove(const gang::PodSlot& slot, const kube::Pod& pod) {
  erase(slot, pod.meta.uid);
}

void SlotPods::assume(const gang::PodSlot& slot, const kube::Pod& pod, const std::string& node) {
  auto& pods = groups_[slot.pod_group_uid][{slot.role, slot.slot.ordinal}];
  pods.try_emplace(pod.meta.uid,
                   BoundPod{pod.meta.name, pod.meta.ns, "", node, slot.placement, false});
}

void SlotPods::forget(const gang::PodSlot& slot, std::string_view pod_uid) {
  const PodsOfSlot& pods = find(slot.pod_group_uid, {slot.role, slot.slot.ordinal});
  const auto at = pods.find(pod_uid);
  if (at != pods.end() && at->second.node.empty()) erase(slot, pod_uid);
}

bool SlotPods::is_bound(const std::string& group_uid, std::string_view ns,
                        const gang::Placement& placement) const {
  const PodsOfSlot& pods = find(group_uid, {placement.role, placement.slot.ordinal});
  return std::any_of(pods.begin(), pods.end(), [&](const auto& entry) {
    const BoundPod& pod = entry.second;
    const std::string& node = pod.node.empty() ? pod.target : pod.node;
    return pod.placement == placement.number && node == placement.node && pod.ns == ns;
  });
}

bool SlotPods::is_seen_bound(const gang::PodSlot& slot, std::string_view pod_uid) const {
  const PodsOfSlot& pods = find(slot.pod_group_uid, {slot.role, slot.slot.ordinal});
  const auto at = pods.find(pod_uid);
  return at != pods.end() && !at->second.node.empty();
}

auto SlotPods::other_live_pod(const gang::PodSlot& slot, const kube::Pod& pod) const
    -> std::optional<Named> {
  for (const auto& [uid, other] : find(slot.pod_group_uid, {slot.role, slot.slot.ordinal})) {
    if (uid == pod.meta.uid || other.ns != pod.meta.ns || other.finished) continue;
    return Named{other.name, uid};
  }
  return std::nullopt;
}

auto SlotPods::find(const std::string& group_uid, const SlotName& name) const -> const PodsOfSlot& {
  static const PodsOfSlot kNone;
  const auto group = groups_.find(group_uid);
  if (group == groups_.end()) return kNone;
  const auto pods = group->second.find(name);
  return pods == group->second.end() ? kNone : pods->second;
}

void SlotPods::erase(const gang::PodSlot& slot, std::string_view pod_uid) {
  const auto group = groups_.find(slot.pod_group_uid);
  if (group == groups_.end()) return;
  const auto slots = group->second.find({slot.role, slot.slot.ordinal});
  if (slots == group->second.end()) return;
  const auto at = slots->second.find(pod_uid);
  if (at != slots->second.end()) slots->second.erase(at);
  if (slots->second.empty()) group->second.erase(slots);
  if (group->second.empty()) groups_.erase(group);
}

// ---- PodGroups

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
  seen.requests = place.set->shape.requests;
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
    nodes_.hold(place.placement.node, place.set->shape.requests, place.committed);
  } else {
    nodes_.release(place.placement.node, place.set->shape.requests, place.committed);
  }
}

}  // namespace nervex::extender
