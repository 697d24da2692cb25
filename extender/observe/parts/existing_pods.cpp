#include "extender/observe/parts/existing_pods.h"

namespace nervex::extender {

auto ExistingPods::make_key(const std::string& group_uid, const gang::Origin& origin) -> Key {
  return {group_uid, origin.ns.str(), std::string(origin.owner_uid())};
}

void ExistingPods::add(const gang::Origin& pod, const gang::PodSlot& slot) {
  pods_[make_key(slot.pod_group_uid, pod)][{slot.role, slot.slot.ordinal}].placements.insert(
      slot.placement);
}

void ExistingPods::remove(const gang::Origin& pod, const gang::PodSlot& slot) {
  const auto slots = pods_.find(make_key(slot.pod_group_uid, pod));
  const auto pods = slots->second.find({slot.role, slot.slot.ordinal});
  auto& placements = pods->second.placements;
  placements.erase(placements.find(slot.placement));
  if (placements.empty()) slots->second.erase(pods);
  if (slots->second.empty()) pods_.erase(slots);
}

void ExistingPods::set_requests(const gang::Origin& pod, const gang::PodSlot& slot,
                                const kube::Resources& requests) {
  pods_[make_key(slot.pod_group_uid, pod)][{slot.role, slot.slot.ordinal}].requests = requests;
}

const ExistingPods::BySlot* ExistingPods::find(const kube::Meta& group) const {
  const auto found = pods_.find(make_key(group.uid, gang::Origin(group)));
  return found == pods_.end() ? nullptr : &found->second;
}

}  // namespace nervex::extender
