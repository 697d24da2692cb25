#include "extender/observe/parts/slot_pods.h"

#include <algorithm>

#include "kube/model/disruption.h"

namespace nervex::extender {

void SlotPods::set_group(const kube::Meta& group) { groups_[group.uid].origin.emplace(group); }

void SlotPods::erase_group(const std::string& group_uid) {
  const auto group = groups_.find(group_uid);
  if (group == groups_.end()) return;
  group->second.origin.reset();
  if (group->second.slots.empty()) groups_.erase(group);
}

bool SlotPods::has_any(const std::string& group_uid) const {
  const auto group = groups_.find(group_uid);
  return group != groups_.end() && !group->second.slots.empty();
}

void SlotPods::add(const gang::PodSlot& slot, const kube::Pod& pod) {
  refusals_.erase({slot.pod_group_uid, pod.meta.ns, slot.placement});
  gated_.erase({slot.pod_group_uid, pod.meta.ns, slot.placement});
  BoundPod bound{
      pod.meta.name,         gang::Origin(pod.meta), pod.node,      "",
      slot.placement,        pod.is_finished(),      pod.node_lost, kube::explain_disruption(pod),
      slot.slot.incarnation, pod.has_start_time,     pod.requests};
  groups_[slot.pod_group_uid].slots[{slot.role, slot.slot.ordinal}].insert_or_assign(
      pod.meta.uid, std::move(bound));
  const bool is_ending = pod.meta.deleting && !pod.is_finished() && pod.node_lost.empty();
  if (is_ending) {
    Ending ending{{slot.role, slot.slot.ordinal},
                  gang::Origin(pod.meta),
                  {pod.meta.name, slot.slot.incarnation, pod.deletion_timestamp}};
    ending_.insert_or_assign({slot.pod_group_uid, pod.meta.uid}, std::move(ending));
  } else {
    ending_.erase({slot.pod_group_uid, pod.meta.uid});
  }
}

void SlotPods::remove(const gang::PodSlot& slot, const kube::Pod& pod) {
  erase(slot, pod.meta.uid);
  ending_.erase({slot.pod_group_uid, pod.meta.uid});
  const auto refusal = refusals_.find({slot.pod_group_uid, pod.meta.ns, slot.placement});
  if (refusal != refusals_.end() && refusal->second.pod_uid == pod.meta.uid) {
    refusals_.erase(refusal);
  }
  const auto gated = gated_.find({slot.pod_group_uid, pod.meta.ns, slot.placement});
  if (gated != gated_.end() && gated->second == pod.meta.uid) gated_.erase(gated);
}

void SlotPods::set_unbound(const gang::PodSlot& slot, const kube::Pod& pod) {
  if (is_of_other(slot.pod_group_uid, gang::Origin(pod.meta))) return;
  const std::tuple key(slot.pod_group_uid, pod.meta.ns.str(), slot.placement);
  // Silence, or an error of the scheduler's, says nothing about the node.
  if (pod.unscheduled_reason == "Unschedulable") {
    refusals_[key] = {pod.meta.uid, pod.unscheduled_message, pod.unscheduled_since};
  } else {
    refusals_.erase(key);
  }
  if (pod.unscheduled_reason == "SchedulingGated") {
    gated_[key] = pod.meta.uid;
  } else {
    gated_.erase(key);
  }
}

bool SlotPods::is_gated(const std::string& group_uid, std::string_view ns,
                        const gang::Placement& placement) const {
  return gated_.count({group_uid, std::string(ns), placement.number}) > 0;
}

std::map<std::pair<std::string, int>, planner::EndingPod> SlotPods::ending(
    const std::string& group_uid, std::string_view ns) const {
  std::map<std::pair<std::string, int>, planner::EndingPod> found;
  for (auto at = ending_.lower_bound({group_uid, ""});
       at != ending_.end() && at->first.first == group_uid; ++at) {
    const Ending& ending = at->second;
    if (ending.origin.ns != ns || is_of_other(group_uid, ending.origin)) continue;
    planner::EndingPod& longest = found[ending.slot];
    if (longest.name.empty() || ending.pod.until > longest.until) longest = ending.pod;
  }
  return found;
}

std::string SlotPods::refusal(const std::string& group_uid, std::string_view ns,
                              const gang::Placement& placement) const {
  const auto found = refusals_.find({group_uid, std::string(ns), placement.number});
  return found == refusals_.end() ? "" : found->second.message.str();
}

std::optional<planner::OpenSlot> SlotPods::open_slot(const std::string& group_uid,
                                                     std::string_view ns,
                                                     const gang::Placement& placement) const {
  const Found slot = find(group_uid, {placement.role, placement.slot.ordinal});
  for (const auto& [uid, pod] : slot.pods) {
    if (pod.placement != placement.number || !slot.group.has(pod, ns)) continue;
    if (!pod.node_lost.empty()) {
      return planner::OpenSlot{placement, planner::OpenSlot::Why::kNodeLost, pod.node_lost, {}};
    }
    if (!pod.taken_away.empty()) {
      return planner::OpenSlot{placement, planner::OpenSlot::Why::kTakenAway, pod.taken_away, {}};
    }
  }
  const bool is_over = has_finished(group_uid, ns, placement.role, placement.slot);
  if (is_over || is_bound(group_uid, ns, placement)) return std::nullopt;
  const auto refusal = refusals_.find({group_uid, std::string(ns), placement.number});
  if (refusal == refusals_.end())
    return planner::OpenSlot{placement, planner::OpenSlot::Why::kUnbound, {}, {}};
  return planner::OpenSlot{placement, planner::OpenSlot::Why::kRefused, refusal->second.message,
                           refusal->second.since};
}

std::optional<queue::OtherUse> SlotPods::other_use(const std::string& group_uid,
                                                   std::string_view ns, const Plan& plan) const {
  queue::OtherUse use{std::string(plan.role), plan.slot};
  bool is_other = false;
  const Found slot = find(group_uid, {use.role, plan.slot.ordinal});
  for (const auto& [uid, pod] : slot.pods) {
    if (!slot.group.has(pod, ns) || pod.node.empty()) continue;
    if (pod.finished) {
      const bool is_last = pod.incarnation == plan.slot.incarnation && pod.taken_away.empty();
      use.is_over = use.is_over || is_last;
    } else if (plan.counts_pods) {
      use.pods.push_back({pod.node, pod.requests});
      is_other = is_other || pod.node != plan.node || !pod.requests.fits_in(*plan.requests);
    }
  }
  if (!use.is_over && !is_other) return std::nullopt;
  return use;
}

bool SlotPods::are_all_outdated(const std::string& group_uid, std::string_view ns,
                                std::string_view role, gang::SlotId slot,
                                std::size_t existing) const {
  std::size_t outdated = 0;
  const Found found = find(group_uid, {std::string(role), slot.ordinal});
  for (const auto& [uid, pod] : found.pods) {
    const bool is_outdated = pod.finished && pod.incarnation < slot.incarnation;
    if (is_outdated && found.group.has(pod, ns)) ++outdated;
  }
  return outdated > 0 && outdated == existing;
}

std::vector<planner::BoundSlot> SlotPods::bound(const std::string& group_uid,
                                                std::string_view ns) const {
  std::vector<planner::BoundSlot> found;
  const auto group = groups_.find(group_uid);
  if (group == groups_.end()) return found;
  for (const auto& [name, pods] : group->second.slots) {
    for (const auto& [uid, pod] : pods) {
      if (!group->second.has(pod, ns)) continue;
      found.push_back({name.first,
                       {name.second, pod.incarnation},
                       pod.node.empty() ? pod.target : pod.node,
                       pod.placement,
                       pod.finished});
    }
  }
  return found;
}

void SlotPods::assume(const gang::PodSlot& slot, const kube::Pod& pod, const std::string& node) {
  auto& pods = groups_[slot.pod_group_uid].slots[{slot.role, slot.slot.ordinal}];
  pods.try_emplace(pod.meta.uid, BoundPod{pod.meta.name,
                                          gang::Origin(pod.meta),
                                          "",
                                          node,
                                          slot.placement,
                                          false,
                                          {},
                                          {},
                                          slot.slot.incarnation});
}

void SlotPods::forget(const gang::PodSlot& slot, std::string_view pod_uid) {
  const PodsOfSlot& pods = find(slot.pod_group_uid, {slot.role, slot.slot.ordinal}).pods;
  const auto at = pods.find(pod_uid);
  if (at != pods.end() && at->second.node.empty()) erase(slot, pod_uid);
}

bool SlotPods::is_bound(const std::string& group_uid, std::string_view ns,
                        const gang::Placement& placement) const {
  return state(group_uid, ns, placement) != planner::MemberSeen::Pod::kUnbound;
}

bool SlotPods::has_finished(const std::string& group_uid, std::string_view ns,
                            std::string_view role, gang::SlotId slot) const {
  const Found found = find(group_uid, {std::string(role), slot.ordinal});
  return std::any_of(found.pods.begin(), found.pods.end(), [&](const auto& entry) {
    const BoundPod& pod = entry.second;
    return pod.finished && pod.incarnation == slot.incarnation && found.group.has(pod, ns);
  });
}

planner::MemberSeen::Pod SlotPods::state(const std::string& group_uid, std::string_view ns,
                                         const gang::Placement& placement) const {
  auto state = planner::MemberSeen::Pod::kUnbound;
  const Found slot = find(group_uid, {placement.role, placement.slot.ordinal});
  for (const auto& [uid, pod] : slot.pods) {
    const bool is_assumed = pod.node.empty();
    const std::string& node = is_assumed ? pod.target : pod.node;
    if (pod.placement != placement.number || node != placement.node) continue;
    if (!slot.group.has(pod, ns)) continue;
    if (!is_assumed) return planner::MemberSeen::Pod::kBound;
    state = planner::MemberSeen::Pod::kAssumed;
  }
  return state;
}

bool SlotPods::has_live_pod(const std::string& group_uid, std::string_view ns) const {
  const auto group = groups_.find(group_uid);
  if (group == groups_.end()) return false;
  const auto& slots = group->second.slots;
  return std::any_of(slots.begin(), slots.end(), [&](const auto& slot) {
    return std::any_of(slot.second.begin(), slot.second.end(), [&](const auto& pod) {
      return group->second.has(pod.second, ns) && !pod.second.finished;
    });
  });
}

bool SlotPods::has_live_pod(const std::string& group_uid, std::string_view ns, std::int64_t through,
                            const std::set<std::int64_t>& except) const {
  const auto group = groups_.find(group_uid);
  if (group == groups_.end()) return false;
  const auto& slots = group->second.slots;
  return std::any_of(slots.begin(), slots.end(), [&](const auto& slot) {
    return std::any_of(slot.second.begin(), slot.second.end(), [&](const auto& entry) {
      const BoundPod& pod = entry.second;
      return group->second.has(pod, ns) && !pod.finished && pod.placement <= through &&
             except.count(pod.placement) == 0;
    });
  });
}

std::vector<kube::PodKey> SlotPods::live_pods(const std::string& group_uid, std::string_view ns,
                                              const std::set<std::int64_t>& placements) const {
  std::vector<kube::PodKey> live;
  const auto group = groups_.find(group_uid);
  if (group == groups_.end()) return live;
  for (const auto& [slot, pods] : group->second.slots) {
    for (const auto& [uid, pod] : pods) {
      const bool is_one = placements.empty() || placements.count(pod.placement) > 0;
      if (!is_one || pod.finished || !group->second.has(pod, ns)) continue;
      live.push_back({pod.origin.ns, pod.name, uid});
    }
  }
  return live;
}

std::optional<SysTime> SlotPods::ends_at(const std::string& group_uid, std::string_view ns) const {
  std::optional<SysTime> last;
  for (auto at = ending_.lower_bound({group_uid, ""});
       at != ending_.end() && at->first.first == group_uid; ++at) {
    const gang::Origin& origin = at->second.origin;
    if ((!ns.empty() && origin.ns != ns) || is_of_other(group_uid, origin)) continue;
    const SysTime until = at->second.pod.until;
    if (!last || until > *last) last = until;
  }
  return last;
}

bool SlotPods::has_started(const std::string& group_uid, std::string_view ns,
                           const gang::Placement& placement) const {
  const Found slot = find(group_uid, {placement.role, placement.slot.ordinal});
  return std::any_of(slot.pods.begin(), slot.pods.end(), [&](const auto& entry) {
    const BoundPod& pod = entry.second;
    const bool is_its = pod.finished ? pod.incarnation == placement.slot.incarnation
                                     : pod.placement == placement.number;
    return is_its && slot.group.has(pod, ns) && !pod.node.empty() && pod.taken_away.empty() &&
           (pod.has_started || pod.finished);
  });
}

bool SlotPods::is_seen_bound(const gang::PodSlot& slot, std::string_view pod_uid) const {
  const PodsOfSlot& pods = find(slot.pod_group_uid, {slot.role, slot.slot.ordinal}).pods;
  const auto at = pods.find(pod_uid);
  return at != pods.end() && !at->second.node.empty();
}

std::optional<planner::NamedPod> SlotPods::other_live_pod(const gang::PodSlot& slot,
                                                          const kube::Pod& pod) const {
  const Found found = find(slot.pod_group_uid, {slot.role, slot.slot.ordinal});
  for (const auto& [uid, other] : found.pods) {
    if (uid == pod.meta.uid || !found.group.has(other, pod.meta.ns.str())) continue;
    if (other.finished) continue;
    return planner::NamedPod{other.name, uid};
  }
  return std::nullopt;
}

auto SlotPods::find(const std::string& group_uid, const SlotName& name) const -> Found {
  static const Group kNone;
  static const PodsOfSlot kNoPods;
  const auto group = groups_.find(group_uid);
  if (group == groups_.end()) return {kNone, kNoPods};
  const auto pods = group->second.slots.find(name);
  return {group->second, pods == group->second.slots.end() ? kNoPods : pods->second};
}

bool SlotPods::is_of_other(const std::string& group_uid, const gang::Origin& pod) const {
  const auto group = groups_.find(group_uid);
  return group != groups_.end() && group->second.origin && *group->second.origin != pod;
}

void SlotPods::erase(const gang::PodSlot& slot, std::string_view pod_uid) {
  const auto group = groups_.find(slot.pod_group_uid);
  if (group == groups_.end()) return;
  auto& slots_of_group = group->second.slots;
  const auto slots = slots_of_group.find({slot.role, slot.slot.ordinal});
  if (slots == slots_of_group.end()) return;
  const auto at = slots->second.find(pod_uid);
  if (at != slots->second.end()) slots->second.erase(at);
  if (slots->second.empty()) slots_of_group.erase(slots);
  if (slots_of_group.empty() && !group->second.origin) groups_.erase(group);
}

}  // namespace nervex::extender
