#include "controller/decide/attempt/created_pods.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "job/names.h"

namespace nervex::controller {
namespace {

using job::Role;
using CreatedThrough = job::Status::CreatedThrough;

std::int64_t stored_bound(const CreatedThrough& created, const gang::PodGroup& group,
                          const std::string& gang) {
  if (created.pod_group_uid != group.meta.uid) return 0;
  const auto at = created.gangs.find(gang);
  return at == created.gangs.end() ? 0 : at->second;
}

// The placements that have a pod which is not about to go, or had one that has ended. (Why a pod
// goes is known already: replacement.h, or we delete it.)
class Pods {
 public:
  explicit Pods(const Round& round) : round_(round) {
    for (const auto& member : round.attempt.pods) {
      if (!member.pod->meta.deleting)
        there_.emplace(to_string(member.role), slot_id(member.slot), member.placement);
    }
    for (const auto& ended_slot : round.job.status.ended)
      ended_.emplace(to_string(ended_slot.role), slot_id(ended_slot.slot));
  }

  bool has(const gang::Placement& placement) const {
    return there_.count({placement.role, placement.slot, placement.number}) != 0 ||
           ended_.count({placement.role, placement.slot}) != 0;
  }

  // We delete its pod, or have, and the next one may get the same placement.
  bool is_taken_back(const gang::Placement& placement) const {
    if (round_.backing_off.empty()) return false;
    const auto role = job::parse_role(placement.role);
    return role && round_.backing_off.count({*role, placement.slot.ordinal}) != 0;
  }

 private:
  const Round& round_;
  std::set<std::tuple<std::string_view, gang::SlotId, std::int64_t>> there_;
  std::set<gang::SlotKey> ended_;
};

// The highest number up to which no placement has never had a pod. `bound`: what it was.
std::int64_t next_bound(std::int64_t bound, const gang::GangStatus& gang, const Pods& pods) {
  std::int64_t missing = INT64_MAX;
  for (const auto& placement : gang.placements) {
    if (placement.number >= missing) continue;
    if (pods.is_taken_back(placement) || (placement.number > bound && !pods.has(placement)))
      missing = placement.number;
  }
  std::int64_t highest = bound < missing ? bound : 0;
  for (const auto& placement : gang.placements) {
    if (placement.number < missing) highest = std::max(highest, placement.number);
  }
  return highest;
}

}  // namespace

CreatedThrough created_through(const Round& round) {
  const gang::PodGroup* group = round.attempt.group;
  if (group == nullptr) return {};
  const Pods pods(round);
  CreatedThrough created;
  for (const auto& gang : group->status.gangs) {
    const std::int64_t before =
        stored_bound(round.seen.job.status.created_through, *group, gang.name);
    if (const std::int64_t bound = next_bound(before, gang, pods); bound > 0) {
      created.gangs[gang.name] = bound;
    }
  }
  // A gang that the spec has and the status lacks: a user emptied the status.
  for (const gang::Gang& gang : group->spec.gangs) {
    if (gang::find_gang(group->status, gang.name) != nullptr) continue;
    const std::int64_t bound =
        stored_bound(round.seen.job.status.created_through, *group, gang.name);
    if (bound > 0) created.gangs[gang.name] = bound;
  }
  if (!created.gangs.empty()) created.pod_group_uid = group->meta.uid;
  return created;
}

bool is_worth_writing(const CreatedThrough& before, const CreatedThrough& after) {
  if (before.pod_group_uid.empty()) return false;
  return before.pod_group_uid != after.pod_group_uid ||
         std::any_of(before.gangs.begin(), before.gangs.end(), [&](const auto& gang) {
           const auto at = after.gangs.find(gang.first);
           return at == after.gangs.end() || at->second < gang.second;
         });
}

std::set<gang::SlotKey> created_slots(const Round& round) {
  std::set<gang::SlotKey> slots;
  const gang::PodGroup& group = *round.attempt.group;
  const CreatedThrough& created = round.seen.job.status.created_through;
  if (created.pod_group_uid != group.meta.uid) return slots;
  for (const auto& gang : group.status.gangs) {
    const std::int64_t bound = stored_bound(created, group, gang.name);
    for (const auto& placement : gang.placements) {
      if (placement.number <= bound) slots.emplace(placement.role, placement.slot);
    }
  }
  return slots;
}

std::vector<std::string> vanished_pods(const Round& round) {
  std::vector<std::string> vanished;
  std::set<gang::SlotKey> empty = created_slots(round);  // less those that have their pod
  for (const auto& member : round.attempt.pods)
    empty.erase({to_string(member.role), slot_id(member.slot)});
  if (empty.empty()) return vanished;
  for (const auto& slot : round.slots.all()) {
    if (slot.role == Role::kCoordinator || slot.is_over) continue;
    if (round.backing_off.count({slot.role, slot.slot.ordinal}) != 0) continue;
    if (empty.count({to_string(slot.role), slot_id(slot.slot)}) == 0) continue;
    vanished.push_back(job::pod_name(round.seen.job, slot.role, slot.slot));
  }
  return vanished;
}

}  // namespace nervex::controller
