#include "extender/observe/bind_cache.h"

#include <fmt/format.h>

#include <map>

namespace nervex::extender {

// ---- filter and holds

planner::SlotSeen BindCache::slot_seen(const gang::PodSlot& slot) const {
  MutexLock lock(state_.mutex);
  const CachedGroup* entry = state_.groups.find(slot.pod_group_uid);
  if (entry == nullptr) return {};
  planner::SlotSeen seen = entry->placements.seen(slot.role, slot.slot.ordinal);
  seen.next_placement = entry->stored->status.next_placement;
  return seen;
}

planner::GangSeen BindCache::gang_seen(const std::string& uid, std::string_view gang) const {
  MutexLock lock(state_.mutex);
  const CachedGroup* entry = state_.groups.find(uid);
  if (entry == nullptr) return {};
  planner::GangSeen seen = entry->placements.seen(gang);
  for (planner::MemberSeen& member : seen.members) {
    if (member.refusal.empty()) continue;
    member.unusable_claims =
        unusable_claims(member.set->shape.claims, seen.group->meta.ns.str(), state_.volumes);
  }
  return seen;
}

std::vector<planner::ReservedNode> BindCache::reserved_nodes(
    const std::vector<std::string>& names) const {
  MutexLock lock(state_.mutex);
  std::vector<planner::ReservedNode> reserved;
  for (const std::string& name : names) {
    if (auto node = state_.nodes.reserved_node(name)) reserved.push_back(*std::move(node));
  }
  return reserved;
}

planner::ForeignPodSeen BindCache::foreign_seen(const std::string& gang) const {
  MutexLock lock(state_.mutex);
  return state_.foreign.seen(gang);
}

planner::ForeignHoldSeen BindCache::foreign_hold(const std::string& gang) const {
  MutexLock lock(state_.mutex);
  return state_.foreign.hold(gang);
}

void BindCache::note_bind_call(const gang::PodSlot& slot) {
  MutexLock lock(state_.mutex);
  CachedGroup* entry = state_.groups.find(slot.pod_group_uid);
  if (entry != nullptr) entry->note_held(slot, state_.clock.mono());
}

// ---- the commit

Result<BindCache::CommitStep> BindCache::begin_commit(const std::string& uid,
                                                      const std::string& gang) {
  MutexLock lock(state_.mutex);
  std::optional<int> awaited;  // which commit of this gang was in progress
  for (;;) {
    CachedGroup* entry = state_.groups.find(uid);
    if (entry == nullptr) return Error{Code::kNotFound, "the pod's PodGroup was deleted"};
    const gang::GangStatus* status = gang::find_gang(entry->group()->status, gang);
    if (status != nullptr && status->committed) return CommitStep(Committed{});
    const Commits::Commit& commit = entry->commits.get(gang);
    // Commits of one PodGroup are writes on its resourceVersion: of many at once all but one would
    // get 409, again and again.
    if (entry->commits.is_any_running()) {
      if (commit.is_running) awaited = commit.number;
      state_.commit_ended.wait(state_.mutex);
      continue;
    }
    if (awaited == commit.number && !commit.last) return commit.last.error();
    const auto fits = check_capacity(*entry, *entry->group(), gang, state_.nodes);
    if (!fits) return fits.error();
    entry->commits.begin(gang);
    entry->placements.set_committing(gang, true);
    return CommitStep(Commit{entry->group()});
  }
}

void BindCache::end_commit(const std::string& uid, const std::string& gang,
                           const Result<Nothing>& result, Outcome outcome) {
  MutexLock lock(state_.mutex);
  if (CachedGroup* entry = state_.groups.find(uid)) {
    entry->commits.end(gang, result);
    if (outcome == Outcome::kKnown) entry->placements.set_committing(gang, false);
  }
  state_.commit_ended.notify_all();
}

// ---- the bind of a pod

Result<std::optional<planner::NamedPod>> BindCache::assume(const gang::PodSlot& slot,
                                                           const kube::Pod& pod,
                                                           const std::string& node) {
  MutexLock lock(state_.mutex);
  if (auto other = state_.pods.other_live_pod(slot, pod)) return other;
  const CachedGroup* entry = state_.groups.find(slot.pod_group_uid);
  if (entry != nullptr && entry->placements.may_lose(slot.placement)) {
    return Error{Code::kTransient, "another plan of its gang is being written"};
  }
  state_.pods.assume(slot, pod, node);
  if (!state_.pods.is_seen_bound(slot, pod.meta.uid)) {
    state_.assumed.add(pod.meta.uid,
                       {slot, pod.meta.ns, pod.meta.name, node, state_.matching.list_use(pod)});
  }
  state_.groups.refresh_slot(slot);
  return std::optional<planner::NamedPod>();
}

Result<Nothing> BindCache::assume_foreign(std::span<const ForeignBind> binds) {
  MutexLock lock(state_.mutex);
  if (auto fits = check_foreign_capacity(binds); !fits) return fits;
  for (const auto& [pod, node] : binds) {
    const std::string gang = foreign_gang_name(*pod);
    if (!state_.foreign.is_pending(gang, pod->meta.uid)) continue;  // seen bound, or not seen yet
    state_.assumed.add(
        pod->meta.uid,
        {{}, pod->meta.ns, pod->meta.name, node, state_.matching.list_use(*pod), gang});
  }
  return ok();
}

Result<Nothing> BindCache::check_foreign_capacity(std::span<const ForeignBind> binds) const {
  std::map<std::string, kube::Resources> free;
  for (const auto& [pod, node] : binds) {
    if (state_.assumed.is_assumed(pod->meta.uid, node)) continue;
    auto at = free.find(node);
    if (at == free.end()) {
      const auto view = state_.nodes.view(node, pod->priority);
      if (!view) return Error{Code::kConflict, fmt::format("node {} was deleted", node)};
      at = free.emplace(node, view->free).first;
    }
    const std::string lacking(pod->requests.first_lacking(at->second));
    if (!lacking.empty()) {
      return Error{
          Code::kConflict,
          fmt::format("node {} has too little {} left for pod {}, which needs {}", node, lacking,
                      pod->meta.name, kube::format_amount(lacking, pod->requests.get(lacking)))};
    }
    at->second -= pod->requests;
  }
  return ok();
}

void BindCache::forget(const gang::PodSlot& slot, const std::string& pod_uid) {
  MutexLock lock(state_.mutex);
  state_.release_assumed(slot, pod_uid);
}

void BindCache::note_unconfirmed_bind(const std::string& pod_uid, MonoTime now) {
  MutexLock lock(state_.mutex);
  state_.assumed.note_unconfirmed(pod_uid, now);
}

}  // namespace nervex::extender
