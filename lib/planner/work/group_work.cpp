#include "planner/work/group_work.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "planner/facts/next_look.h"
#include "planner/facts/settled.h"
#include "planner/recovery/refusals.h"

namespace nervex::planner {
namespace {

const Rejection* find_rejection(const gang::PodGroup& group, const Rejections& rejections) {
  const auto found = rejections.find(group.meta.uid);
  const bool is_known = found != rejections.end();
  return is_known && found->second.generation == group.meta.generation ? &found->second : nullptr;
}

// Applies kube-scheduler's earlier refusals.
void heed_refusals(GroupWork& work, SysTime now) {
  const auto limits = collect_node_limits(work.avoid, now);
  for (GangWork& gang : work.gangs) {
    gang.limits = limits;
    if (gang.is_committed() || gang.before == nullptr) continue;
    if (!is_paused(*gang.before, now)) continue;
    gang.obstruct(Obstacle::kPaused);
    gang.plan_after = gang.before->refusals.plan_after;
  }
}

// It exists and accepts any pod, apart from capacity and the pod's own constraints.
bool is_plain_node(const placement::Cluster& nodes, std::string_view name) {
  const auto at = nodes.find(name);
  return at && nodes.node(*at).ready && !nodes.node(*at).unschedulable &&
         nodes.node(*at).taints.empty();
}

// Until when nothing needs a decision in a group that is settled except for unbound pods: its gangs
// have just been committed, and the nodes have not changed. Nearly all open groups are such, and
// checking every slot of a large gang after each bind would cost more than the rest of the cycle.
// nullopt: there may be something to decide.
std::optional<SysTime> starts_until(const GroupSeen& seen, const placement::Cluster& nodes,
                                    const HealingMemory& memory, const HealingOptions& healing) {
  std::optional<SysTime> until;
  for (const gang::GangStatus& gang : seen.group->status.gangs) {
    const auto known = memory.incomplete.find({seen.group->meta.uid, gang.name});
    if (known == memory.incomplete.end()) continue;
    look_by(until, known->second.since + healing.bind_deadline);
  }
  const bool is_plain = std::all_of(seen.open.begin(), seen.open.end(), [&](const OpenSlot& open) {
    const bool is_starting =
        open.why == OpenSlot::Why::kUnbound || open.why == OpenSlot::Why::kNotStarted;
    return is_starting && is_plain_node(nodes, open.placement.node);
  });
  return is_plain ? until : std::nullopt;
}

void keep_rejections(const GroupSeen& seen, const HealingMemory& from, HealingMemory& to) {
  for (const auto& [set, node, times] : seen.rejections) {
    const auto known = from.rejections.find({seen.group->meta.uid, set, node});
    if (known != from.rejections.end()) to.rejections.insert(*known);
  }
}

// The status was lost, and the queue with it. The one that the job would wait in now is the best
// guess: in the root no limit would hold for it.
gang::QueuePlace find_lost_queue(const GroupSeen& seen, const Snapshot& snapshot) {
  const queue::QueueTree& tree = snapshot.facts.tree();
  const auto found = snapshot.facts.find_queue(seen.group->spec.queue, seen.group->meta.ns.str());
  const auto* queue = std::get_if<queue::QueueIndex>(&found);
  if (queue == nullptr) return {};
  return {tree[*queue].name, 0, tree.max_runtime_seconds(*queue), tree.list_parents(*queue)};
}

bool may_wait(const GroupSeen& seen, const CycleFacts& facts, const HealingMemory& memory,
              HealingMemory& next, NextLook& next_look) {
  if (seen.unconfirmed || seen.is_restored || seen.is_victim) return false;
  if (!is_settled(*seen.group, seen.enlarged)) return false;
  if (seen.open.empty()) {
    keep_rejections(seen, memory, next);
    return true;
  }
  const auto until = starts_until(seen, facts.snapshot.nodes, memory, facts.options.healing);
  if (!until || *until <= facts.now) return false;
  for (const gang::GangStatus& gang : seen.group->status.gangs) {
    const auto known = memory.incomplete.find({seen.group->meta.uid, gang.name});
    if (known != memory.incomplete.end()) next.incomplete.insert(*known);
  }
  keep_rejections(seen, memory, next);
  next_look.at(until);
  return true;
}

}  // namespace

std::vector<GroupWork> collect_group_work(const CycleFacts& facts, const CycleState& state,
                                          HealingMemory& next, NextLook& next_look) {
  const Snapshot& snapshot = facts.snapshot;
  std::vector<GroupWork> works;
  for (const GroupSeen& seen : snapshot.groups) {
    if (seen.group->meta.deleting) continue;
    const bool is_drained = facts.tree().is_drained(seen.group->status.queue.name);
    if (!is_drained && may_wait(seen, facts, state.healing, next, next_look)) continue;
    GroupWork& work = works.emplace_back(GroupWork{&seen,
                                                   collect_gang_work(seen),
                                                   find_rejection(*seen.group, state.rejections),
                                                   ReservedPlaces(seen),
                                                   {},
                                                   seen.group->status.queue,
                                                   is_drained});
    work.queue.position = 0;
    if (seen.is_restored && work.queue.name.empty()) work.queue = find_lost_queue(seen, snapshot);
    work.avoid = note_rejections(seen, work.gangs, facts.now, state.healing, next);
    heed_refusals(work, facts.now);
  }
  return works;
}

std::vector<ForeignWork> collect_foreign_work(const CycleFacts& facts,
                                              const ForeignMemory& memory) {
  std::vector<ForeignWork> works;
  works.reserve(facts.snapshot.foreign.size());
  for (const ForeignGangSeen& seen : facts.snapshot.foreign) {
    if (seen.group->meta.deleting) continue;
    const auto known = memory.gangs.find(seen.key());
    works.emplace_back(seen, known == memory.gangs.end() ? nullptr : &known->second, facts.now);
  }
  return works;
}

CycleWork::CycleWork(std::vector<GroupWork> own, std::vector<ForeignWork> others)
    : all_groups(std::move(own)), foreign(std::move(others)) {
  std::vector<Work> works;
  std::vector<queue::Rank> ranks;
  works.reserve(all_groups.size() + foreign.size());
  ranks.reserve(all_groups.size() + foreign.size());
  const auto add = [&](auto& work) {
    works.emplace_back(&work);
    ranks.push_back(work.rank());
  };
  for (GroupWork& work : all_groups) {
    for (GangWork& gang : work.gangs) {
      gang.siblings = work.gangs;
      gang.reserved = &work.reserved.all();
    }
    add(work);
  }
  for (ForeignWork& work : foreign) add(work);
  queue.reserve(works.size());
  groups.reserve(all_groups.size());
  for (const std::size_t index : queue::order(ranks)) {
    queue.push_back(works[index]);
    if (GroupWork** const group = std::get_if<GroupWork*>(&queue.back())) groups.push_back(*group);
  }
}

}  // namespace nervex::planner
