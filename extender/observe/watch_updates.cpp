#include "extender/observe/watch_updates.h"

#include <algorithm>
#include <optional>

#include "kube/model/disruption.h"

namespace nervex::extender {
namespace {

using Look = WatchUpdates::Look;

// Its kubelet has rejected it, and will do the same to the next such pod.
bool is_rejected(const kube::Pod& pod) {
  return kube::was_taken_away(pod) && kube::classify_disruption(pod) == kube::kRejected;
}

// The kubelet with it.
bool has_begun(const kube::Pod& pod) {
  return pod.has_start_time || pod.phase != kube::PodPhase::kPending;
}

// For a pod of an unknown PodGroup.
Look look_after_pod(const kube::PodPtr& before, const kube::PodPtr& after) {
  const bool was = before && before->occupies();
  const bool is = after && after->occupies();
  const bool is_same =
      was == is && (!was || (before->node == after->node && before->requests == after->requests));
  const auto nominated = [](const kube::PodPtr& pod) {
    return pod && pod->node.empty() ? pod->nominated_node.str() : std::string();
  };
  return is_same && nominated(before) == nominated(after) ? Look::kNo : Look::kAtCapacity;
}

// As kube-scheduler counts it. A gang's own pod is counted by its placement.
bool is_nominated(const kube::PodPtr& pod) {
  return pod && pod->node.empty() && !pod->nominated_node.empty() && !pod->meta.deleting &&
         !pod->is_finished() && !gang::pod_slot(*pod);
}

// A pod that waits for its plan has selectors; others have none.
std::vector<kube::PodSelector> list_selectors(const kube::Pod& pod) {
  std::vector<kube::PodSelector> selectors;
  const bool waits = pod.node.empty() && !pod.meta.deleting && !pod.is_finished();
  if (!waits || !pod.detail || foreign_gang_name(pod).empty()) return selectors;
  for (const kube::TopologySpread& spread : pod.detail->spread) selectors.push_back(spread.pods);
  return selectors;
}

// The planner moves the pods of foreign gangs itself: to it they are a plan that is not committed.
// Pods of any other scheduler count: it may have preempted others for them, maybe pods of gangs.
bool is_planned_by_us(const kube::Pod& pod) { return !foreign_gang_name(pod).empty(); }

void update_nominated(NodeTable& nodes, const kube::PodPtr& before, const kube::PodPtr& after) {
  if (is_nominated(before)) {
    const std::string& node = before->nominated_node.str();
    if (is_planned_by_us(*before)) {
      nodes.release(node, before->requests, false);
    } else {
      const bool is_same = after && after->meta.uid == before->meta.uid;
      const bool stays = is_same && (after->node == before->nominated_node ||
                                     (is_nominated(after) && !is_planned_by_us(*after) &&
                                      after->nominated_node == before->nominated_node &&
                                      after->requests == before->requests));
      nodes.withdraw(node, before->priority, before->requests, stays);
    }
  }
  if (!is_nominated(after)) return;
  const std::string& node = after->nominated_node.str();
  if (is_planned_by_us(*after)) {
    nodes.reserve(node, after->requests, false);
  } else {
    nodes.nominate(node, after->priority, after->requests);
  }
}

}  // namespace

bool matters(const kube::PodPtr& before, const kube::PodPtr& after) {
  const bool was = before && before->occupies();
  const bool is = after && after->occupies();
  if (was != is) return true;
  // Kept only of gangs' pods.
  const auto& old_refusal = before ? before->unscheduled_reason : kube::SharedString();
  const auto& new_refusal = after ? after->unscheduled_reason : kube::SharedString();
  if (old_refusal != new_refusal) return true;
  if (before && after && before->node_lost != after->node_lost) return true;
  return was && (before->node != after->node || before->requests != after->requests);
}

// A pod of a slot, before or after a change, or both.
struct WatchUpdates::PodChange {
  const kube::PodPtr& before;
  const kube::PodPtr& after;
  std::optional<gang::PodSlot> was = before ? gang::pod_slot(*before) : std::nullopt;
  std::optional<gang::PodSlot> is = after ? gang::pod_slot(*after) : std::nullopt;
  bool is_replaced = before && after && before->meta.uid != after->meta.uid;

  // The pod itself, before the change.
  const kube::Pod* known() const { return before && !is_replaced ? before.get() : nullptr; }
};

void WatchUpdates::node_changed(const kube::NodePtr& before, const kube::NodePtr& after) {
  MutexLock lock(state_.mutex);
  const std::string& name = after ? after->name : before->name;
  const bool is_in_use = state_.nodes.is_in_use(name);
  state_.nodes.set_node(name, after);
  state_.queues.set_node(before, after, is_in_use);
}

Look WatchUpdates::pod_changed(const kube::PodPtr& before, const kube::PodPtr& after) {
  MutexLock lock(state_.mutex);
  if (before && before->occupies()) state_.nodes.stop_using(before->node, before->requests);
  if (after && after->occupies()) state_.nodes.use(after->node, after->requests);
  const bool has_matching_changed = state_.matching.pod_changed(before, after);
  update_nominated(state_.nodes, before, after);
  state_.terminating.pod_changed(before, after);
  const bool is_foreign = foreign_pod_matters(before, after);
  if (is_foreign) state_.foreign.pod_changed(before, after);
  if (before && (!after || before->meta.uid != after->meta.uid)) {
    state_.matching.set_selectors(before->meta.uid, {});
  }
  if (after) state_.matching.set_selectors(after->meta.uid, list_selectors(*after));
  forget_assumed(before, after);
  const PodChange change{before, after};
  const auto& was = change.was;
  const auto& is = change.is;
  if (was || is) move_slot_pod(change);
  if (is && after->node.empty()) note_created_or_refused(change);
  const bool is_orphaned = state_.orphaned.pod_changed(before, after);
  if (is && !has_begun(*after) && learn_requests(*is, *after)) return Look::kNow;
  if (is_foreign) return Look::kNow;
  if (is_orphaned && !state_.queues.tree().is_root_alone()) return Look::kNow;
  const std::string& ns = (after ? after : before)->meta.ns;
  if (was != is && state_.queues.has_quota(ns) && state_.groups.is_any_waiting(ns)) {
    return Look::kNow;
  }
  for (const kube::PodPtr& pod : {before, after}) {
    if (!pod || look_after_pod(before, after) == Look::kNo) continue;
    const auto& node = pod->node.empty() ? pod->nominated_node : pod->node;
    if (!node.empty() && state_.nodes.is_overfull(node.str())) return Look::kNow;
  }
  const Look look = was || is ? look_after_gang_pod(before, after) : look_after_pod(before, after);
  return look == Look::kNo && has_matching_changed ? Look::kAtCapacity : look;
}

void WatchUpdates::move_slot_pod(const PodChange& change) {
  const auto& [before, after, was, is, is_replaced] = change;
  const bool is_moved =
      was != is || (was && gang::Origin(before->meta) != gang::Origin(after->meta));
  if (is_moved && was) state_.existing.remove(gang::Origin(before->meta), *was);
  if (is_moved && is) state_.existing.add(gang::Origin(after->meta), *is);
  if (was && (!after || is_replaced || was != is)) {
    CachedGroup* group = state_.groups.find_for(was->pod_group_uid, *before);
    if (group != nullptr) group->history.note_loss(*was, *before);
    state_.pods.remove(*was, *before);
    state_.assumed.forget(before->meta.uid);
    state_.groups.refresh_slot(*was);
  }
  if (!is) return;
  if (after->node.empty()) {
    state_.pods.set_unbound(*is, *after);
  } else {
    state_.pods.add(*is, *after);
    note_bound(*is, *after);
  }
  state_.groups.refresh_slot(*is);
  const bool was_rejected = change.known() != nullptr && is_rejected(*before);
  if (was_rejected || !is_rejected(*after)) return;
  CachedGroup* group = state_.groups.find_for(is->pod_group_uid, *after);
  if (group != nullptr) group->history.note_rejection(*group->group(), *is, after->node.str());
}

// If its slot has no placement, the status was lost, or the pod was seen before it.
void WatchUpdates::note_bound(const gang::PodSlot& slot, const kube::Pod& pod) {
  CachedGroup* entry = state_.groups.find_for(slot.pod_group_uid, pod);
  if (entry == nullptr) return;
  entry->history.forget_loss(slot);
  if (entry->placements.attempted()) return;
  if (entry->placements.seen(slot.role, slot.slot.ordinal).placement) return;
  const auto sets = gang::all_sets(entry->stored->spec.gangs);
  const bool is_wanted = std::any_of(sets.begin(), sets.end(), [&](const gang::MemberSet& set) {
    return gang::wants(set, slot.role, slot.slot);
  });
  if (is_wanted) state_.groups.refresh(*entry);
}

void WatchUpdates::note_created_or_refused(const PodChange& change) {
  const bool is_created = change.was != change.is || change.is_replaced;
  const bool is_refused = !change.after->unscheduled_reason.empty();
  const bool was_refused = change.known() != nullptr && !change.known()->unscheduled_reason.empty();
  if (!is_created && (!is_refused || was_refused)) return;
  CachedGroup* entry = state_.groups.find_for(change.is->pod_group_uid, *change.after);
  if (entry != nullptr) entry->note_progress(*change.is, is_created, state_.clock.mono());
}

// An unbound pod has its requests after admission. True if they are larger than planned. Only until
// it runs: later changes are resizes in place, which the next pod of the slot does not have.
bool WatchUpdates::learn_requests(const gang::PodSlot& slot, const kube::Pod& pod) {
  if (pod.meta.deleting || pod.is_finished()) return false;
  state_.existing.set_requests(gang::Origin(pod.meta), slot, pod.requests);
  CachedGroup* entry = state_.groups.find_for(slot.pod_group_uid, pod);
  if (entry == nullptr) return false;
  const planner::SlotSeen planned = entry->placements.seen(slot.role, slot.slot.ordinal);
  if (!planned.placement || pod.requests.fits_in(planned.requests)) return false;
  state_.groups.refresh(*entry);
  return true;
}

// Asks no label or owner of the pod: they may have changed since it was assumed.
void WatchUpdates::forget_assumed(const kube::PodPtr& before, const kube::PodPtr& after) {
  if (before && (!after || after->meta.uid != before->meta.uid)) {
    state_.assumed.forget(before->meta.uid);
  }
  if (after && !after->node.empty()) state_.assumed.forget(after->meta.uid);
}

Look WatchUpdates::look_after_gang_pod(const kube::PodPtr& before, const kube::PodPtr& after) {
  const auto slot = gang::pod_slot(after ? *after : *before);
  const CachedGroup* entry = slot ? state_.groups.find(slot->pod_group_uid) : nullptr;
  if (entry == nullptr) return look_after_pod(before, after);
  if (!matters(before, after)) return Look::kNo;
  const bool was_unbound =
      !before || (after && before->meta.uid == after->meta.uid && before->node.empty());
  const bool is_bind = was_unbound && after && after->occupies() && after->node_lost.empty();
  if (!is_bind || !entry->placements.is_open()) return Look::kNow;
  const auto planned = entry->placements.seen(slot->role, slot->slot.ordinal).placement;
  const bool is_as_planned =
      planned && planned->number == slot->placement &&
      state_.pods.is_bound(slot->pod_group_uid, after->meta.ns.str(), *planned);
  return is_as_planned ? Look::kNo : Look::kNow;
}

bool WatchUpdates::quota_changed(const QuotaPtr& before, const QuotaPtr& after) {
  MutexLock lock(state_.mutex);
  state_.queues.set(before, after);
  return state_.groups.is_any_waiting((after ? after : before)->meta.ns);
}

void WatchUpdates::queue_changed(const QueuePtr& before, const QueuePtr& after) {
  MutexLock lock(state_.mutex);
  state_.queues.set(before, after);
}

bool WatchUpdates::namespace_changed(const NamespacePtr& before, const NamespacePtr& after) {
  MutexLock lock(state_.mutex);
  state_.queues.set(before, after);
  return !state_.queues.tree().is_root_alone();
}

void WatchUpdates::pod_list_begins() {
  MutexLock lock(state_.mutex);
  state_.assumed.list_begins();
}

bool WatchUpdates::pods_listed(const kube::Store<kube::Pod>& pods) {
  MutexLock lock(state_.mutex);
  const auto missing = state_.assumed.find_missing(pods);
  for (const auto& [uid, slot] : missing) state_.release_assumed(slot, uid);
  return !missing.empty();
}

bool WatchUpdates::claim_changed(const std::string& key) {
  MutexLock lock(state_.mutex);
  const bool any =
      state_.groups.refresh_if([&](const VolumesUsed& used) { return used.claims.count(key) > 0; });
  return any || state_.foreign.uses_claims();
}

bool WatchUpdates::volume_changed(const std::string& name) {
  MutexLock lock(state_.mutex);
  const bool any = state_.groups.refresh_if(
      [&](const VolumesUsed& used) { return used.volumes.count(name) > 0; });
  return any || state_.foreign.uses_claims();
}

bool WatchUpdates::device_class_changed(const kube::DeviceClassPtr& before,
                                        const kube::DeviceClassPtr& after) {
  MutexLock lock(state_.mutex);
  if (after) {
    state_.device_classes[after->meta.name] = after;
  } else {
    state_.device_classes.erase(before->meta.name);
  }
  std::vector<kube::DeviceClassPtr> classes;
  for (const auto& [name, one] : state_.device_classes) classes.push_back(one);
  return state_.nodes.set_delegated(kube::backed_resources(classes));
}

void WatchUpdates::foreign_group_changed(const kube::ForeignGroupPtr& before,
                                         const kube::ForeignGroupPtr& after) {
  MutexLock lock(state_.mutex);
  state_.foreign.group_changed(before, after);
  const kube::Meta& meta = (after ? after : before)->meta;
  state_.orphaned.set_foreign_group(meta.ns.str(), meta.name, after && !after->meta.deleting);
}

void WatchUpdates::set_foreign_kind_missing(bool is_missing) {
  MutexLock lock(state_.mutex);
  state_.foreign.set_kind_missing(is_missing);
}

}  // namespace nervex::extender
