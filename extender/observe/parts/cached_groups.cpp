#include "extender/observe/parts/cached_groups.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "planner/bind/commit.h"
#include "planner/facts/settled.h"
#include "planner/preemption/preempting.h"

namespace nervex::extender {
namespace {

// Each write of ours is conditional: once the resourceVersion has moved it was stored or never will
// be.
void end_unconfirmed(CachedGroup& entry, const gang::PodGroup& now) {
  const gang::PodGroupPtr& before = entry.group();
  if (!before || before->meta.resource_version == now.meta.resource_version) return;
  if (entry.placements.attempted()) entry.placements.set_attempted(nullptr);
  const std::set<std::string> committing = entry.placements.committing();
  for (const std::string& gang : committing) {
    if (!entry.commits.get(gang).is_running) entry.placements.set_committing(gang, false);
  }
}

// A gang that is only in the spec waits, too: its first decision may be under way.
bool has_waiting_gang(const gang::PodGroup& group) {
  const auto& gangs = group.spec.gangs;
  return std::any_of(gangs.begin(), gangs.end(), [&](const gang::Gang& wanted) {
    const gang::GangStatus* gang = gang::find_gang(group.status, wanted.name);
    return gang == nullptr || !gang->planned;
  });
}

std::map<gang::SlotKey, std::string_view> index_nodes(const gang::PodGroupStatus& status) {
  std::map<gang::SlotKey, std::string_view> nodes;
  for (const gang::GangStatus& gang : status.gangs) {
    for (const gang::Placement& placement : gang.placements) {
      nodes.emplace(gang::SlotKey(placement.role, placement.slot), placement.node);
    }
  }
  return nodes;
}

bool may_any_wait(const gang::PodGroup& group) {
  const auto sets = gang::all_sets(group.spec.gangs);
  return std::any_of(sets.begin(), sets.end(), gang::may_any_wait);
}

bool is_committed(const gang::PodGroup& group, const gang::Gang& gang) {
  const gang::GangStatus* status = gang::find_gang(group.status, gang.name);
  return status != nullptr && status->committed;
}

// Cost: its slots and their pods.
queue::OtherUses list_other_uses(const gang::PodGroup& group, const SlotPods& pods) {
  queue::OtherUses uses;
  if (!pods.has_any(group.meta.uid) && !may_any_wait(group)) return uses;
  const auto nodes = index_nodes(group.status);
  const queue::SlotNumbers counted = queue::list_counted_slots(group);
  for (std::size_t i = 0; i < group.spec.gangs.size(); ++i) {
    const std::vector<gang::MemberSet>& sets = group.spec.gangs[i].members;
    for (std::size_t j = 0; j < sets.size(); ++j) {
      for (const gang::SlotId slot : sets[j].slots) {
        const auto node = nodes.find(gang::SlotKey(sets[j].role, slot));
        auto use = pods.other_use(
            group.meta.uid, group.meta.ns.str(),
            {sets[j].role, slot, node == nodes.end() ? std::string_view() : node->second,
             &sets[j].shape.requests, queue::contains(counted, sets[j].role, slot.ordinal)});
        // Nothing is kept for it until it has a placement.
        const bool waits_to_grow =
            node == nodes.end() &&
            gang::may_wait(sets[j], slot, is_committed(group, group.spec.gangs[i]));
        if (!use && waits_to_grow) use = queue::OtherUse{sets[j].role, slot};
        if (!use) continue;
        use->is_over = use->is_over || waits_to_grow;
        use->gang = i;
        use->set = j;
        uses.push_back(*std::move(use));
      }
    }
  }
  std::sort(uses.begin(), uses.end(), [](const queue::OtherUse& a, const queue::OtherUse& b) {
    return std::tie(a.role, a.slot) < std::tie(b.role, b.slot);
  });
  return uses;
}

}  // namespace

void CachedGroup::note_progress(const gang::PodSlot& slot, bool is_created, MonoTime now) {
  const planner::SlotSeen seen = placements.seen(slot.role, slot.slot.ordinal);
  if (seen.committed || !seen.placement || seen.placement->number != slot.placement) return;
  history.note_progress(seen.gang, is_created, now);
}

void CachedGroup::note_held(const gang::PodSlot& slot, MonoTime now) {
  const planner::SlotSeen seen = placements.seen(slot.role, slot.slot.ordinal);
  if (seen.committed || !seen.placement || seen.placement->number != slot.placement) return;
  const gang::Gang* wanted = gang::find_gang(group()->spec, seen.gang);
  const bool has_claims = wanted != nullptr &&
                          std::any_of(wanted->members.begin(), wanted->members.end(),
                                      [](const auto& set) { return !set.resource_claims.empty(); });
  history.note_held(seen.gang, slot.placement, !has_claims, now);
}

CachedGroup* CachedGroups::find(std::string_view uid) {
  const auto found = by_uid_.find(uid);
  return found == by_uid_.end() ? nullptr : &found->second;
}

const CachedGroup* CachedGroups::find(std::string_view uid) const {
  const auto found = by_uid_.find(uid);
  return found == by_uid_.end() ? nullptr : &found->second;
}

CachedGroup* CachedGroups::find_for(std::string_view uid, const kube::Pod& pod) {
  CachedGroup* entry = find(uid);
  if (entry == nullptr) return nullptr;
  return gang::Origin(entry->group()->meta) == gang::Origin(pod.meta) ? entry : nullptr;
}

void CachedGroups::set(const std::string& key, const gang::PodGroupPtr& stored) {
  uids_[key] = stored->meta.uid;
  CachedGroup& entry = by_uid_.try_emplace(stored->meta.uid, nodes_, pods_).first->second;
  end_unconfirmed(entry, *stored);
  set_stored(entry, stored);
}

std::optional<std::string> CachedGroups::erase_replaced(const std::string& key,
                                                        const gang::PodGroupPtr& stored) {
  const auto known = uids_.find(key);
  if (known == uids_.end() || (stored && stored->meta.uid == known->second)) return std::nullopt;
  std::string uid = std::move(known->second);
  uids_.erase(known);
  const auto entry = by_uid_.find(uid);
  set_waits_in(entry->second, "");
  set_victims(entry->second, {});
  by_uid_.erase(entry);
  changed_use_.erase(uid);
  queues_.erase_settled(uid);
  return uid;
}

bool CachedGroups::refresh_if(const std::function<bool(const VolumesUsed&)>& is_one) {
  bool any = false;
  for (auto& [uid, entry] : by_uid_) {
    if (!is_one(entry.effective.volumes)) continue;
    any = true;
    refresh(entry);
  }
  return any;
}

void CachedGroups::refresh_slot(const gang::PodSlot& slot) {
  CachedGroup* entry = find(slot.pod_group_uid);
  if (entry == nullptr) return;
  entry->placements.refresh(slot);
  note_use(*entry, slot);
}

void CachedGroups::set_stored(CachedGroup& entry, const gang::PodGroupPtr& stored) {
  entry.stored = stored;
  entry.effective =
      make_effective(stored, entry.effective.highest_placement, existing_, pods_, volumes_);
  entry.placements.set_group(entry.effective.group);
  const gang::PodGroup& group = *entry.group();
  set_waits_in(entry, has_waiting_gang(group) ? group.meta.ns.str() : "");
  set_victims(entry, group.status);
  entry.history.keep_uncommitted(group.status);
  entry.is_settled =
      !entry.effective.is_restored && planner::is_settled(group, entry.effective.enlarged);
  list_use(entry);
}

void CachedGroups::list_use(CachedGroup& entry) {
  const gang::PodGroup& group = *entry.group();
  auto uses = list_other_uses(group, pods_);
  entry.uses = uses.empty() ? nullptr : std::make_shared<const queue::OtherUses>(std::move(uses));
  auto workloads = queue::list_workloads(group, entry.uses.get());
  const std::string home = queues_.find_home(group.status.queue, group.meta.ns.str());
  for (queue::Workload& workload : workloads) workload.queue = home;
  entry.workloads = std::make_shared<const std::vector<queue::Workload>>(std::move(workloads));
  changed_use_.erase(group.meta.uid);
  count_settled(entry);
}

// Most changes of pods change nothing here, and cost the pods of the slot.
void CachedGroups::note_use(const CachedGroup& entry, const gang::PodSlot& slot) {
  const planner::SlotSeen seen = entry.placements.seen(slot.role, slot.slot.ordinal);
  if (seen.placement) {
    const gang::Placement& placement = *seen.placement;
    const auto now =
        pods_.other_use(slot.pod_group_uid, entry.group()->meta.ns.str(),
                        {placement.role, placement.slot, placement.node, &seen.requests, true});
    const queue::OtherUse* listed =
        queue::find_use(entry.uses.get(), placement.role, placement.slot);
    const bool is_same =
        now ? listed != nullptr && listed->is_over == now->is_over && listed->pods == now->pods
            : listed == nullptr;
    if (is_same) return;
  }
  changed_use_.insert(slot.pod_group_uid);
}

// Cost: PodGroups; those of deleted queues look up their namespace.
void CachedGroups::note_homes() {
  for (const auto& [uid, entry] : by_uid_) {
    const gang::PodGroup& group = *entry.group();
    if (entry.workloads->empty()) continue;
    const std::string home = queues_.find_home(group.status.queue, group.meta.ns.str());
    if (entry.workloads->front().queue != home) changed_use_.insert(uid);
  }
}

void CachedGroups::update_use() {
  if (queues_.take_homes_changed()) note_homes();
  const std::set<std::string> changed = std::exchange(changed_use_, {});
  for (const std::string& uid : changed) {
    if (CachedGroup* entry = find(uid)) list_use(*entry);
  }
}

void CachedGroups::count_settled(const CachedGroup& entry) {
  const gang::PodGroup& group = *entry.group();
  // While it is being deleted its pods count, as long as they use capacity (orphaned_pods.h).
  if (!entry.is_settled || group.meta.deleting) return queues_.set_settled(group.meta.uid, nullptr);
  if (!queues_.uses_classes()) return queues_.set_settled(group.meta.uid, entry.workloads);
  auto workloads = std::make_shared<std::vector<queue::Workload>>(*entry.workloads);
  for (queue::Workload& workload : *workloads) {
    queue::count_classes(workload, group, entry.uses.get(),
                         [this](std::string_view node) { return queues_.find_class(node); });
  }
  queues_.set_settled(group.meta.uid, std::move(workloads));
}

void CachedGroups::set_victims(CachedGroup& entry, const gang::PodGroupStatus& status) {
  for (const std::string& uid : entry.victims) victims_.erase(victims_.find(uid));
  entry.victims.clear();
  for (const gang::GangStatus& gang : status.gangs) {
    for (const gang::Victim& victim : gang.victims) {
      entry.victims.push_back(victim.pod_group_uid);
      victims_.insert(victim.pod_group_uid);
    }
  }
}

std::map<std::string, std::vector<planner::VictimState>, std::less<>> CachedGroups::see_victims(
    const gang::PodGroup& group) const {
  std::map<std::string, std::vector<planner::VictimState>, std::less<>> seen;
  for (const gang::GangStatus& gang : group.status.gangs) {
    for (const gang::Victim& victim : gang.victims) {
      seen[gang.name].push_back(see_victim(group, victim));
    }
  }
  return seen;
}

bool CachedGroups::are_victims_gone(const gang::PodGroup& group,
                                    const gang::GangStatus& gang) const {
  return std::all_of(gang.victims.begin(), gang.victims.end(), [&](const auto& victim) {
    return see_victim(group, victim) == planner::VictimState::kGone;
  });
}

std::string CachedGroups::find_namespace(const gang::PodGroup& group,
                                         const gang::Victim& victim) const {
  const CachedGroup* entry = find(victim.pod_group_uid);
  if (entry != nullptr) return entry->group()->meta.ns;
  return victim.pod_group.empty() ? std::string() : group.meta.ns.str();
}

// Its pods may outlive its placements, and its PodGroup.
planner::VictimState CachedGroups::see_victim(const gang::PodGroup& preemptor,
                                              const gang::Victim& victim) const {
  const CachedGroup* entry = find(victim.pod_group_uid);
  const gang::PodGroup* group = entry == nullptr ? nullptr : entry->group().get();
  const planner::VictimState state = planner::judge_victim(group, victim);
  if (state != planner::VictimState::kGone) return state;
  std::int64_t through = victim.through;
  std::set<std::int64_t> others;  // placements that the PodGroup still has
  if (group != nullptr && !group->meta.deleting) {
    for (const gang::GangStatus& gang : group->status.gangs) {
      for (const gang::Placement& placement : gang.placements) others.insert(placement.number);
    }
  } else if (victim.gang == gang::kBaseGang) {
    through = std::numeric_limits<std::int64_t>::max();  // all gangs end with it
  }
  const std::string ns = find_namespace(preemptor, victim);
  return pods_.has_live_pod(victim.pod_group_uid, ns, through, others)
             ? planner::VictimState::kEnding
             : planner::VictimState::kGone;
}

void CachedGroups::recount_settled() {
  for (const auto& [uid, entry] : by_uid_) count_settled(entry);
}

void CachedGroups::set_waits_in(CachedGroup& entry, const std::string& ns) {
  if (entry.waits_in == ns) return;
  if (const auto before = waiting_.find(entry.waits_in); before != waiting_.end()) {
    if (--before->second == 0) waiting_.erase(before);
  }
  if (!ns.empty()) ++waiting_[ns];
  entry.waits_in = ns;
}

Result<Nothing> check_capacity(CachedGroup& entry, const gang::PodGroup& group,
                               const std::string& gang, const NodeTable& nodes) {
  // Capacity that an unconfirmed commit has reserved is the gang's own.
  const bool is_unconfirmed = entry.placements.committing().count(gang) > 0;
  entry.placements.set_committing(gang, false);
  std::set<std::string_view> names;  // sorted, as check_commit() wants the nodes
  if (const gang::GangStatus* status = gang::find_gang(group.status, gang)) {
    for (const gang::Placement& placement : status->placements) names.insert(placement.node);
    for (const gang::ReservedCapacity& reserved : status->reserved) names.insert(reserved.node);
  }
  auto fits = planner::check_commit(group, gang, nodes.views(names, group.spec.priority));
  entry.placements.set_committing(gang, is_unconfirmed);
  return fits;
}

}  // namespace nervex::extender
