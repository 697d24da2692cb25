#include "queue/slot_use.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

namespace nervex::queue {

void add_requests(kube::Resources& total, const kube::Resources& each, std::int64_t times) {
  for (const auto& [name, amount] : each.amounts()) {
    if (kube::is_implicit(name)) continue;  // they belong to nodes, not queues
    std::int64_t product = 0;
    if (__builtin_mul_overflow(amount, times, &product)) {
      product = std::numeric_limits<std::int64_t>::max();
    }
    total += kube::Resources{{name, product}};
  }
}

void add_requests(ClassRequests& classes, std::string_view node_class, const kube::Resources& each,
                  std::int64_t times) {
  if (!node_class.empty()) add_requests(classes[std::string(node_class)], each, times);
}

const OtherUse* find_use(const OtherUses* uses, std::string_view role, gang::SlotId slot) {
  if (uses == nullptr) return nullptr;
  const std::tuple key(role, slot);
  const auto at = std::lower_bound(
      uses->begin(), uses->end(), key, [](const OtherUse& use, const auto& sought) {
        return std::tuple(std::string_view(use.role), use.slot) < sought;
      });
  const bool is_found =
      at != uses->end() && std::tuple(std::string_view(at->role), at->slot) == key;
  return is_found ? &*at : nullptr;
}

OtherUses find_again(OtherUses uses, const gang::PodGroup& group) {
  std::erase_if(uses, [&](OtherUse& use) {
    for (use.gang = 0; use.gang < group.spec.gangs.size(); ++use.gang) {
      const std::vector<gang::MemberSet>& sets = group.spec.gangs[use.gang].members;
      for (use.set = 0; use.set < sets.size(); ++use.set) {
        if (gang::wants(sets[use.set], use.role, use.slot)) return false;
      }
    }
    return true;
  });
  return uses;
}

kube::Resources count_slot(const kube::Resources& requests, const OtherUse* use) {
  if (use == nullptr) return requests;
  kube::Resources used = use->is_over ? kube::Resources() : requests;
  for (const PodUse& pod : use->pods) used.raise_to(pod.requests);
  return used;
}

kube::Resources count_pods(const OtherUse& use) {
  kube::Resources used;
  for (const PodUse& pod : use.pods) used.raise_to(pod.requests);
  return used;
}

void count_slot(ClassRequests& classes, const kube::Resources& requests, const OtherUse* use,
                std::string_view node, const FindClass& find_class) {
  if (use == nullptr) return add_requests(classes, find_class(node), requests);
  ClassRequests used;
  if (!use->is_over && !node.empty()) add_requests(used, find_class(node), requests);
  for (const PodUse& pod : use->pods) {
    const std::string_view node_class = find_class(pod.node);
    if (node_class.empty()) continue;
    kube::Resources counted;
    add_requests(counted, pod.requests);
    used[std::string(node_class)].raise_to(counted);
  }
  for (const auto& [node_class, amounts] : used) add_requests(classes, node_class, amounts);
}

bool contains(const SlotNumbers& slots, std::string_view role, int ordinal) {
  const auto at = slots.find(role);
  return at != slots.end() && std::binary_search(at->second.begin(), at->second.end(), ordinal);
}

SlotNumbers list_counted_slots(const gang::PodGroup& group) {
  SlotNumbers slots;
  if (group.meta.deleting) return slots;
  std::set<std::pair<std::string_view, int>> placed;
  for (const gang::GangStatus& gang : group.status.gangs) {
    for (const gang::Placement& one : gang.placements) placed.emplace(one.role, one.slot.ordinal);
  }
  for (const gang::Gang& gang : group.spec.gangs) {
    const gang::GangStatus* status = gang::find_gang(group.status, gang.name);
    const bool is_committed = status != nullptr && status->committed;
    for (const gang::MemberSet& set : gang.members) {
      for (const gang::SlotId slot : set.slots) {
        if (!is_committed && placed.count({set.role, slot.ordinal}) == 0) continue;
        slots[set.role].push_back(slot.ordinal);
      }
    }
  }
  for (auto& [role, ordinals] : slots) std::sort(ordinals.begin(), ordinals.end());
  return slots;
}

}  // namespace nervex::queue
