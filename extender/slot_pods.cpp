#include "extender/slot_pods.h"

#include <algorithm>

namespace nervex::extender {

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

}  // namespace nervex::extender
