#include "planner/work/running_gangs.h"

#include <algorithm>
#include <map>

#include "planner/work/queue_use.h"

namespace nervex::planner {
namespace {

std::vector<SlotUse> list_use(const RunningGang& gang, const Ending& ending) {
  if (gang.status == nullptr) return {};
  std::map<gang::SlotKey, const gang::MemberSet*> sets;
  for (const gang::MemberSet& set : gang.spec->members) {
    for (const gang::SlotId slot : set.slots) sets.emplace(gang::SlotKey(set.role, slot), &set);
  }
  std::vector<SlotUse> use;
  for (const gang::Placement& placement : gang.status->placements) {
    const auto set = sets.find(gang::SlotKey(placement.role, placement.slot));
    if (set == sets.end() || gang.finished->count(placement.number) > 0) continue;
    if (ending.is_terminating(*gang.group, placement.number)) continue;
    use.push_back({set->second, placement.node});
  }
  for (const gang::ReservedCapacity& reserved : gang.status->reserved) {
    const gang::MemberSet* set = gang::find_set(gang.group->spec, reserved.set);
    if (set != nullptr) use.push_back({set, reserved.node, reserved.count});
  }
  return use;
}

// What it lacks may be what it waits for without healing.
bool may_any_wait(const gang::Gang& gang) {
  return std::any_of(gang.members.begin(), gang.members.end(), gang::may_any_wait);
}

// Jobs whose gangs change in this cycle, so that their status does not say what they use.
std::set<std::string_view> find_changing(const CycleWork& work) {
  std::set<std::string_view> changing;
  for (const GroupWork* group : work.groups) {
    const bool is_changing =
        group->is_drained || group->seen->unconfirmed ||
        std::any_of(group->gangs.begin(), group->gangs.end(), [](const GangWork& gang) {
          const auto is_new = [](const auto& slot) { return slot.placement.number == 0; };
          return gang.is_committed() &&
                 (!gang.is_whole() || !gang.is_stored_committed() ||
                  std::any_of(gang.placed.begin(), gang.placed.end(), is_new));
        });
    const gang::GangStatus* base = gang::find_gang(group->seen->group->status, gang::kBaseGang);
    const bool is_reserve_changing =
        base != nullptr && base->committed && group->reserved.places() != base->reserved;
    if (is_changing || is_reserve_changing) changing.insert(group->seen->group->meta.uid);
  }
  return changing;
}

}  // namespace

RunningGangs::RunningGangs(const Snapshot& snapshot, const CycleWork& work, const Ending& ending)
    : ending_(ending) {
  std::map<const GroupSeen*, const GroupWork*> works;
  for (const GroupWork* group : work.groups) works.emplace(group->seen, group);
  for (const GroupSeen& seen : snapshot.groups) {
    add(seen, snapshot);
    const auto known = works.find(&seen);
    if (known != works.end()) add_waiting(*known->second, snapshot);
  }
  for (const RunningGroup& one : snapshot.running) add(one, snapshot);
  uses_.resize(gangs_.size());
  make_candidates(find_changing(work));
}

template <typename Seen>
void RunningGangs::add(const Seen& seen, const Snapshot& snapshot) {
  const gang::PodGroup& group = *seen.group;
  if (group.meta.deleting) return;
  for (std::size_t i = 0; i < group.spec.gangs.size(); ++i) {
    const gang::Gang& gang = group.spec.gangs[i];
    const gang::GangStatus* status = gang::find_gang(group.status, gang.name);
    if (status == nullptr || !status->committed) continue;
    gangs_.push_back({&group, &seen.finished, seen.uses.get(), &gang, status});
    workloads_.push_back(seen.make_workload(i));
    set_class_requests(workloads_.back(), group, seen.uses.get(), snapshot);
  }
}

// Requests of a running job are counted for what they are about to use, and end with the job.
void RunningGangs::add_waiting(const GroupWork& work, const Snapshot& snapshot) {
  const gang::PodGroup& group = *work.seen->group;
  if (gangs_.empty() || gangs_.back().group != &group) return;
  for (const GangWork& gang : work.gangs) {
    if (gang.is_committed()) continue;
    queue::Workload workload =
        make_used_workload(work, gang, snapshot.facts, find_classes(snapshot));
    if (workload.requests.empty()) continue;
    gangs_.push_back({&group, &work.seen->finished, work.seen->uses.get(),
                      &group.spec.gangs[gang.position], nullptr});
    workloads_.push_back(std::move(workload));
  }
}

void RunningGangs::make_candidates(const std::set<std::string_view>& changing) {
  for (std::size_t i = 0; i < gangs_.size(); ++i) {
    if (gangs_[i].status == nullptr) continue;
    const gang::PodGroup& group = *gangs_[i].group;
    const gang::GangStatus& status = *gangs_[i].status;
    const std::string_view uid = group.meta.uid;
    if (ending_.has(uid, status.name) || changing.count(uid) > 0) continue;
    const bool is_whole = status.planned || may_any_wait(*gangs_[i].spec);
    if (!is_whole || status.healing_since || gang::is_released(status)) continue;
    queue::PreemptionCandidate& candidate = candidates_.emplace_back();
    candidate.workloads.push_back(&workloads_[i]);
    if (gangs_[i].spec->kind != gang::GangKind::kBase) continue;
    const auto add = [&](std::size_t j) {
      const bool is_ending = ending_.has(uid, gangs_[j].spec->name);
      if (!is_ending) candidate.workloads.push_back(&workloads_[j]);
    };
    for (std::size_t j = i; j-- > 0 && gangs_[j].group == &group;) add(j);
    for (std::size_t j = i + 1; j < gangs_.size() && gangs_[j].group == &group; ++j) add(j);
  }
  queue::sort_by_cost(candidates_);
}

gang::Victim name_victim(const RunningGang& gang, std::string_view ns) {
  gang::Victim victim{gang.group->meta.uid, gang.spec->name};
  for (const gang::Placement& placement : gang.status->placements) {
    victim.through = std::max(victim.through, placement.number);
  }
  if (gang.group->meta.ns == ns) victim.pod_group = gang.group->meta.name;
  return victim;
}

const std::vector<SlotUse>& RunningGangs::use(std::size_t index) {
  if (!uses_[index]) uses_[index] = list_use(gangs_[index], ending_);
  return *uses_[index];
}

}  // namespace nervex::planner
