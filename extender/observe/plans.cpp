#include "extender/observe/plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "extender/bind/commit.h"
#include "extender/cycle/direct_placement.h"
#include "extender/cycle/enlarged.h"
#include "extender/cycle/scheduling_cycle.h"
#include "extender/recovery/refusals.h"
#include "kube/model/disruption.h"

namespace nervex::extender {
namespace {

// Rejected by its kubelet, which will do the same to the next such pod.
bool is_rejected(const kube::Pod& pod) {
  return kube::was_taken_away(pod) && kube::classify_disruption(pod) == kube::kRejected;
}

// For a pod of an unknown PodGroup.
Plans::Look look_after_pod(const PodPtr& before, const PodPtr& after) {
  const bool was = before && before->occupies();
  const bool is = after && after->occupies();
  const bool is_same =
      was == is && (!was || (before->node == after->node && before->requests == after->requests));
  const auto nominated = [](const PodPtr& pod) {
    return pod && pod->node.empty() ? pod->nominated_node.str() : std::string();
  };
  return is_same && nominated(before) == nominated(after) ? Plans::Look::kNo
                                                          : Plans::Look::kAtCapacity;
}

const gang::EnlargedSet* find_enlarged(const gang::PodGroup& group, std::string_view set) {
  const auto& known = group.status.enlarged;
  const auto at =
      std::find_if(known.begin(), known.end(), [&](const auto& of) { return of.set == set; });
  return at == known.end() ? nullptr : &*at;
}

// The kubelet with it.
bool has_begun(const kube::Pod& pod) {
  return pod.has_start_time || pod.phase != kube::PodPhase::kPending;
}

}  // namespace

bool matters(const PodPtr& before, const PodPtr& after) {
  const bool was = before && before->occupies();
  const bool is = after && after->occupies();
  if (was != is) return true;
  // Kept of gangs' pods alone.
  const auto& old_refusal = before ? before->unscheduled_reason : kube::SharedString();
  const auto& new_refusal = after ? after->unscheduled_reason : kube::SharedString();
  if (old_refusal != new_refusal) return true;
  if (before && after && before->node_lost != after->node_lost) return true;
  return was && (before->node != after->node || before->requests != after->requests);
}

void Plans::node_changed(const NodePtr& before, const NodePtr& after) {
  MutexLock lock(mutex_);
  nodes_.set_node(after ? after->name : before->name, after);
}

Plans::Look Plans::pod_changed(const PodPtr& before, const PodPtr& after) {
  MutexLock lock(mutex_);
  if (before && before->occupies()) nodes_.stop_using(before->node, before->requests);
  if (after && after->occupies()) nodes_.use(after->node, after->requests);
  nominated_changed(before, after);
  const bool is_foreign = foreign_pod_matters(before, after);
  if (is_foreign) foreign_pod_changed(before, after);
  const auto was = before ? gang::pod_slot(*before) : std::nullopt;
  const auto is = after ? gang::pod_slot(*after) : std::nullopt;
  const bool replaced = before && after && before->meta.uid != after->meta.uid;
  if (was != is && was) forget_existing(before->meta.ns, *was);
  if (was != is && is) note_existing(after->meta.ns, *is);
  if (was && (!after || replaced || was != is)) {
    note_loss(*was, *before);
    pods_.remove(*was, *before);
    forget_assumed(before->meta.uid);
    refresh_slot(*was);
  }
  if (is) {
    if (after->node.empty()) {
      pods_.set_unbound(*is, *after);
    } else {
      pods_.add(*is, *after);
      forget_assumed(after->meta.uid);
      forget_loss(*is);
      note_bound(*is);
    }
    refresh_slot(*is);
    const bool was_rejected = before && !replaced && is_rejected(*before);
    if (is_rejected(*after) && !was_rejected) note_rejection(*is, *after);
  }
  if (is && after->node.empty()) {
    const bool is_refused = !after->unscheduled_reason.empty();
    const bool was_refused = before && !replaced && !before->unscheduled_reason.empty();
    const bool is_created = was != is || replaced;
    if (is_created || (is_refused && !was_refused)) note_move(*is, after->meta.ns, is_created);
  }
  if (is && !has_begun(*after) && learn_requests(*is, *after)) return Look::kNow;
  if (is_foreign) return Look::kNow;
  const std::string& ns = (after ? after : before)->meta.ns;
  if (was != is) {
    if (quotas_.count(ns) > 0 && has_waiting_gang(ns)) return Look::kNow;
  }
  for (const PodPtr& pod : {before, after}) {
    if (!pod || look_after_pod(before, after) == Look::kNo) continue;
    const auto& node = pod->node.empty() ? pod->nominated_node : pod->node;
    if (!node.empty() && nodes_.is_overfull(node.str())) return Look::kNow;
  }
  return was || is ? look_after_gang_pod(before, after) : look_after_pod(before, after);
}

Plans::Look Plans::look_after_gang_pod(const PodPtr& before, const PodPtr& after) const {
  const auto slot = gang::pod_slot(after ? *after : *before);
  const auto entry = slot ? by_uid_.find(slot->pod_group_uid) : by_uid_.end();
  if (entry == by_uid_.end()) return look_after_pod(before, after);
  if (!matters(before, after)) return Look::kNo;
  const bool was_unbound =
      !before || (after && before->meta.uid == after->meta.uid && before->node.empty());
  const bool is_bind = was_unbound && after && after->occupies() && after->node_lost.empty();
  const auto& [uid, placements] = std::tie(entry->first, entry->second.placements);
  if (!is_bind || !placements.is_open()) return Look::kNow;
  const auto planned = placements.seen(slot->role, slot->slot.ordinal).placement;
  const bool is_as_planned = planned && planned->number == slot->placement &&
                             pods_.is_bound(uid, after->meta.ns.str(), *planned);
  return is_as_planned ? Look::kNo : Look::kNow;
}

// Counted here, since the pod may be deleted before the next snapshot.
void Plans::note_rejection(const gang::PodSlot& slot, const kube::Pod& pod) {
  const auto entry = by_uid_.find(slot.pod_group_uid);
  if (entry == by_uid_.end()) return;
  const gang::PodGroup& group = *entry->second.placements.group();
  if (group.meta.ns != pod.meta.ns) return;
  for (const gang::MemberSet& set : gang::all_sets(group.spec.gangs)) {
    const auto& slots = set.slots;
    const bool is_its =
        set.role == slot.role && std::any_of(slots.begin(), slots.end(), [&](gang::SlotId one) {
          return one.ordinal == slot.slot.ordinal;
        });
    if (!is_its) continue;
    ++entry->second.rejections[{set.name, pod.node.str()}];
    return;
  }
}

void Plans::note_existing(const std::string& ns, const gang::PodSlot& slot) {
  existing_[{slot.pod_group_uid, ns}][{slot.role, slot.slot.ordinal}].placements.insert(
      slot.placement);
}

void Plans::forget_existing(const std::string& ns, const gang::PodSlot& slot) {
  const auto slots = existing_.find({slot.pod_group_uid, ns});
  const auto pods = slots->second.find({slot.role, slot.slot.ordinal});
  auto& placements = pods->second.placements;
  placements.erase(placements.find(slot.placement));
  if (placements.empty()) slots->second.erase(pods);
  if (slots->second.empty()) existing_.erase(slots);
}

// As long as it does not run: later changes are resizes in place, which the next pod of the slot
// does not have.
bool Plans::learn_requests(const gang::PodSlot& slot, const kube::Pod& pod) {
  if (pod.meta.deleting || pod.is_finished()) return false;
  existing_[{slot.pod_group_uid, pod.meta.ns}][{slot.role, slot.slot.ordinal}].requests =
      pod.requests;
  const auto found = by_uid_.find(slot.pod_group_uid);
  if (found == by_uid_.end()) return false;
  GroupPlacements& placements = found->second.placements;
  const SlotSeen planned = placements.seen(slot.role, slot.slot.ordinal);
  if (!planned.placement || placements.group()->meta.ns != pod.meta.ns ||
      pod.requests.fits_in(planned.requests)) {
    return false;
  }
  set_group(found->second, found->second.stored);
  return true;
}

// Its slot has no placement: the status was lost, or the pod was seen before it.
void Plans::note_bound(const gang::PodSlot& slot) {
  const auto found = by_uid_.find(slot.pod_group_uid);
  if (found == by_uid_.end()) return;
  GroupEntry& entry = found->second;
  if (entry.placements.attempted()) return;
  if (entry.placements.seen(slot.role, slot.slot.ordinal).placement) return;
  for (const gang::MemberSet& set : gang::all_sets(entry.stored->spec.gangs)) {
    if (set.role != slot.role) continue;
    const bool is_wanted =
        std::find(set.slots.begin(), set.slots.end(), slot.slot) != set.slots.end();
    if (is_wanted) return set_group(entry, entry.stored);
  }
}

PodGroupPtr Plans::effective(GroupEntry& entry) const {
  PodGroupPtr out = with_sizes(entry, with_volumes(entry.stored, volumes_, entry.volumes));
  out = with_causes_over(out);
  return with_placements(entry, out);
}

PodGroupPtr Plans::with_sizes(GroupEntry& entry, const PodGroupPtr& group) const {
  entry.enlarged.clear();
  const auto pods = existing_.find({group->meta.uid, group->meta.ns});
  const auto sets = gang::all_sets(group->spec.gangs);
  const bool are_plain = std::all_of(sets.begin(), sets.end(),
                                     [](const auto& set) { return set.admitted.answer == 0; });
  if (pods == existing_.end() && group->status.enlarged.empty() && are_plain) return group;
  std::vector<gang::Gang> gangs = group->spec.gangs;
  bool is_any_changed = false;
  for (gang::MemberSet& set : gang::all_sets(gangs)) {
    kube::Resources seen;
    for (const gang::SlotId slot : set.slots) {
      if (pods == existing_.end()) break;
      const auto pod = pods->second.find({set.role, slot.ordinal});
      if (pod == pods->second.end()) continue;
      // Other checks are left to the scheduler's own filters.
      seen.raise_to(kube::without_implicit(pod->second.requests));
    }
    SetSize size = compute_set_size(set, find_enlarged(*group, set.name), seen);
    is_any_changed = is_any_changed || size.requests != set.shape.requests;
    set.shape.requests = std::move(size.requests);
    if (size.enlarged) entry.enlarged.push_back(*std::move(size.enlarged));
  }
  if (!is_any_changed) return group;
  auto enlarged = std::make_shared<gang::PodGroup>(*group);
  enlarged->spec.gangs = std::move(gangs);
  return enlarged;
}

// A gang whose plan was refused for a claim that is otherwise now is planned again at once.
PodGroupPtr Plans::with_causes_over(const PodGroupPtr& group) const {
  std::shared_ptr<gang::PodGroup> out;
  for (std::size_t i = 0; i < group->status.gangs.size(); ++i) {
    const gang::GangStatus& gang = group->status.gangs[i];
    if (gang.refusals.waits_for.empty()) continue;
    const gang::Gang* wanted = gang::find_gang(group->spec, gang.name);
    if (wanted == nullptr) continue;
    std::vector<std::string> unusable;
    for (const gang::MemberSet& set : wanted->members) {
      for (auto& one : unusable_claims(set.shape.claims, group->meta.ns.str(), volumes_)) {
        unusable.push_back(std::move(one));
      }
    }
    if (!is_cause_over(gang, unusable)) continue;
    if (!out) out = std::make_shared<gang::PodGroup>(*group);
    out->status.gangs[i].refusals.plan_after = {};
  }
  return out ? out : group;
}

PodGroupPtr Plans::with_placements(GroupEntry& entry, const PodGroupPtr& group) const {
  entry.is_restored = false;
  const gang::PodGroupStatus& status = group->status;
  auto& highest = entry.highest_placement;
  highest = std::max({highest, status.next_placement - 1, group->spec.highest_placement});
  const std::string& uid = group->meta.uid;
  const auto pods = existing_.find({uid, group->meta.ns});
  const bool may_lack = pods != existing_.end() && !has_all_placements(*group);
  std::vector<BoundSlot> bound;
  if (may_lack) {
    bound = pods_.bound(uid, group->meta.ns.str());
    for (const auto& [slot, of] : pods->second) {
      if (!of.placements.empty()) highest = std::max(highest, *of.placements.rbegin());
    }
  }
  auto restored = restored_status(*group, bound, highest);
  if (!restored) return group;
  entry.is_restored = restored->gangs != status.gangs;
  auto out = std::make_shared<gang::PodGroup>(*group);
  out->status = *std::move(restored);
  return out;
}

bool Plans::quota_changed(const QuotaPtr& before, const QuotaPtr& after) {
  MutexLock lock(mutex_);
  const kube::Meta& meta = (after ? after : before)->meta;
  auto& quotas = quotas_[meta.ns];
  if (after) {
    quotas[meta.name] = after;
  } else {
    quotas.erase(meta.name);
  }
  if (quotas.empty()) quotas_.erase(meta.ns);
  return has_waiting_gang(meta.ns.str());
}

bool Plans::has_waiting_gang(const std::string& ns) const { return waiting_in_.count(ns) > 0; }

void Plans::set_waits_in(GroupEntry& entry, const std::string& ns) {
  if (entry.waits_in == ns) return;
  if (const auto before = waiting_in_.find(entry.waits_in); before != waiting_in_.end()) {
    if (--before->second == 0) waiting_in_.erase(before);
  }
  if (!ns.empty()) ++waiting_in_[ns];
  entry.waits_in = ns;
}

void Plans::set_group(GroupEntry& entry, const PodGroupPtr& stored) {
  entry.stored = stored;
  entry.placements.set_group(effective(entry));
  const PodGroupPtr& group = entry.placements.group();
  // A gang that is only in the spec waits, too: its first decision may be under way.
  const auto& gangs = group->spec.gangs;
  const bool waits = std::any_of(gangs.begin(), gangs.end(), [&](const gang::Gang& wanted) {
    const gang::GangStatus* gang = gang::find_gang(group->status, wanted.name);
    return gang == nullptr || !gang->planned;
  });
  set_waits_in(entry, waits ? group->meta.ns.str() : "");
  std::erase_if(entry.moves, [&](const auto& moves) {
    const gang::GangStatus* gang = gang::find_gang(group->status, moves.first);
    return gang == nullptr || !gang->planned || gang->committed;
  });
  entry.is_settled = !entry.is_restored && is_settled(*group, entry.enlarged);
  settled_.set(group->meta.uid,
               entry.is_settled ? queue::list_workloads(*group) : std::vector<queue::Workload>());
}

bool Plans::has_nothing_to_decide(const GroupEntry& entry) const {
  return entry.is_settled && !entry.placements.is_open() && entry.rejections.empty() &&
         !entry.placements.attempted() && entry.placements.committing().empty() &&
         quotas_.count(entry.placements.group()->meta.ns) == 0;
}

void Plans::add_quotas(Snapshot& snapshot) const {
  std::set<std::string_view> namespaces;
  for (GroupSeen& seen : snapshot.groups) {
    const std::string& ns = seen.group->meta.ns;
    if (quotas_.count(ns) == 0) continue;
    namespaces.insert(ns);
    const auto pods = existing_.find({seen.group->meta.uid, seen.group->meta.ns});
    for (const gang::MemberSet& set : gang::all_sets(seen.group->spec.gangs)) {
      for (const gang::SlotId slot : set.slots) {
        const bool has_pod =
            pods != existing_.end() && pods->second.count({set.role, slot.ordinal}) > 0;
        if (!has_pod) seen.without_pod.emplace_back(set.role, slot.ordinal);
      }
    }
    std::sort(seen.without_pod.begin(), seen.without_pod.end());
  }
  for (const std::string_view ns : namespaces) {
    for (const auto& [name, quota] : quotas_.find(ns)->second) snapshot.quotas.push_back(quota);
  }
}

void Plans::note_move(const gang::PodSlot& slot, std::string_view ns, bool is_created) {
  const auto entry = by_uid_.find(slot.pod_group_uid);
  if (entry == by_uid_.end() || entry->second.placements.group()->meta.ns != ns) return;
  const SlotSeen seen = entry->second.placements.seen(slot.role, slot.slot.ordinal);
  if (seen.committed || !seen.placement || seen.placement->number != slot.placement) return;
  PlanMoves& moves = entry->second.moves[seen.gang];
  moves.last = clock_.mono();
  if (is_created) moves.last_created = moves.last;
}

void Plans::note_bind_call(const gang::PodSlot& slot) {
  MutexLock lock(mutex_);
  const auto entry = by_uid_.find(slot.pod_group_uid);
  if (entry == by_uid_.end()) return;
  note_move(slot, entry->second.placements.group()->meta.ns.str(), false);
}

// The mark and the pod may be gone before the next snapshot, and the reason with them.
void Plans::note_loss(const gang::PodSlot& slot, const kube::Pod& deleted) {
  const auto entry = by_uid_.find(slot.pod_group_uid);
  if (entry == by_uid_.end()) return;
  if (entry->second.placements.group()->meta.ns != deleted.meta.ns) return;
  std::string why;
  if (!deleted.node_lost.empty()) {
    why = fmt::format("lost its node {} ({})", deleted.node, deleted.node_lost);
  } else if (kube::was_taken_away(deleted)) {
    why = fmt::format("was stopped on node {}: {}", deleted.node,
                      *kube::classify_disruption(deleted));
  }
  if (!why.empty()) entry->second.losses[{slot.role, slot.slot.ordinal}] = std::move(why);
}

void Plans::forget_loss(const gang::PodSlot& slot) {
  const auto entry = by_uid_.find(slot.pod_group_uid);
  if (entry != by_uid_.end()) entry->second.losses.erase({slot.role, slot.slot.ordinal});
}

void Plans::pod_list_begins() {
  MutexLock lock(mutex_);
  ++pod_lists_;
}

bool Plans::pods_listed(const kube::Store<kube::Pod>& pods) {
  MutexLock lock(mutex_);
  return release_assumed_if(
      [&pods, list = pod_lists_](const std::string& uid, const AssumedPod& assumed) {
        const PodPtr pod = pods.get(assumed.ns + "/" + assumed.pod);
        const bool is_there = pod && pod->meta.uid == uid;
        return !is_there && assumed.list < list;
      });
}

void Plans::refresh_slot(const gang::PodSlot& slot) {
  const auto entry = by_uid_.find(slot.pod_group_uid);
  if (entry != by_uid_.end()) entry->second.placements.refresh(slot);
}

void Plans::group_changed(const std::string& key) {
  MutexLock lock(mutex_);
  // Read under our lock: the last caller has read the store's last state.
  const PodGroupPtr group = groups_.get(key);
  const auto known = uid_of_.find(key);
  if (known != uid_of_.end() && (!group || group->meta.uid != known->second)) {
    const auto gone = by_uid_.find(known->second);
    set_waits_in(gone->second, "");
    by_uid_.erase(gone);
    settled_.erase(known->second);
    forget_assumed_pods(known->second);
    uid_of_.erase(known);
    commit_ended_.notify_all();
  }
  if (!group) return;
  uid_of_[key] = group->meta.uid;
  auto entry = by_uid_.find(group->meta.uid);
  if (entry == by_uid_.end()) {
    entry = by_uid_.try_emplace(group->meta.uid, nodes_, pods_).first;
  }
  end_unconfirmed(entry->second, group);
  set_group(entry->second, group);
}

bool Plans::claim_changed(const std::string& key) {
  MutexLock lock(mutex_);
  const bool any =
      resolve_volumes_if([&](const VolumesUsed& used) { return used.claims.count(key) > 0; });
  return any || foreign_.uses_claims();
}

bool Plans::volume_changed(const std::string& name) {
  MutexLock lock(mutex_);
  const bool any =
      resolve_volumes_if([&](const VolumesUsed& used) { return used.volumes.count(name) > 0; });
  return any || foreign_.uses_claims();
}

bool Plans::resolve_volumes_if(const std::function<bool(const VolumesUsed&)>& is_one) {
  bool any = false;
  for (auto& [uid, entry] : by_uid_) {
    if (!is_one(entry.volumes)) continue;
    any = true;
    set_group(entry, entry.stored);
  }
  return any;
}

// Every write of ours is conditional: once the resourceVersion has moved it was stored or never
// will be.
void Plans::end_unconfirmed(GroupEntry& entry, const PodGroupPtr& now) {
  const PodGroupPtr& before = entry.placements.group();
  if (!before || before->meta.resource_version == now->meta.resource_version) return;
  if (entry.placements.attempted()) entry.placements.set_attempted(nullptr);
  for (const auto& [gang, commit] : entry.commits) {
    if (!commit.running) entry.placements.set_committing(gang, false);
  }
}

void Plans::fold(gang::PodGroup group) {
  const std::string key = group.meta.key();
  const std::string uid = group.meta.uid;
  groups_.update(key, std::move(group));
  group_changed(key);
  observe_fold_(uid);
}

Snapshot Plans::snapshot() const {
  MutexLock lock(mutex_);
  return make_snapshot();
}

Snapshot Plans::snapshot(std::vector<NodeChange>& changes) {
  MutexLock lock(mutex_);
  changes = nodes_.take_changes();
  return make_snapshot();
}

Snapshot Plans::make_snapshot() const {
  Snapshot snapshot;
  snapshot.nodes = nodes_.cluster();
  for (const auto& [uid, entry] : by_uid_) {
    if (has_nothing_to_decide(entry)) continue;
    const bool unconfirmed = entry.placements.attempted() != nullptr;
    GroupSeen& seen = snapshot.groups.emplace_back();
    seen.group = unconfirmed ? entry.placements.attempted() : entry.placements.group();
    seen.unconfirmed = unconfirmed;
    seen.committing = entry.placements.committing();
    if (!unconfirmed) seen.open = entry.placements.open_slots();
    for (const auto& [where, times] : entry.rejections) {
      seen.rejections.push_back({where.first, where.second, times});
    }
    seen.enlarged = entry.enlarged;
    seen.is_restored = entry.is_restored;
    seen.losses = entry.losses;
    seen.ending = pods_.ending(uid, seen.group->meta.ns.str());
  }
  if (!quotas_.empty()) add_quotas(snapshot);
  snapshot.foreign = foreign_.all(volumes_);
  snapshot.nominated = nodes_.nominated();
  snapshot.settled = settled_.get();
  return snapshot;
}

std::vector<NodeChange> Plans::take_changes() {
  MutexLock lock(mutex_);
  return nodes_.take_changes();
}

std::vector<NodeChange> Plans::take_changes(std::vector<placement::NodeView>& spare) {
  MutexLock lock(mutex_);
  auto changes = nodes_.take_changes();
  spare = nodes_.spare_views();
  return changes;
}

bool Plans::has_group(const std::string& uid) const {
  MutexLock lock(mutex_);
  return by_uid_.count(uid) > 0;
}

bool Plans::has_pod_for(const PodsOfSlots& pods, const MemberSeen& member) {
  const auto of_slot = pods.find({member.set->role, member.slot.ordinal});
  return of_slot != pods.end() && of_slot->second.placements.count(member.placement->number) > 0;
}

std::vector<UnstartedGang> Plans::unstarted() const {
  MutexLock lock(mutex_);
  std::vector<UnstartedGang> found;
  for (const auto& [uid, entry] : by_uid_) {
    if (entry.is_settled) continue;
    const PodGroupPtr& group = entry.placements.group();
    if (group->meta.deleting || entry.placements.attempted()) continue;
    const auto pods = existing_.find({uid, group->meta.ns});
    for (const gang::GangStatus& gang : group->status.gangs) {
      const bool is_committing = entry.placements.committing().count(gang.name) > 0;
      if (!gang.planned || gang.committed || is_committing) continue;
      UnstartedGang& one = found.emplace_back(UnstartedGang{group, gang.name, 0, 0, 0, {}});
      if (const auto moves = entry.moves.find(gang.name); moves != entry.moves.end()) {
        one.last_created = moves->second.last_created;
        one.last_moved = moves->second.last;
      }
      for (const MemberSeen& member : entry.placements.seen(gang.name).members) {
        ++one.pods;
        const bool has_pod =
            pods != existing_.end() && member.placement && has_pod_for(pods->second, member);
        // A finished pod counts as created, for any placement.
        const bool is_over = pods_.has_finished(uid, group->meta.ns, member.set->role, member.slot);
        if (has_pod || is_over) ++one.created;
        if (member.placement && pods_.is_gated(uid, group->meta.ns, *member.placement)) {
          ++one.gated;
        }
        if (member.refusal.empty()) continue;
        one.refusals.push_back(
            {member.set->name, *member.placement, member.refusal,
             unusable_claims(member.set->shape.claims, group->meta.ns.str(), volumes_)});
      }
    }
  }
  return found;
}

SlotSeen Plans::slot_seen(const gang::PodSlot& slot) const {
  MutexLock lock(mutex_);
  const auto entry = by_uid_.find(slot.pod_group_uid);
  if (entry == by_uid_.end()) return {};
  SlotSeen seen = entry->second.placements.seen(slot.role, slot.slot.ordinal);
  seen.next_placement = entry->second.stored->status.next_placement;
  return seen;
}

GangSeen Plans::gang_seen(const std::string& uid, std::string_view gang) const {
  MutexLock lock(mutex_);
  const auto entry = by_uid_.find(uid);
  if (entry == by_uid_.end()) return {};
  GangSeen seen = entry->second.placements.seen(gang);
  for (MemberSeen& member : seen.members) {
    if (member.refusal.empty()) continue;
    member.unusable_claims =
        unusable_claims(member.set->shape.claims, seen.group->meta.ns.str(), volumes_);
  }
  return seen;
}

std::vector<ReservedNode> Plans::reserved_nodes(const std::vector<std::string>& names) const {
  MutexLock lock(mutex_);
  std::vector<ReservedNode> reserved;
  for (const std::string& name : names) {
    if (auto node = nodes_.reserved_node(name)) reserved.push_back(*std::move(node));
  }
  return reserved;
}

bool Plans::mark_unconfirmed(PodGroupPtr attempted) {
  MutexLock lock(mutex_);
  return mark(std::move(attempted));
}

std::vector<bool> Plans::mark_unconfirmed(const std::vector<PodGroupPtr>& attempted,
                                          std::vector<NodeChange>& changes) {
  MutexLock lock(mutex_);
  changes = nodes_.take_changes();
  std::vector<bool> are_marked;
  are_marked.reserve(attempted.size());
  for (const PodGroupPtr& one : attempted) are_marked.push_back(mark(one));
  for (NodeChange& change : nodes_.take_changes()) changes.push_back(std::move(change));
  return are_marked;
}

bool Plans::mark(PodGroupPtr attempted) {
  const auto entry = by_uid_.find(attempted->meta.uid);
  if (entry == by_uid_.end()) return true;
  if (entry->second.placements.supersedes_bound(*attempted)) return false;
  const gang::PodGroupStatus& now = entry->second.placements.group()->status;
  for (const gang::GangStatus& gang : attempted->status.gangs) {
    if (!is_committed_directly(now, gang)) continue;
    if (!check_capacity(entry->second, *attempted, gang.name)) return false;
  }
  const auto places = new_places(now, attempted->status);
  if (!places.empty()) {
    std::set<std::string_view> names;
    for (const gang::Placement* place : places) names.insert(place->node);
    if (!have_room(*attempted, now, views(names, attempted->spec.priority))) return false;
  }
  entry->second.placements.set_attempted(std::move(attempted));
  return true;
}

void Plans::resolve(const std::string& uid) {
  MutexLock lock(mutex_);
  const auto entry = by_uid_.find(uid);
  if (entry != by_uid_.end()) entry->second.placements.set_attempted(nullptr);
}

std::vector<PodGroupPtr> Plans::unconfirmed() const {
  MutexLock lock(mutex_);
  std::vector<PodGroupPtr> found;
  for (const auto& [uid, entry] : by_uid_) {
    if (entry.placements.attempted()) found.push_back(entry.placements.attempted());
  }
  return found;
}

Result<Plans::CommitStep> Plans::begin_commit(const std::string& uid, const std::string& gang) {
  MutexLock lock(mutex_);
  std::optional<int> awaited;  // which commit of this gang was under way
  for (;;) {
    const auto found = by_uid_.find(uid);
    if (found == by_uid_.end()) return Error{Code::kNotFound, "the pod's PodGroup was deleted"};
    GroupEntry& entry = found->second;
    const gang::GangStatus* status = gang::find_gang(entry.placements.group()->status, gang);
    if (status != nullptr && status->committed) return CommitStep(Committed{});
    CommitState& state = entry.commits[gang];
    // Commits of one PodGroup are writes on its resourceVersion: of many at once all but one would
    // get 409, again and again.
    const bool is_any_running = std::any_of(entry.commits.begin(), entry.commits.end(),
                                            [](const auto& one) { return one.second.running; });
    if (is_any_running) {
      if (state.running) awaited = state.number;
      commit_ended_.wait(mutex_);
      continue;
    }
    if (awaited == state.number && !state.last) return state.last.error();
    const gang::PodGroup& group = *entry.placements.group();
    if (const auto fits = check_capacity(entry, group, gang); !fits) return fits.error();
    state = {true, ok(), state.number + 1};
    entry.placements.set_committing(gang, true);
    return CommitStep(Commit{entry.placements.group()});
  }
}

std::vector<placement::NodeView> Plans::views(const std::set<std::string_view>& names,
                                              int priority) const {
  std::vector<placement::NodeView> nodes;
  for (const std::string_view name : names) {
    if (auto view = nodes_.view(name, priority)) nodes.push_back(*std::move(view));
  }
  return nodes;
}

Result<Nothing> Plans::check_capacity(GroupEntry& entry, const gang::PodGroup& group,
                                      const std::string& gang) {
  // Capacity that an unconfirmed commit has reserved is the gang's own.
  const bool unconfirmed = entry.placements.committing().count(gang) > 0;
  entry.placements.set_committing(gang, false);
  std::set<std::string_view> names;  // sorted, as check_commit() wants the nodes
  if (const gang::GangStatus* status = gang::find_gang(group.status, gang)) {
    for (const gang::Placement& placement : status->placements) names.insert(placement.node);
    for (const gang::ReservedCapacity& place : status->reserved) names.insert(place.node);
  }
  auto fits = check_commit(group, gang, views(names, group.spec.priority));
  entry.placements.set_committing(gang, unconfirmed);
  return fits;
}

void Plans::end_commit(const std::string& uid, const std::string& gang,
                       const Result<Nothing>& result, Outcome outcome) {
  MutexLock lock(mutex_);
  const auto found = by_uid_.find(uid);
  if (found != by_uid_.end()) {
    CommitState& state = found->second.commits[gang];
    state = {false, result, state.number};
    if (outcome == Outcome::kKnown) found->second.placements.set_committing(gang, false);
  }
  commit_ended_.notify_all();
}

Plans::OpenCommits Plans::open_commits() const {
  MutexLock lock(mutex_);
  OpenCommits open;
  for (const auto& [uid, entry] : by_uid_) {
    for (const std::string& gang : entry.placements.committing()) {
      const CommitState& state = entry.commits.at(gang);
      if (state.running) {
        open.any_running = true;
      } else {
        open.unconfirmed.push_back({entry.placements.group(), gang, state.number});
      }
    }
  }
  return open;
}

void Plans::resolve_commit(const UnconfirmedCommit& commit) {
  MutexLock lock(mutex_);
  const auto found = by_uid_.find(commit.group->meta.uid);
  if (found == by_uid_.end()) return;
  const CommitState& state = found->second.commits[commit.gang];
  if (!state.running && state.number == commit.number) {
    found->second.placements.set_committing(commit.gang, false);
  }
}

Result<std::optional<SlotPods::Named>> Plans::assume(const gang::PodSlot& slot,
                                                     const kube::Pod& pod,
                                                     const std::string& node) {
  MutexLock lock(mutex_);
  if (auto other = pods_.other_live_pod(slot, pod)) return other;
  const auto entry = by_uid_.find(slot.pod_group_uid);
  if (entry != by_uid_.end() && entry->second.placements.may_lose(slot.placement)) {
    return Error{Code::kTransient, "another plan of its gang is being written"};
  }
  pods_.assume(slot, pod, node);
  if (!pods_.is_seen_bound(slot, pod.meta.uid)) {
    const AssumedPod assumed{slot, pod.meta.ns, pod.meta.name, node, pod.requests, pod_lists_};
    const auto [at, is_new] = assumed_.emplace(pod.meta.uid, assumed);
    if (is_new) nodes_.reserve(node, pod.requests, true);
    at->second.unconfirmed_since.reset();
  }
  refresh_slot(slot);
  return std::optional<SlotPods::Named>();
}

void Plans::forget(const gang::PodSlot& slot, const std::string& pod_uid) {
  MutexLock lock(mutex_);
  release_assumed(slot, pod_uid);
}

void Plans::note_unconfirmed_bind(const std::string& pod_uid, MonoTime now) {
  MutexLock lock(mutex_);
  const auto assumed = assumed_.find(pod_uid);
  if (assumed != assumed_.end()) assumed->second.unconfirmed_since = now;
}

std::vector<Plans::UnconfirmedBind> Plans::unconfirmed_binds() const {
  MutexLock lock(mutex_);
  std::vector<UnconfirmedBind> found;
  for (const auto& [uid, of] : assumed_) {
    if (of.unconfirmed_since) found.push_back({of.slot, of.ns, of.pod, uid, *of.unconfirmed_since});
  }
  return found;
}

void Plans::resolve_bind(const UnconfirmedBind& bind) {
  MutexLock lock(mutex_);
  const auto assumed = assumed_.find(bind.uid);
  if (assumed == assumed_.end() || assumed->second.unconfirmed_since != bind.since) return;
  release_assumed(bind.slot, bind.uid);
}

void Plans::release_assumed(const gang::PodSlot& slot, const std::string& pod_uid) {
  pods_.forget(slot, pod_uid);
  forget_assumed(pod_uid);
  refresh_slot(slot);
}

void Plans::forget_assumed(const std::string& pod_uid) {
  const auto assumed = assumed_.find(pod_uid);
  if (assumed == assumed_.end()) return;
  nodes_.release(assumed->second.node, assumed->second.requests, true);
  foreign_.forget(assumed->second.foreign_gang, pod_uid);
  assumed_.erase(assumed);
}

// The pods that were being bound for a deleted PodGroup are deleted next.
void Plans::forget_assumed_pods(const std::string& group_uid) {
  release_assumed_if([&group_uid](const std::string&, const AssumedPod& assumed) {
    return assumed.slot.pod_group_uid == group_uid;
  });
}

bool Plans::release_assumed_if(
    const std::function<bool(const std::string&, const AssumedPod&)>& is_one) {
  std::vector<std::pair<std::string, gang::PodSlot>> pods;
  for (const auto& [uid, assumed] : assumed_) {
    if (is_one(uid, assumed)) pods.emplace_back(uid, assumed.slot);
  }
  for (const auto& [uid, slot] : pods) release_assumed(slot, uid);
  return !pods.empty();
}

// ---- gangs of other operators

namespace {

// As kube-scheduler counts it. A gang's own pod is counted by its placement.
bool is_nominated(const PodPtr& pod) {
  return pod && pod->node.empty() && !pod->nominated_node.empty() && !pod->meta.deleting &&
         !pod->is_finished() && !gang::pod_slot(*pod);
}

// The planner moves the pods of foreign gangs itself: to it they are a plan that is not committed.
// Pods of any other scheduler count: it may have preempted others for them, maybe pods of gangs.
bool is_planned_by_us(const kube::Pod& pod) { return !foreign_gang_name(pod).empty(); }

}  // namespace

void Plans::nominated_changed(const PodPtr& before, const PodPtr& after) {
  if (is_nominated(before)) {
    const std::string& node = before->nominated_node.str();
    if (is_planned_by_us(*before)) {
      nodes_.release(node, before->requests, false);
    } else {
      const bool is_same = after && after->meta.uid == before->meta.uid;
      const bool stays = is_same && (after->node == before->nominated_node ||
                                     (is_nominated(after) && !is_planned_by_us(*after) &&
                                      after->nominated_node == before->nominated_node &&
                                      after->requests == before->requests));
      nodes_.withdraw(node, before->priority, before->requests, stays);
    }
  }
  if (!is_nominated(after)) return;
  const std::string& node = after->nominated_node.str();
  if (is_planned_by_us(*after)) {
    nodes_.reserve(node, after->requests, false);
  } else {
    nodes_.nominate(node, after->priority, after->requests);
  }
}

void Plans::foreign_pod_changed(const PodPtr& before, const PodPtr& after) {
  foreign_.pod_changed(before, after);
  if (before && (!after || after->meta.uid != before->meta.uid)) forget_assumed(before->meta.uid);
  if (after && !after->node.empty()) forget_assumed(after->meta.uid);
}

void Plans::foreign_group_changed(const ForeignGroupPtr& before, const ForeignGroupPtr& after) {
  MutexLock lock(mutex_);
  foreign_.group_changed(before, after);
}

void Plans::set_foreign_kind_missing(bool is_missing) {
  MutexLock lock(mutex_);
  foreign_.set_kind_missing(is_missing);
}

void Plans::explain_foreign(const std::string& gang, std::string message) {
  MutexLock lock(mutex_);
  foreign_.explain(gang, std::move(message));
}

ForeignPodSeen Plans::foreign_seen(const std::string& gang) const {
  MutexLock lock(mutex_);
  return foreign_.seen(gang);
}

ForeignHoldSeen Plans::foreign_hold(const std::string& gang) const {
  MutexLock lock(mutex_);
  return foreign_.hold(gang);
}

Result<Nothing> Plans::assume_foreign(std::span<const ForeignBind> binds) {
  MutexLock lock(mutex_);
  std::map<std::string, kube::Resources> free;
  for (const auto& [pod, node] : binds) {
    const auto known = assumed_.find(pod->meta.uid);
    if (known != assumed_.end() && known->second.node == node) continue;
    auto at = free.find(node);
    if (at == free.end()) {
      const auto view = nodes_.view(node, pod->priority);
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
  for (const auto& [pod, node] : binds) {
    const std::string gang = foreign_gang_name(*pod);
    if (!foreign_.is_pending(gang, pod->meta.uid)) continue;  // seen bound, or not seen yet
    const AssumedPod assumed{
        {}, pod->meta.ns, pod->meta.name, node, pod->requests, pod_lists_, std::nullopt, gang};
    const auto [at, is_new] = assumed_.emplace(pod->meta.uid, assumed);
    at->second.unconfirmed_since.reset();
    if (!is_new) continue;
    nodes_.reserve(node, pod->requests, true);
    foreign_.assume(gang, pod->meta.uid);
  }
  return ok();
}

}  // namespace nervex::extender
