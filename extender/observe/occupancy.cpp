#include "extender/observe/occupancy.h"

#include <algorithm>

#include "kube/model/disruption.h"

namespace nervex::extender {

// ---- nodes

namespace {

placement::NodeView make_node_view(const NodePtr& node, const kube::Resources& used,
                                   const kube::Resources& reserved) {
  placement::NodeView view{node, node->allocatable};
  view.free -= used;
  view.free -= reserved;
  return view;
}

}  // namespace

void NodeTable::set_node(const std::string& name, const NodePtr& node) {
  Entry& entry = touch(name);
  if (matters(entry.node, node)) {
    is_outdated_ = true;
    changed_.clear();
  }
  entry.node = node;
  drop_if_empty(name);
}

void NodeTable::use(const std::string& node, const kube::Resources& amount) {
  touch(node).used += amount;
}

void NodeTable::stop_using(const std::string& node, const kube::Resources& amount) {
  touch(node).used -= amount;
  drop_if_empty(node);
}

void NodeTable::reserve(const std::string& node, const kube::Resources& amount, bool committed) {
  Entry& entry = touch(node);
  entry.reserved += amount;
  if (committed) entry.reserved_committed += amount;
}

void NodeTable::release(const std::string& node, const kube::Resources& amount, bool committed) {
  Entry& entry = touch(node);
  entry.reserved -= amount;
  if (committed) entry.reserved_committed -= amount;
  drop_if_empty(node);
}

void NodeTable::nominate(const std::string& node, int priority, const kube::Resources& amount) {
  nominated_[node][priority] += amount;
}

void NodeTable::withdraw(const std::string& node, int priority, const kube::Resources& amount,
                         bool stays) {
  const auto at = nominated_.find(node);
  const auto pods = at->second.find(priority);
  pods->second -= amount;
  if (pods->second.empty()) at->second.erase(pods);
  if (at->second.empty()) nominated_.erase(at);
  if (stays) return;
  touch(node).has_lost_nominated = true;
  drop_if_empty(node);
}

std::vector<Nominated> NodeTable::nominated() const {
  std::vector<Nominated> all;
  for (const auto& [node, by_priority] : nominated_) {
    for (const auto& [priority, requests] : by_priority) {
      all.push_back({node, priority, requests});
    }
  }
  return all;
}

void NodeTable::rebuild() const {
  std::vector<placement::NodeView> views;
  views.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) {
    entry.is_changed = false;
    if (!entry.node) continue;
    entry.row = views.size();
    views.push_back({entry.node, free_resources(entry)});
  }
  cluster_ = placement::Cluster(views);
}

const placement::Cluster& NodeTable::cluster() const {
  if (is_outdated_) rebuild();
  is_outdated_ = false;
  for (const Entry* entry : changed_) {
    entry->is_changed = false;
    cluster_.set_free(entry->row, free_resources(*entry));
  }
  changed_.clear();
  return cluster_;
}

std::vector<placement::NodeView> NodeTable::spare_views() const {
  std::vector<placement::NodeView> views;
  views.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) {
    if (entry.node) views.push_back({entry.node, spare_resources(entry)});
  }
  return views;
}

std::optional<placement::NodeView> NodeTable::view(std::string_view name, int priority) const {
  const auto at = entries_.find(name);
  if (at == entries_.end() || !at->second.node) return std::nullopt;
  placement::NodeView view{at->second.node, free_resources(at->second)};
  const auto nominated = nominated_.find(name);
  if (nominated == nominated_.end()) return view;
  for (const auto& [of, requests] : nominated->second) {
    if (of >= priority) view.free -= requests;
  }
  return view;
}

std::optional<ReservedNode> NodeTable::reserved_node(std::string_view name) const {
  const auto at = entries_.find(name);
  if (at == entries_.end() || at->second.reserved.empty()) return std::nullopt;
  if (!at->second.node) return ReservedNode{at->first, std::nullopt};
  return ReservedNode{at->first, spare_resources(at->second)};
}

bool NodeTable::is_overfull(std::string_view name) const {
  auto node = reserved_node(name);
  if (!node || !node->spare) return false;
  if (const auto nominated = nominated_.find(name); nominated != nominated_.end()) {
    for (const auto& [priority, requests] : nominated->second) *node->spare -= requests;
  }
  const auto& amounts = node->spare->amounts();
  return std::any_of(amounts.begin(), amounts.end(), [](const kube::ResourceAmount& of) {
    return of.amount < (kube::is_implicit(of.name) ? -1 : 0);
  });
}

std::vector<NodeChange> NodeTable::take_changes() {
  std::vector<NodeChange> changes;
  if (!are_changes_taken_) {
    are_changes_taken_ = true;
    for (const auto& [name, entry] : entries_) touched_.push_back(name);
  }
  for (const std::string& name : touched_) {
    const auto at = entries_.find(name);
    if (at == entries_.end()) continue;
    Entry& entry = at->second;
    entry.is_touched = false;
    kube::Resources spare = entry.node ? spare_resources(entry) : kube::Resources();
    const bool is_other = matters(entry.shown_node, entry.node);
    if (is_other || spare != entry.shown_spare || entry.has_lost_nominated) {
      changes.push_back({is_other ? entry.shown_node : entry.node, entry.node, entry.shown_spare,
                         spare, entry.has_lost_nominated});
      entry.has_lost_nominated = false;
      entry.shown_spare = std::move(spare);
    }
    entry.shown_node = entry.node;
    drop_if_empty(name);
  }
  touched_.clear();
  return changes;
}

NodeTable::Entry& NodeTable::touch(const std::string& name) {
  Entry& entry = entries_[name];
  entry.is_free_known = false;
  if (are_changes_taken_ && !entry.is_touched) {
    touched_.push_back(name);
    entry.is_touched = true;
  }
  if (!is_outdated_ && entry.node && !entry.is_changed) {
    changed_.push_back(&entry);
    entry.is_changed = true;
  }
  return entry;
}

const kube::Resources& NodeTable::free_resources(const Entry& entry) {
  if (!entry.is_free_known) {
    entry.free = make_node_view(entry.node, entry.used, entry.reserved_committed).free;
    entry.is_free_known = true;
  }
  return entry.free;
}

kube::Resources NodeTable::spare_resources(const Entry& entry) {
  if (entry.reserved == entry.reserved_committed) return free_resources(entry);
  return make_node_view(entry.node, entry.used, entry.reserved).free;
}

void NodeTable::drop_if_empty(const std::string& name) {
  const auto at = entries_.find(name);
  const Entry& entry = at->second;
  // One that was touched is dropped when its change is taken.
  if (!entry.node && entry.used.empty() && entry.reserved.empty() && !entry.is_touched) {
    entries_.erase(at);
  }
}

// ---- slots

namespace {

// "OutOfcpu: Node didn't have enough resource"
std::string end_reason(const kube::Pod& pod) {
  if (!kube::was_taken_away(pod)) return "";
  const auto reason = pod.reason.empty() ? pod.disruption_reason : pod.reason;
  return reason.empty() ? std::string(*kube::classify_disruption(pod)) : reason.str();
}

}  // namespace

void SlotPods::add(const gang::PodSlot& slot, const kube::Pod& pod) {
  refusals_.erase({slot.pod_group_uid, pod.meta.ns, slot.placement});
  gated_.erase({slot.pod_group_uid, pod.meta.ns, slot.placement});
  groups_[slot.pod_group_uid][{slot.role, slot.slot.ordinal}][pod.meta.uid] = {
      pod.meta.name,         pod.meta.ns,       pod.node,      "",
      slot.placement,        pod.is_finished(), pod.node_lost, end_reason(pod),
      slot.slot.incarnation, pod.has_start_time};
  const bool is_ending = pod.meta.deleting && !pod.is_finished() && pod.node_lost.empty();
  if (is_ending) {
    ending_[{slot.pod_group_uid, pod.meta.uid}] = {
        {slot.role, slot.slot.ordinal},
        pod.meta.ns,
        {pod.meta.name, slot.slot.incarnation, pod.deletion_timestamp}};
  } else {
    ending_.erase({slot.pod_group_uid, pod.meta.uid});
  }
}

void SlotPods::remove(const gang::PodSlot& slot, const kube::Pod& pod) {
  erase(slot, pod.meta.uid);
  ending_.erase({slot.pod_group_uid, pod.meta.uid});
  const auto refusal = refusals_.find({slot.pod_group_uid, pod.meta.ns, slot.placement});
  if (refusal != refusals_.end() && refusal->second.pod_uid == pod.meta.uid) {
    refusals_.erase(refusal);
  }
  const auto gated = gated_.find({slot.pod_group_uid, pod.meta.ns, slot.placement});
  if (gated != gated_.end() && gated->second == pod.meta.uid) gated_.erase(gated);
}

void SlotPods::set_unbound(const gang::PodSlot& slot, const kube::Pod& pod) {
  const std::tuple key(slot.pod_group_uid, pod.meta.ns.str(), slot.placement);
  // Silence, or an error of the scheduler's, says nothing about the node.
  if (pod.unscheduled_reason == "Unschedulable") {
    refusals_[key] = {pod.meta.uid, pod.unscheduled_message, pod.unscheduled_since};
  } else {
    refusals_.erase(key);
  }
  if (pod.unscheduled_reason == "SchedulingGated") {
    gated_[key] = pod.meta.uid;
  } else {
    gated_.erase(key);
  }
}

bool SlotPods::is_gated(const std::string& group_uid, std::string_view ns,
                        const gang::Placement& placement) const {
  return gated_.count({group_uid, std::string(ns), placement.number}) > 0;
}

std::map<std::pair<std::string, int>, EndingPod> SlotPods::ending(const std::string& group_uid,
                                                                  std::string_view ns) const {
  std::map<std::pair<std::string, int>, EndingPod> found;
  for (auto at = ending_.lower_bound({group_uid, ""});
       at != ending_.end() && at->first.first == group_uid; ++at) {
    const Ending& of = at->second;
    if (of.ns != ns) continue;
    EndingPod& longest = found[of.slot];
    if (longest.name.empty() || of.pod.until > longest.until) longest = of.pod;
  }
  return found;
}

std::string SlotPods::refusal(const std::string& group_uid, std::string_view ns,
                              const gang::Placement& placement) const {
  const auto found = refusals_.find({group_uid, std::string(ns), placement.number});
  return found == refusals_.end() ? "" : found->second.message.str();
}

std::optional<OpenSlot> SlotPods::open_slot(const std::string& group_uid, std::string_view ns,
                                            const gang::Placement& placement) const {
  for (const auto& [uid, pod] : find(group_uid, {placement.role, placement.slot.ordinal})) {
    if (pod.placement != placement.number || pod.ns != ns) continue;
    if (!pod.node_lost.empty()) {
      return OpenSlot{placement, OpenSlot::Why::kNodeLost, pod.node_lost, {}};
    }
    if (!pod.taken_away.empty()) {
      return OpenSlot{placement, OpenSlot::Why::kTakenAway, pod.taken_away, {}};
    }
  }
  const bool is_over = has_finished(group_uid, ns, placement.role, placement.slot);
  if (is_over || is_bound(group_uid, ns, placement)) return std::nullopt;
  const auto refusal = refusals_.find({group_uid, std::string(ns), placement.number});
  if (refusal == refusals_.end()) return OpenSlot{placement, OpenSlot::Why::kUnbound, {}, {}};
  return OpenSlot{placement, OpenSlot::Why::kRefused, refusal->second.message,
                  refusal->second.since};
}

std::vector<BoundSlot> SlotPods::bound(const std::string& group_uid, std::string_view ns) const {
  std::vector<BoundSlot> found;
  const auto group = groups_.find(group_uid);
  if (group == groups_.end()) return found;
  for (const auto& [name, pods] : group->second) {
    for (const auto& [uid, pod] : pods) {
      if (pod.ns != ns) continue;
      found.push_back({name.first,
                       {name.second, pod.incarnation},
                       pod.node.empty() ? pod.target : pod.node,
                       pod.placement,
                       pod.finished});
    }
  }
  return found;
}

void SlotPods::assume(const gang::PodSlot& slot, const kube::Pod& pod, const std::string& node) {
  auto& pods = groups_[slot.pod_group_uid][{slot.role, slot.slot.ordinal}];
  pods.try_emplace(pod.meta.uid, BoundPod{pod.meta.name,
                                          pod.meta.ns,
                                          "",
                                          node,
                                          slot.placement,
                                          false,
                                          {},
                                          {},
                                          slot.slot.incarnation});
}

void SlotPods::forget(const gang::PodSlot& slot, std::string_view pod_uid) {
  const PodsOfSlot& pods = find(slot.pod_group_uid, {slot.role, slot.slot.ordinal});
  const auto at = pods.find(pod_uid);
  if (at != pods.end() && at->second.node.empty()) erase(slot, pod_uid);
}

bool SlotPods::is_bound(const std::string& group_uid, std::string_view ns,
                        const gang::Placement& placement) const {
  return state(group_uid, ns, placement) != MemberSeen::Pod::kUnbound;
}

bool SlotPods::has_finished(const std::string& group_uid, std::string_view ns,
                            std::string_view role, gang::SlotId slot) const {
  const PodsOfSlot& pods = find(group_uid, {std::string(role), slot.ordinal});
  return std::any_of(pods.begin(), pods.end(), [&](const auto& entry) {
    const BoundPod& pod = entry.second;
    return pod.finished && pod.incarnation == slot.incarnation && pod.ns == ns;
  });
}

MemberSeen::Pod SlotPods::state(const std::string& group_uid, std::string_view ns,
                                const gang::Placement& placement) const {
  auto state = MemberSeen::Pod::kUnbound;
  for (const auto& [uid, pod] : find(group_uid, {placement.role, placement.slot.ordinal})) {
    const bool is_assumed = pod.node.empty();
    const std::string& node = is_assumed ? pod.target : pod.node;
    if (pod.placement != placement.number || node != placement.node || pod.ns != ns) continue;
    if (!is_assumed) return MemberSeen::Pod::kBound;
    state = MemberSeen::Pod::kAssumed;
  }
  return state;
}

bool SlotPods::has_started(const std::string& group_uid, std::string_view ns,
                           const gang::Placement& placement) const {
  const PodsOfSlot& pods = find(group_uid, {placement.role, placement.slot.ordinal});
  return std::any_of(pods.begin(), pods.end(), [&](const auto& entry) {
    const BoundPod& pod = entry.second;
    const bool is_its = pod.finished ? pod.incarnation == placement.slot.incarnation
                                     : pod.placement == placement.number;
    return is_its && pod.ns == ns && !pod.node.empty() && pod.taken_away.empty() &&
           (pod.has_started || pod.finished);
  });
}

bool SlotPods::is_seen_bound(const gang::PodSlot& slot, std::string_view pod_uid) const {
  const PodsOfSlot& pods = find(slot.pod_group_uid, {slot.role, slot.slot.ordinal});
  const auto at = pods.find(pod_uid);
  return at != pods.end() && !at->second.node.empty();
}

auto SlotPods::other_live_pod(const gang::PodSlot& slot, const kube::Pod& pod) const
    -> std::optional<Named> {
  for (const auto& [uid, other] : find(slot.pod_group_uid, {slot.role, slot.slot.ordinal})) {
    if (uid == pod.meta.uid || other.ns != pod.meta.ns || other.finished) continue;
    return Named{other.name, uid};
  }
  return std::nullopt;
}

auto SlotPods::find(const std::string& group_uid, const SlotName& name) const -> const PodsOfSlot& {
  static const PodsOfSlot kNone;
  const auto group = groups_.find(group_uid);
  if (group == groups_.end()) return kNone;
  const auto pods = group->second.find(name);
  return pods == group->second.end() ? kNone : pods->second;
}

void SlotPods::erase(const gang::PodSlot& slot, std::string_view pod_uid) {
  const auto group = groups_.find(slot.pod_group_uid);
  if (group == groups_.end()) return;
  const auto slots = group->second.find({slot.role, slot.slot.ordinal});
  if (slots == group->second.end()) return;
  const auto at = slots->second.find(pod_uid);
  if (at != slots->second.end()) slots->second.erase(at);
  if (slots->second.empty()) group->second.erase(slots);
  if (group->second.empty()) groups_.erase(group);
}

// ---- PodGroups

namespace {

std::map<gang::SlotKey, const gang::MemberSet*> wanted_slots(const gang::PodGroup& group) {
  std::map<gang::SlotKey, const gang::MemberSet*> wanted;
  for (const gang::MemberSet& set : gang::all_sets(group.spec.gangs)) {
    for (const gang::SlotId slot : set.slots) wanted.emplace(gang::SlotKey(set.role, slot), &set);
  }
  return wanted;
}

}  // namespace

void GroupPlacements::set_group(PodGroupPtr group) {
  release_all();
  group_ = std::move(group);
  reserve_all();
}

void GroupPlacements::set_attempted(PodGroupPtr attempted) {
  release_all();
  attempted_ = std::move(attempted);
  reserve_all();
}

void GroupPlacements::set_committing(const std::string& gang, bool committing) {
  if (committing_.count(gang) == (committing ? 1U : 0U)) return;
  release_all();
  if (committing) {
    committing_.insert(gang);
  } else {
    committing_.erase(gang);
  }
  reserve_all();
}

void GroupPlacements::refresh(const gang::PodSlot& slot) {
  refresh(slot.placement);
  // A finished pod counts for its slot's current placement, too.
  const auto now = numbers_.find({slot.role, slot.slot.ordinal});
  if (now != numbers_.end() && now->second != slot.placement) refresh(now->second);
}

void GroupPlacements::refresh(std::int64_t number) {
  const auto at = reservations_.find(number);
  if (at == reservations_.end()) return;
  Reservation& reservation = at->second;
  count(reservation, false);
  see_pods(reservation);
  count(reservation, true);
  note_open(number, reservation);
}

void GroupPlacements::see_pods(Reservation& reservation) const {
  const auto& [ns, uid] = std::tie(reservation.group->meta.ns, reservation.group->meta.uid);
  const gang::Placement& placement = reservation.placement;
  reservation.bound = pods_.is_bound(uid, ns, placement);
  reservation.over = pods_.has_finished(uid, ns, placement.role, placement.slot);
}

void GroupPlacements::note_open(std::int64_t number, const Reservation& reservation) {
  open_.erase(number);
  if (!reservation.gang->committed || reservation.group != group_.get()) return;
  if (open_slot(reservation)) open_.insert(number);
}

bool GroupPlacements::waits_for_kubelet(const Reservation& reservation) const {
  if (!gang::is_direct(*reservation.gang, reservation.placement) || reservation.set->bind_last) {
    return false;
  }
  const auto& [ns, uid] = std::tie(reservation.group->meta.ns, reservation.group->meta.uid);
  return !pods_.has_started(uid, ns, reservation.placement);
}

std::optional<OpenSlot> GroupPlacements::open_slot(const Reservation& reservation) const {
  const auto& [ns, uid] = std::tie(reservation.group->meta.ns, reservation.group->meta.uid);
  auto slot = pods_.open_slot(uid, ns.str(), reservation.placement);
  if (slot || !waits_for_kubelet(reservation)) return slot;
  return OpenSlot{reservation.placement, OpenSlot::Why::kNotStarted, {}, {}};
}

std::vector<OpenSlot> GroupPlacements::open_slots() const {
  std::vector<OpenSlot> slots;
  for (const std::int64_t number : open_) {
    if (auto slot = open_slot(reservations_.at(number))) slots.push_back(*std::move(slot));
  }
  return slots;
}

namespace {

std::set<std::int64_t> placement_numbers(const gang::PodGroupStatus& status) {
  std::set<std::int64_t> numbers;
  for (const gang::GangStatus& gang : status.gangs) {
    for (const gang::Placement& placement : gang.placements) numbers.insert(placement.number);
  }
  return numbers;
}

}  // namespace

bool GroupPlacements::may_lose(std::int64_t placement) const {
  return attempted_ != nullptr && placement_numbers(attempted_->status).count(placement) == 0;
}

bool GroupPlacements::supersedes_bound(const gang::PodGroup& other) const {
  const std::set<std::int64_t> kept = placement_numbers(other.status);
  return std::any_of(reservations_.begin(), reservations_.end(), [&](const auto& entry) {
    const Reservation& reservation = entry.second;
    return reservation.group == group_.get() && reservation.gang->committed && reservation.bound &&
           kept.count(entry.first) == 0;
  });
}

SlotSeen GroupPlacements::seen(std::string_view role, int ordinal) const {
  SlotSeen seen{group_, std::nullopt, "", false, {}};
  const auto number = numbers_.find({std::string(role), ordinal});
  if (number == numbers_.end()) return seen;
  const Reservation& reservation = reservations_.at(number->second);
  seen.placement = reservation.placement;
  seen.gang = reservation.gang->name;
  seen.committed = reservation.gang->committed;
  seen.bind_last = reservation.set->bind_last;
  seen.requests = reservation.set->shape.requests;
  return seen;
}

GangSeen GroupPlacements::seen(std::string_view name) const {
  const gang::GangStatus* status = gang::find_gang(group_->status, name);
  GangSeen seen{group_, status != nullptr && status->committed, {}};
  const gang::Gang* gang = gang::find_gang(group_->spec, name);
  if (gang == nullptr) return seen;
  for (const gang::MemberSet& set : gang->members) {
    for (const gang::SlotId slot : set.slots) {
      MemberSeen& member = seen.members.emplace_back(MemberSeen{&set, slot, {}, {}});
      const std::string& uid = group_->meta.uid;
      const bool is_over = pods_.has_finished(uid, group_->meta.ns, set.role, slot);
      if (is_over) member.pod = MemberSeen::Pod::kBound;
      const auto number = numbers_.find({set.role, slot.ordinal});
      if (number == numbers_.end()) continue;
      const Reservation& reservation = reservations_.at(number->second);
      member.placement = reservation.placement;
      if (!is_over) member.pod = pods_.state(uid, group_->meta.ns, *member.placement);
      if (member.pod == MemberSeen::Pod::kBound && waits_for_kubelet(reservation)) {
        member.pod = MemberSeen::Pod::kNotStarted;
      }
      member.refusal = pods_.refusal(uid, group_->meta.ns, *member.placement);
    }
  }
  return seen;
}

void GroupPlacements::reserve_all() {
  if (group_ && !group_->meta.deleting) add_placements(*group_);
  for (const auto& [number, reservation] : reservations_) {
    numbers_.emplace(std::pair(reservation.placement.role, reservation.placement.slot.ordinal),
                     number);
  }
  if (attempted_) add_placements(*attempted_);
  for (const auto& [number, reservation] : reservations_) {
    count(reservation, true);
    note_open(number, reservation);
  }
  if (group_ && !group_->meta.deleting) add_reserved(*group_);
  if (attempted_) add_reserved(*attempted_);
  count_reserved(true);
}

void GroupPlacements::release_all() {
  for (const auto& [number, reservation] : reservations_) count(reservation, false);
  reservations_.clear();
  open_.clear();
  numbers_.clear();
  count_reserved(false);
  reserved_.clear();
}

void GroupPlacements::add_placements(const gang::PodGroup& group) {
  const auto wanted = wanted_slots(group);
  for (const gang::GangStatus& gang : group.status.gangs) {
    const bool committed = gang.committed || committing_.count(gang.name) > 0;
    for (const gang::Placement& placement : gang.placements) {
      const auto set = wanted.find(gang::SlotKey(placement.role, placement.slot));
      if (set == wanted.end()) continue;
      const auto [at, is_new] = reservations_.try_emplace(
          placement.number, Reservation{placement, set->second, &group, &gang, committed});
      if (is_new) see_pods(at->second);
      at->second.committed =
          at->second.committed || committed;  // as the status being written has it
    }
  }
}

// Includes what the spec no longer requests: the planner gives it back, or to a request.
void GroupPlacements::add_reserved(const gang::PodGroup& group) {
  for (const gang::GangStatus& gang : group.status.gangs) {
    const bool committed = gang.committed || committing_.count(gang.name) > 0;
    for (const gang::ReservedCapacity& entry : gang.reserved) {
      const gang::MemberSet* set = gang::find_set(group.spec, entry.set);
      if (set == nullptr) continue;
      ReservedPods& pods = reserved_[{entry.set, entry.node}];
      pods.set = set;
      pods.count = std::max(pods.count, entry.count);
      pods.committed = pods.committed || committed;
    }
  }
}

void GroupPlacements::count_reserved(bool add) {
  for (const auto& [place, pods] : reserved_) {
    const std::string node(place.second);
    for (int i = 0; i < pods.count; ++i) {
      if (add) {
        nodes_.reserve(node, pods.set->shape.requests, pods.committed);
      } else {
        nodes_.release(node, pods.set->shape.requests, pods.committed);
      }
    }
  }
}

void GroupPlacements::count(const Reservation& reservation, bool add) {
  if (reservation.bound || reservation.over) return;
  if (add) {
    nodes_.reserve(reservation.placement.node, reservation.set->shape.requests,
                   reservation.committed);
  } else {
    nodes_.release(reservation.placement.node, reservation.set->shape.requests,
                   reservation.committed);
  }
}

}  // namespace nervex::extender
