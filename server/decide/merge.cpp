#include "server/decide/merge.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

#include "gang/slot.h"

namespace nervex::server {
namespace {

using job::Role;
// Role, ordinal, incarnation, placement number.
using PlacedSlot = std::tuple<std::string_view, int, int, std::int64_t>;

// Borrows from the entry.
auto kind_of(const job::RequestEntry& entry) {
  return std::tuple(entry.attempt, entry.role, std::string_view(entry.cpus),
                    std::string_view(entry.gpus), std::string_view(entry.memory), entry.gpu_split);
}

std::set<PlacedSlot> placed_slots(const gang::PodGroup& group) {
  std::set<PlacedSlot> placed;
  for (const auto& gang : group.status.gangs) {
    if (!gang.planned || !gang.committed) continue;
    for (const auto& place : gang.placements) {
      placed.emplace(place.role, place.slot.ordinal, place.slot.incarnation, place.number);
    }
  }
  return placed;
}

using PodSlot = std::tuple<std::string_view, int, int>;  // role, ordinal, incarnation

// Slots whose pod was created for the place that they have now.
std::set<PodSlot> slots_with_pods(const JobView& view) {
  const std::set<PlacedSlot> placed = placed_slots(*view.group);
  std::set<PodSlot> slots;
  for (const auto& pod : view.pods) {
    const auto of = gang::slot_of(*pod);
    const auto role = of ? job::parse_role(of->role) : std::nullopt;
    if (!role || pod->meta.deleting || of->pod_group_uid != view.group->meta.uid) continue;
    const auto [ordinal, incarnation] = std::pair(of->slot.ordinal, of->slot.incarnation);
    if (placed.count({to_string(*role), ordinal, incarnation, of->placement}) == 0) continue;
    slots.emplace(to_string(*role), ordinal, incarnation);
  }
  return slots;
}

// The ids of entries with a replica that still waits for a place, or for a pod.
std::set<std::int64_t> waiting_entries(const JobView& view) {
  const std::set<PodSlot> made = slots_with_pods(view);
  const auto has_pod = [&made](const job::UnitPod& pod) {
    return made.count({to_string(pod.role), pod.slot.ordinal, pod.slot.incarnation}) > 0;
  };
  std::set<std::int64_t> waiting;
  for (const Role role : {Role::kCollector, Role::kLearner}) {
    for (const auto& unit : living_units(view, role)) {
      if (unit.entry == nullptr) continue;
      const auto pods = job::pods_of(unit);
      if (!std::all_of(pods.begin(), pods.end(), has_pod)) waiting.insert(unit.entry->id);
    }
  }
  return waiting;
}

}  // namespace

void merge_placed(const JobView& view, job::Requests& requests) {
  const int attempt = view.job.status.attempt;
  if (view.group == nullptr || view.group->spec.attempt != attempt) return;
  // The controller knows a gang that was taken back by its entry's id, a learner by its ordinal.
  const auto& requeued = view.job.status.requeued_gangs;
  if (std::any_of(requeued.begin(), requeued.end(), [](const auto& of) { return !of.learner; })) {
    return;
  }
  const std::set<std::int64_t> waiting = waiting_entries(view);

  std::vector<job::RequestEntry> merged;
  merged.reserve(requests.entries.size());  // the keys below borrow from its entries
  std::map<decltype(kind_of(merged.front())), std::size_t> oldest;
  for (auto& entry : requests.entries) {
    const bool is_placed = entry.attempt == attempt && waiting.count(entry.id) == 0;
    const auto known = is_placed ? oldest.find(kind_of(entry)) : oldest.end();
    if (known == oldest.end()) {
      merged.push_back(std::move(entry));
      if (is_placed) oldest.emplace(kind_of(merged.back()), merged.size() - 1);
      continue;
    }
    auto& slots = merged[known->second].slots;
    slots.insert(slots.end(), entry.slots.begin(), entry.slots.end());
  }
  for (const auto& [kind, at] : oldest) {
    std::sort(merged[at].slots.begin(), merged[at].slots.end());
  }
  requests.entries = std::move(merged);
}

std::size_t count_kinds(const job::Requests& requests) {
  std::set<decltype(kind_of(requests.entries.front()))> kinds;
  for (const auto& entry : requests.entries) kinds.insert(kind_of(entry));
  return kinds.size();
}

}  // namespace nervex::server
