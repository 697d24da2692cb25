#include "extender/cycle/running_gangs.h"

#include <algorithm>
#include <map>

namespace nervex::extender {
namespace {

std::vector<NodeUse> list_use(const RunningGang& gang) {
  std::map<gang::SlotKey, const gang::MemberSet*> sets;
  for (const gang::MemberSet& set : gang.spec->members) {
    for (const gang::SlotId slot : set.slots) sets.emplace(gang::SlotKey(set.role, slot), &set);
  }
  std::vector<NodeUse> use;
  for (const gang::Placement& placement : gang.status->placements) {
    const auto set = sets.find(gang::SlotKey(placement.role, placement.slot));
    if (set == sets.end() || gang.finished->count(placement.number) > 0) continue;
    use.push_back({set->second, placement.node});
  }
  for (const gang::ReservedCapacity& reserved : gang.status->reserved) {
    const gang::MemberSet* set = gang::find_set(gang.group->spec, reserved.set);
    if (set != nullptr) use.push_back({set, reserved.node, reserved.count});
  }
  return use;
}

// Jobs whose gangs change in this cycle, so that their status does not say what they use.
std::set<std::string_view> find_changing(const CycleWork& work) {
  std::set<std::string_view> changing;
  for (const GroupWork* group : work.groups) {
    const bool is_changing =
        group->is_drained || group->seen->unconfirmed ||
        std::any_of(group->gangs.begin(), group->gangs.end(), [](const GangWork& gang) {
          const auto is_new = [](const auto& slot) { return slot.placement.number == 0; };
          return gang.committed && (!gang.is_whole() || !gang.is_stored_committed ||
                                    std::any_of(gang.placed.begin(), gang.placed.end(), is_new));
        });
    const gang::GangStatus* base = gang::find_gang(group->seen->group->status, gang::kBaseGang);
    const bool is_reserve_changing =
        base != nullptr && base->committed && group->reserved.places() != base->reserved;
    if (is_changing || is_reserve_changing) changing.insert(group->seen->group->meta.uid);
  }
  return changing;
}

using Names = std::set<std::pair<std::string_view, std::string_view>>;

Names find_named(const CycleWork& work) {
  Names named;
  for (const GroupWork* group : work.groups) {
    for (const GangWork& gang : group->gangs) {
      for (const gang::Victim& victim : gang.victims) {
        named.emplace(victim.pod_group_uid, victim.gang);
      }
    }
  }
  return named;
}

}  // namespace

RunningGangs::RunningGangs(const Snapshot& snapshot, const CycleWork& work) {
  for (const GroupSeen& seen : snapshot.groups) add(*seen.group, seen.finished);
  for (const RunningGroup& one : snapshot.running) add(*one.group, one.finished);
  if (snapshot.facts.tree().uses_classes()) {
    const auto find_class = [&](std::string_view node) -> std::string_view {
      const auto at = snapshot.nodes.find(node);
      if (!at) return {};
      const auto& labels = snapshot.nodes.node(*at).labels;
      const auto label = labels.find(snapshot.facts.class_label);
      return label == labels.end() ? std::string_view() : std::string_view(label->second.str());
    };
    for (std::size_t i = 0; i < workloads_.size(); ++i) {
      queue::count_classes(workloads_[i], *gangs_[i].group, find_class);
    }
  }
  uses_.resize(gangs_.size());
  make_candidates(find_changing(work), find_named(work));
}

void RunningGangs::add(const gang::PodGroup& group, const FinishedPlacements& finished) {
  for (std::size_t i = 0; i < group.spec.gangs.size(); ++i) {
    const gang::Gang& gang = group.spec.gangs[i];
    const gang::GangStatus* status = gang::find_gang(group.status, gang.name);
    if (status == nullptr || !status->committed) continue;
    gangs_.push_back({&group, &finished, &gang, status});
    workloads_.push_back(queue::make_workload(group, i));
  }
}

void RunningGangs::make_candidates(const std::set<std::string_view>& changing, const Names& named) {
  for (std::size_t i = 0; i < gangs_.size(); ++i) {
    const gang::PodGroup& group = *gangs_[i].group;
    const gang::GangStatus& status = *gangs_[i].status;
    const std::string_view uid = group.meta.uid;
    const bool is_named =
        named.count({uid, status.name}) > 0 || named.count({uid, gang::kBaseGang}) > 0;
    if (is_named) ending_.push_back(&workloads_[i]);
    if (is_named || group.meta.deleting || changing.count(uid) > 0) continue;
    if (!status.planned || status.healing_since || gang::is_released(status)) continue;
    queue::PreemptionCandidate& candidate = candidates_.emplace_back();
    candidate.workloads.push_back(&workloads_[i]);
    if (gangs_[i].spec->kind != gang::GangKind::kBase) continue;
    for (std::size_t j = i; j-- > 0 && gangs_[j].group == &group;) {
      candidate.workloads.push_back(&workloads_[j]);
    }
    for (std::size_t j = i + 1; j < gangs_.size() && gangs_[j].group == &group; ++j) {
      candidate.workloads.push_back(&workloads_[j]);
    }
  }
  queue::sort_by_cost(candidates_);
}

const std::vector<NodeUse>& RunningGangs::use(std::size_t index) {
  if (!uses_[index]) uses_[index] = list_use(gangs_[index]);
  return *uses_[index];
}

void RunningGangs::remove(const std::vector<std::size_t>& candidates) {
  std::set<const queue::Workload*> ended;
  for (const std::size_t i : candidates) {
    for (const queue::Workload* workload : candidates_[i].workloads) ended.insert(workload);
  }
  std::erase_if(candidates_, [&](const queue::PreemptionCandidate& candidate) {
    return std::any_of(candidate.workloads.begin(), candidate.workloads.end(),
                       [&](const auto* workload) { return ended.count(workload) > 0; });
  });
}

}  // namespace nervex::extender
