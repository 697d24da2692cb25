#include "extender/observe/parts/pod_history.h"

#include <fmt/format.h>

#include <algorithm>

#include "kube/model/disruption.h"

namespace nervex::extender {

void PodHistory::note_rejection(const gang::PodGroup& group, const gang::PodSlot& slot,
                                const std::string& node) {
  for (const gang::MemberSet& set : gang::all_sets(group.spec.gangs)) {
    const bool is_its = set.role == slot.role &&
                        std::any_of(set.slots.begin(), set.slots.end(), [&](gang::SlotId one) {
                          return one.ordinal == slot.slot.ordinal;
                        });
    if (!is_its) continue;
    ++rejections_[{set.name, node}];
    return;
  }
}

void PodHistory::note_loss(const gang::PodSlot& slot, const kube::Pod& deleted) {
  std::string why;
  if (!deleted.node_lost.empty()) {
    why = fmt::format("lost its node {} ({})", deleted.node, deleted.node_lost);
  } else if (const std::string reason = kube::explain_disruption(deleted); !reason.empty()) {
    why = fmt::format("was stopped on node {}: {}", deleted.node, reason);
  }
  if (!why.empty()) losses_[{slot.role, slot.slot.ordinal}] = std::move(why);
}

void PodHistory::forget_loss(const gang::PodSlot& slot) {
  losses_.erase({slot.role, slot.slot.ordinal});
}

void PodHistory::note_progress(const std::string& gang, bool is_created, MonoTime now) {
  Progress& progress = progress_[gang];
  progress.last = now;
  if (is_created) progress.last_created = now;
}

void PodHistory::note_held(const std::string& gang, std::int64_t placement, bool counts_again,
                           MonoTime now) {
  const auto [at, is_first] = progress_.try_emplace(gang);
  Progress& progress = at->second;
  const bool is_new = progress.held.insert(placement).second;
  if (is_first || is_new || counts_again) progress.last = now;
}

void PodHistory::keep_uncommitted(const gang::PodGroupStatus& status) {
  std::erase_if(progress_, [&](const auto& progress) {
    const gang::GangStatus* gang = gang::find_gang(status, progress.first);
    return gang == nullptr || !gang->planned || gang->committed;
  });
}

std::vector<planner::NodeRejections> PodHistory::rejections() const {
  std::vector<planner::NodeRejections> all;
  for (const auto& [where, times] : rejections_) all.push_back({where.first, where.second, times});
  return all;
}

const PodHistory::Progress* PodHistory::find_progress(const std::string& gang) const {
  const auto found = progress_.find(gang);
  return found == progress_.end() ? nullptr : &found->second;
}

}  // namespace nervex::extender
