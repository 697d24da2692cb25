#include "extender/observe/planner_cache.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "planner/bind/commit.h"
#include "planner/gang/direct_placement.h"

namespace nervex::extender {
namespace {

bool is_any_preempted(const gang::PodGroupStatus& status) {
  return std::any_of(status.gangs.begin(), status.gangs.end(), [](const gang::GangStatus& gang) {
    return gang.reason == gang::kReasonPreempted;
  });
}

// A gang of it has no nodes, or nothing was decided on its spec yet. Plans count, too: in the cycle
// that drops one, its gang searches for whom it may preempt.
bool waits(const gang::PodGroup& group) {
  const auto& gangs = group.status.gangs;
  return !group.meta.deleting &&
         (group.status.observed_generation != group.meta.generation ||
          std::any_of(gangs.begin(), gangs.end(),
                      [](const gang::GangStatus& gang) { return !gang.committed; }));
}

}  // namespace

WithRunning choose_running(const planner::CycleOptions& options) {
  if (options.reservation.is_on()) return WithRunning::kYes;
  return options.preemption == queue::PreemptionMode::kOff ? WithRunning::kNo
                                                           : WithRunning::kIfPreempting;
}

// ---- what a cycle decides on

planner::Snapshot PlannerCache::snapshot() const {
  MutexLock lock(state_.mutex);
  return make_snapshot(WithRunning::kNo);
}

planner::Snapshot PlannerCache::snapshot(std::vector<planner::NodeChange>& changes,
                                         WithRunning with) {
  MutexLock lock(state_.mutex);
  changes = state_.nodes.take_changes();
  return make_snapshot(does_any_gang_wait() ? with : WithRunning::kNo);
}

planner::Snapshot PlannerCache::snapshot_for(std::string_view ns, WithRunning with) const {
  MutexLock lock(state_.mutex);
  return make_snapshot(with, ns);
}

planner::Snapshot PlannerCache::make_snapshot(WithRunning with,
                                              std::string_view with_quotas_of) const {
  const bool with_running = with == WithRunning::kYes || (with == WithRunning::kIfPreempting &&
                                                          state_.queues.tree().uses_preemption());
  state_.groups.update_use();
  planner::Snapshot snapshot;
  snapshot.nodes = state_.nodes.cluster();
  for (const auto& [uid, entry] : state_.groups.all()) {
    if (has_nothing_to_decide(entry)) {
      if (with_running) {
        snapshot.running.push_back(
            {entry.group(), entry.placements.finished(), entry.workloads, entry.uses});
      }
      continue;
    }
    const bool unconfirmed = entry.placements.attempted() != nullptr;
    planner::GroupSeen& seen = snapshot.groups.emplace_back();
    seen.group = unconfirmed ? entry.placements.attempted() : entry.group();
    seen.unconfirmed = unconfirmed;
    seen.committing = entry.placements.committing();
    if (!unconfirmed) seen.open = entry.placements.open_slots();
    seen.rejections = entry.history.rejections();
    seen.enlarged = entry.effective.enlarged;
    seen.unusable_claims = entry.effective.unusable_claims;
    seen.workloads = entry.workloads;
    seen.uses = entry.uses;
    seen.is_settled = entry.is_settled;
    seen.is_restored = entry.effective.is_restored;
    seen.losses = entry.history.losses();
    seen.victims = state_.groups.see_victims(*seen.group);
    seen.is_victim = state_.groups.is_victim(uid);
    if (with_running || is_any_preempted(seen.group->status)) {
      seen.finished = entry.placements.finished();
    }
    seen.ending = state_.pods.ending(uid, seen.group->meta.ns.str());
  }
  add_facts(snapshot, with_quotas_of);
  snapshot.foreign = state_.foreign.all(state_.volumes, state_.nodes, state_.queues.uses_classes());
  snapshot.nominated = state_.nodes.nominated();
  if (with_running) snapshot.terminating = state_.terminating.list();
  return snapshot;
}

// Only then does a cycle ask what could end.
bool PlannerCache::does_any_gang_wait() const {
  const auto& groups = state_.groups.all();
  return std::any_of(groups.begin(), groups.end(), [](const auto& one) {
    const CachedGroup& entry = one.second;
    const gang::PodGroupPtr& attempted = entry.placements.attempted();
    return attempted ? waits(*attempted) : !entry.is_settled && waits(*entry.group());
  });
}

bool PlannerCache::has_nothing_to_decide(const CachedGroup& entry) const {
  return entry.is_settled && !entry.placements.is_open() && !entry.history.has_rejections() &&
         !entry.placements.attempted() && entry.placements.committing().empty() &&
         !state_.groups.is_victim(entry.group()->meta.uid) &&
         !state_.queues.has_quota(entry.group()->meta.ns.str()) &&
         !state_.queues.tree().is_drained(entry.group()->status.queue.name);
}

void PlannerCache::add_facts(planner::Snapshot& snapshot, std::string_view with_quotas_of) const {
  if (state_.queues.take_classes_changed()) state_.groups.recount_settled();
  std::set<std::string_view> limited;
  if (!with_quotas_of.empty()) limited.insert(with_quotas_of);
  for (planner::GroupSeen& seen : snapshot.groups) {
    if (!state_.queues.has_quotas()) break;
    const std::string& ns = seen.group->meta.ns;
    if (!state_.queues.has_quota(ns)) continue;
    limited.insert(ns);
    const ExistingPods::BySlot* pods = state_.existing.find(seen.group->meta);
    for (const gang::MemberSet& set : gang::all_sets(seen.group->spec.gangs)) {
      for (const gang::SlotId slot : set.slots) {
        if (!has_pod(seen.group->meta, pods, set.role, slot))
          seen.without_pod.emplace_back(set.role, slot.ordinal);
      }
    }
    std::sort(seen.without_pod.begin(), seen.without_pod.end());
  }
  snapshot.facts = state_.queues.facts(limited);
  if (state_.queues.tree().is_root_alone()) return;
  snapshot.facts.orphaned = state_.orphaned.list_workloads(state_.queues, state_.nodes);
}

// A pod that has finished in an earlier incarnation is in no quota, and its slot gets another one.
bool PlannerCache::has_pod(const kube::Meta& group, const ExistingPods::BySlot* pods,
                           std::string_view role, gang::SlotId slot) const {
  if (pods == nullptr) return false;
  const auto own = pods->find({std::string(role), slot.ordinal});
  return own != pods->end() && !state_.pods.are_all_outdated(group.uid, group.ns.str(), role, slot,
                                                             own->second.placements.size());
}

std::vector<planner::NodeChange> PlannerCache::take_changes() {
  MutexLock lock(state_.mutex);
  return state_.nodes.take_changes();
}

std::vector<planner::NodeChange> PlannerCache::take_changes(
    std::vector<placement::NodeView>& spare) {
  MutexLock lock(state_.mutex);
  auto changes = state_.nodes.take_changes();
  spare = state_.nodes.spare_views();
  return changes;
}

bool PlannerCache::has_group(const std::string& uid) const {
  MutexLock lock(state_.mutex);
  return state_.groups.find(uid) != nullptr;
}

std::vector<planner::UncommittedPlan> PlannerCache::uncommitted_plans() const {
  MutexLock lock(state_.mutex);
  std::vector<planner::UncommittedPlan> plans;
  for (const auto& [uid, entry] : state_.groups.all()) {
    if (entry.is_settled || entry.group()->meta.deleting || entry.placements.attempted()) continue;
    for (const gang::GangStatus& gang : entry.group()->status.gangs) {
      if (gang::is_preempting(gang) && !gang.committed) {
        // The next cycle plans it, also if no leader was there for a long time.
        if (state_.groups.are_victims_gone(*entry.group(), gang)) continue;
        planner::UncommittedPlan plan{entry.group(), gang.name, 0, 0, 0, {}};
        plan.victims_due = find_victims_due(*entry.group(), gang);
        plan.is_counted =
            queue::is_counted(state_.queues.tree(), entry.group()->status.queue.name, gang.since);
        plans.push_back(std::move(plan));
        continue;
      }
      const bool is_committing = entry.placements.committing().count(gang.name) > 0;
      if (!gang.planned || gang.committed || is_committing) continue;
      plans.push_back(describe_plan(entry, gang));
    }
  }
  return plans;
}

SysTime PlannerCache::find_victims_due(const gang::PodGroup& group,
                                       const gang::GangStatus& gang) const {
  SysTime due = gang.since + planner::kVictimsDeadline;
  for (const gang::Victim& victim : gang.victims) {
    const auto end =
        state_.pods.ends_at(victim.pod_group_uid, state_.groups.find_namespace(group, victim));
    const bool is_waited_for =
        end && *end <= gang.since + planner::kVictimsDeadline + planner::kLongestVictimGrace;
    if (is_waited_for) due = std::max(due, *end + planner::kLateVictim);
  }
  return due;
}

planner::UncommittedPlan PlannerCache::describe_plan(const CachedGroup& entry,
                                                     const gang::GangStatus& gang) const {
  const gang::PodGroupPtr& group = entry.group();
  const auto& [ns, uid] = std::tie(group->meta.ns, group->meta.uid);
  planner::UncommittedPlan plan{group, gang.name, 0, 0, 0, {}};
  const auto* progress = entry.history.find_progress(gang.name);
  if (progress != nullptr) {
    plan.last_created = progress->last_created;
    plan.last_moved = progress->last;
  }
  const ExistingPods::BySlot* pods = state_.existing.find(group->meta);
  for (const planner::MemberSeen& member : entry.placements.seen(gang.name).members) {
    ++plan.pods;
    const auto& [set, slot, placement] = std::tie(member.set, member.slot, member.placement);
    // A finished pod counts as created, for any placement.
    bool is_created = state_.pods.has_finished(uid, ns, set->role, slot);
    if (pods != nullptr && placement) {
      const auto own = pods->find({set->role, slot.ordinal});
      is_created =
          is_created || (own != pods->end() && own->second.placements.count(placement->number) > 0);
    }
    if (is_created) ++plan.created;
    if (placement && state_.pods.is_gated(uid, ns, *placement)) ++plan.gated;
    const bool was_held =
        progress != nullptr && placement && progress->held.count(placement->number) > 0;
    if (is_created && !was_held && member.refusal.empty() && !set->resource_claims.empty()) {
      if (++plan.claiming == 1) plan.claim = set->resource_claims.front();
    }
    if (member.refusal.empty()) continue;
    plan.refusals.push_back({set->name, *placement, member.refusal,
                             unusable_claims(set->shape.claims, ns.str(), state_.volumes)});
  }
  return plan;
}

void PlannerCache::explain_foreign(const std::string& gang, std::string message) {
  MutexLock lock(state_.mutex);
  state_.foreign.explain(gang, std::move(message));
}

std::vector<kube::PodKey> PlannerCache::live_pods(const gang::PodGroup& group,
                                                  const gang::GangStatus& gang) const {
  std::set<std::int64_t> placements;
  if (gang.name != gang::kBaseGang) {
    for (const gang::Placement& placement : gang.placements) placements.insert(placement.number);
  }
  MutexLock lock(state_.mutex);
  return state_.pods.live_pods(group.meta.uid, group.meta.ns.str(), placements);
}

// ---- writes of statuses

bool PlannerCache::mark_unconfirmed(gang::PodGroupPtr attempted) {
  MutexLock lock(state_.mutex);
  return mark(std::move(attempted));
}

std::vector<bool> PlannerCache::mark_unconfirmed(const std::vector<gang::PodGroupPtr>& attempted,
                                                 std::vector<planner::NodeChange>& changes) {
  MutexLock lock(state_.mutex);
  changes = state_.nodes.take_changes();
  std::vector<bool> are_marked;
  are_marked.reserve(attempted.size());
  for (const gang::PodGroupPtr& one : attempted) are_marked.push_back(mark(one));
  for (planner::NodeChange& change : state_.nodes.take_changes())
    changes.push_back(std::move(change));
  return are_marked;
}

bool PlannerCache::mark(gang::PodGroupPtr attempted) {
  CachedGroup* entry = state_.groups.find(attempted->meta.uid);
  if (entry == nullptr) return true;
  if (entry->placements.supersedes_bound(*attempted)) return false;
  const gang::PodGroupStatus& now = entry->group()->status;
  for (const gang::GangStatus& gang : attempted->status.gangs) {
    if (!planner::is_committed_directly(now, gang)) continue;
    if (!check_capacity(*entry, *attempted, gang.name, state_.nodes)) return false;
  }
  const auto added = planner::added_placements(now, attempted->status);
  if (!added.empty()) {
    std::set<std::string_view> names;
    for (const gang::Placement* placement : added) names.insert(placement->node);
    const auto nodes = state_.nodes.views(names, attempted->spec.priority);
    if (!planner::have_capacity(*attempted, now, nodes)) return false;
  }
  entry->placements.set_attempted(std::move(attempted));
  return true;
}

void PlannerCache::resolve(const std::string& uid) {
  MutexLock lock(state_.mutex);
  if (CachedGroup* entry = state_.groups.find(uid)) entry->placements.set_attempted(nullptr);
}

std::vector<gang::PodGroupPtr> PlannerCache::unconfirmed() const {
  MutexLock lock(state_.mutex);
  std::vector<gang::PodGroupPtr> found;
  for (const auto& [uid, entry] : state_.groups.all()) {
    if (entry.placements.attempted()) found.push_back(entry.placements.attempted());
  }
  return found;
}

// ---- writes of binds that ended without an answer

PlannerCache::OpenCommits PlannerCache::open_commits() const {
  MutexLock lock(state_.mutex);
  OpenCommits open;
  for (const auto& [uid, entry] : state_.groups.all()) {
    for (const std::string& gang : entry.placements.committing()) {
      const Commits::Commit& commit = entry.commits.get(gang);
      if (commit.is_running) {
        open.is_any_running = true;
      } else {
        open.unconfirmed.push_back({entry.group(), gang, commit.number});
      }
    }
  }
  return open;
}

void PlannerCache::resolve_commit(const UnconfirmedCommit& commit) {
  MutexLock lock(state_.mutex);
  CachedGroup* entry = state_.groups.find(commit.group->meta.uid);
  if (entry == nullptr) return;
  const Commits::Commit& latest = entry->commits.get(commit.gang);
  if (!latest.is_running && latest.number == commit.number) {
    entry->placements.set_committing(commit.gang, false);
  }
}

std::vector<PlannerCache::UnconfirmedBind> PlannerCache::unconfirmed_binds() const {
  MutexLock lock(state_.mutex);
  return state_.assumed.unconfirmed();
}

void PlannerCache::resolve_bind(const UnconfirmedBind& bind) {
  MutexLock lock(state_.mutex);
  if (state_.assumed.is_latest(bind)) state_.release_assumed(bind.slot, bind.uid);
}

}  // namespace nervex::extender
