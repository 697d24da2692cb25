#include "extender/observe/parts/existing_pods.h"

namespace nervex::extender {

void ExistingPods::add(const std::string& ns, const gang::PodSlot& slot) {
  pods_[{slot.pod_group_uid, ns}][{slot.role, slot.slot.ordinal}].placements.insert(slot.placement);
}

void ExistingPods::remove(const std::string& ns, const gang::PodSlot& slot) {
  const auto slots = pods_.find({slot.pod_group_uid, ns});
  const auto pods = slots->second.find({slot.role, slot.slot.ordinal});
  auto& placements = pods->second.placements;
  placements.erase(placements.find(slot.placement));
  if (placements.empty()) slots->second.erase(pods);
  if (slots->second.empty()) pods_.erase(slots);
}

void ExistingPods::set_requests(const std::string& ns, const gang::PodSlot& slot,
                                const kube::Resources& requests) {
  pods_[{slot.pod_group_uid, ns}][{slot.role, slot.slot.ordinal}].requests = requests;
}

const ExistingPods::BySlot* ExistingPods::find(const std::string& group_uid,
                                               const std::string& ns) const {
  const auto found = pods_.find({group_uid, ns});
  return found == pods_.end() ? nullptr : &found->second;
}

}  // namespace nervex::extender
