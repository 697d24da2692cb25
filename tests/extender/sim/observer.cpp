#include "tests/extender/sim/observer.h"

#include <fmt/format.h>

#include <algorithm>

#include "gang/slot.h"
#include "tests/support/gang_builders.h"

namespace nervex::testing {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kOwnAggregator = "aggregator";  // of the base gang: no part of a quorum

// It runs, as far as can be known, or has finished on its own.
bool is_in_place(const PodSeen& pod) {
  return pod.is_bound() && !pod.was_taken_away() && (!pod.node_lost || pod.is_finished());
}

std::string format_seconds(milliseconds time) { return fmt::format("{} s", time.count() / 1000); }

}  // namespace

void Observer::breach(std::string what) {
  if (broken_.size() < 20) broken_.push_back(std::move(what));
}

void Observer::look() {
  view.refresh();
  if (std::exchange(looked_at_, view.version()) != view.version()) {
    look_at_nodes();
    look_at_pods();
    for (const auto& [uid, group] : view.groups()) look_at_group(group);
    look_at_parts();
  }
  check_times();
}

void Observer::look_at_nodes() {
  const auto counts = [&](const PodSeen& pod) {
    return counted_ == Counted::kAllPods || pod.slot.has_value();
  };
  std::size_t not_ready = 0;
  for (const auto& [name, node] : view.nodes()) {
    not_ready += node.ready ? 0 : 1;
    for (const auto& [resource, left] : view.left_on(node, counts)) {
      if (left < 0) breach(fmt::format("node {} has {} {}", name, left, resource));
    }
    if (node.ready) away_.erase(name);
    if (!node.ready) away_.try_emplace(name, clock_.now());
  }
  // Then no node counts as lost, and each one has its whole time again
  // (extender/act/lost_nodes.h).
  const std::size_t all = view.nodes().size();
  const bool is_disruption =
      not_ready > 0 && (not_ready == all || (not_ready > 2 && not_ready * 100 >= all * 55));
  for (auto& [name, since] : away_) {
    // It lasted until now, also if nothing has changed since it was last seen.
    const bool starts_again = is_disruption || was_disruption_;
    if (starts_again && view.node(name) != nullptr) since = clock_.now();
  }
  was_disruption_ = is_disruption;
  for (const auto& [uid, pod] : view.pods()) {
    if (pod.is_bound() && view.node(pod.node) == nullptr) away_.try_emplace(pod.node, clock_.now());
  }
}

void Observer::look_at_pods() {
  pods_of_.clear();
  std::set<Ordinal> live;
  std::vector<const PodSeen*> new_ones;
  for (const auto& [uid, pod] : view.pods()) {
    if (!pod.slot || !pod.is_bound()) continue;
    const auto& [group, role, slot, number] = *pod.slot;
    pods_of_[SlotKey(group, role, slot.ordinal, slot.incarnation)].push_back(&pod);
    if (pod.occupies() && !live.emplace(group, role, slot.ordinal).second) {
      breach(fmt::format("{} has two live pods, one of them {}", gang::slot_key(role, slot.ordinal),
                         pod.name));
    }
    ever_bound_.emplace(group, role, slot.ordinal);
    if ((pod.has_begun || pod.is_finished()) && !pod.was_taken_away()) {
      begun_.emplace(group, role, slot.ordinal, slot.incarnation);
    }
    if (bound_.insert(uid).second) new_ones.push_back(&pod);
    if (pod.node_lost && marked_.insert(uid).second) ++seen["pod on a lost node"];
    look_at_bound(pod);
  }
  for (const PodSeen* pod : new_ones) {
    const auto group = view.groups().find(pod->slot->pod_group_uid);
    if (group != view.groups().end()) look_at_last(*pod, group->second);
  }
}

void Observer::look_at_bound(const PodSeen& pod) {
  const auto group = view.groups().find(pod.slot->pod_group_uid);
  if (group == view.groups().end()) return;
  const auto& status = group->second.status;
  const auto* placement = gang::find_placement(status, pod.slot->role, pod.slot->slot);
  if (placement == nullptr) return;  // released while it ran
  if (placement->number != pod.slot->placement || placement->node != pod.node) {
    breach(fmt::format("pod {} is bound to {} for placement {}, and its slot has {} on {}",
                       pod.name, pod.node, pod.slot->placement, placement->number,
                       placement->node));
  }
  if (!gang::find_gang_with_slot(status, pod.slot->role, pod.slot->slot)->committed) {
    breach(fmt::format("pod {} is bound and its gang is not committed", pod.name));
  }
}

void Observer::look_at_last(const PodSeen& pod, const gang::PodGroup& group) {
  const std::vector<Member> sets = list_members(group);
  const auto set = std::find_if(sets.begin(), sets.end(), [&](const Member& one) {
    return one.bind_last && one.role == pod.slot->role;
  });
  if (set == sets.end()) return;
  const auto committed = committed_.find({group.meta.uid, set->gang.name});
  if (committed == committed_.end()) return;
  ++seen["coordinator bound"];
  for (const gang::Placement& placement : committed->second) {
    const auto& [role, slot, node, number] = placement;
    if (role == set->role || ever_bound_.count({group.meta.uid, role, slot.ordinal}) > 0) continue;
    if (!is_wanted(group, role, slot)) continue;
    breach(fmt::format("{} is bound before {}", pod.name, gang::slot_key(role, slot.ordinal)));
  }
  const auto* gang = gang::find_gang(group.status, set->gang.name);
  if (gang == nullptr) return;
  for (const gang::Placement& placement : gang->placements) {
    const auto& [role, slot, node, number] = placement;
    if (role == set->role || !gang::is_direct(*gang, placement)) continue;
    if (!is_wanted(group, role, slot)) continue;
    ++seen["coordinator bound after a direct pod"];
    if (begun_.count(SlotKey(group.meta.uid, role, slot.ordinal, slot.incarnation)) == 0) {
      breach(fmt::format("{} is bound before {} has begun", pod.name,
                         gang::slot_key(role, slot.ordinal)));
    }
  }
}

void Observer::look_at_group(const gang::PodGroup& group) {
  const std::string& uid = group.meta.uid;
  for (const gang::GangStatus& gang : group.status.gangs) {
    if (!gang.committed) continue;
    const bool is_new = committed_.try_emplace({uid, gang.name}, gang.placements).second;
    if (is_new) ++seen["gang committed"];
    for (const gang::Placement& placement : gang.placements) {
      const auto& [role, slot, node, number] = placement;
      placements_.try_emplace(SlotKey(uid, role, slot.ordinal, slot.incarnation), node, number);
      if (!is_new || !caches_are_fresh_ || !is_wanted(group, role, slot)) continue;
      const NodeSeen* at = view.node(node);
      if (at == nullptr || !at->lets_in()) {
        breach(fmt::format("gang {} of {} starts on node {}, which takes no pods", gang.name,
                           group.meta.name, node));
      }
    }
  }
  for (const gang::MemberSet& set : gang::all_sets(group.spec.gangs)) {
    for (const gang::SlotId slot : set.slots) look_at_slot(group, set, slot);
  }
}

void Observer::look_at_slot(const gang::PodGroup& group, const gang::MemberSet& set,
                            gang::SlotId slot) {
  const SlotKey key(group.meta.uid, set.role, slot.ordinal, slot.incarnation);
  const auto known = placements_.find(key);
  if (known == placements_.end()) return;
  const auto* placement = gang::find_placement(group.status, set.role, slot);
  const auto what = [&] {
    return fmt::format("{} of {}", gang::slot_key(set.role, slot.ordinal), group.meta.name);
  };
  const auto is_committed = [&] {
    return gang::find_gang_with_slot(group.status, set.role, slot)->committed;
  };
  const bool is_same =
      placement != nullptr && std::pair(placement->node, placement->number) == known->second;
  if (!is_same) {
    const auto pods = pods_of_.find(key);
    const bool is_bound =
        pods != pods_of_.end() &&
        std::any_of(pods->second.begin(), pods->second.end(), [&](const PodSeen* pod) {
          return pod->slot->placement == known->second.second;
        });
    auto& [node, number] = known->second;
    const bool was_released = node.empty();
    if (is_bound && !was_released) breach(what() + " has lost the placement of its bound pod");
    if (placement == nullptr) {
      node.clear();
      return;
    }
    const bool is_older = was_released ? placement->number < number : placement->number <= number;
    if (is_older) breach(what() + " has an older placement");
    number = placement->number;
    // Without a placement the spec may have moved it to a gang that is not committed.
    if (was_released && !is_committed()) return;
    node = placement->node;
    ++seen["placement moved"];
  }
  if (!is_committed()) breach(what() + " was of a committed gang and is not any more");
}

// ---- for how long?

bool Observer::waits_for_last(const std::string& uid, const gang::MemberSet& set,
                              gang::SlotId slot) const {
  if (set.role != "collector") return false;
  for (auto at = pods_of_.lower_bound(SlotKey(uid, set.role, slot.ordinal, 0));
       at != pods_of_.end() && at->first < SlotKey(uid, set.role, slot.ordinal, slot.incarnation);
       ++at) {
    const auto& pods = at->second;
    if (std::any_of(pods.begin(), pods.end(), [](const auto* pod) { return pod->deleting; })) {
      return true;
    }
  }
  return false;
}

std::optional<Observer::Part> Observer::missing_part(const gang::PodGroup& group,
                                                     const gang::GangStatus& gang) const {
  int in_place = 0;
  bool runs_on = true;
  std::string missing;
  const gang::Gang* wanted = gang::find_gang(group.spec, gang.name);
  if (wanted == nullptr) return std::nullopt;
  for (const gang::MemberSet& set : wanted->members) {
    if (wanted->kind == gang::GangKind::kBase && set.role == kOwnAggregator) continue;
    for (const gang::SlotId slot : set.slots) {
      const auto pods =
          pods_of_.find(SlotKey(group.meta.uid, set.role, slot.ordinal, slot.incarnation));
      const bool is_there = pods != pods_of_.end() &&
                            std::any_of(pods->second.begin(), pods->second.end(),
                                        [](const PodSeen* pod) { return is_in_place(*pod); });
      in_place += is_there ? 1 : 0;
      if (is_there) continue;
      missing += " " + gang::slot_key(set.role, slot.ordinal);
      runs_on = runs_on && waits_for_last(group.meta.uid, set, slot);
    }
  }
  if (in_place == 0 || missing.empty()) return std::nullopt;
  return Part{clock_.now(), runs_on, missing};
}

void Observer::look_at_parts() {
  std::map<GangKey, Part> now;
  for (const auto& [uid, group] : view.groups()) {
    for (const gang::GangStatus& gang : group.status.gangs) {
      auto part = gang.committed ? missing_part(group, gang) : std::nullopt;
      if (!part) continue;
      const auto known = parts_.find({uid, gang.name});
      if (part->runs_on) ++seen["gang runs on"];
      const bool has_run_on = part->runs_on || (known != parts_.end() && known->second.runs_on);
      if (known != parts_.end() && !has_run_on) part->since = known->second.since;
      now.emplace(GangKey(uid, gang.name), *std::move(part));
    }
  }
  parts_ = std::move(now);
  std::map<std::string, SysTime> on_away;
  for (const auto& [uid, pod] : view.pods()) {
    const bool needs_mark =
        pod.slot && pod.is_bound() && !pod.node_lost && (!pod.is_finished() || pod.deleting);
    if (!needs_mark || away_.count(pod.node) == 0) continue;
    const auto known = on_away_.find(uid);
    on_away.emplace(uid, known == on_away_.end() ? clock_.now() : known->second);
  }
  on_away_ = std::move(on_away);
}

void Observer::check_times() {
  const SysTime now = clock_.now();
  for (auto& [key, part] : parts_) {
    const auto lasted = now - part.since;
    if (part.runs_on || lasted <= limits_.in_part()) continue;
    const gang::PodGroup& group = view.groups().at(key.first);
    const auto* gang = gang::find_gang(group.status, key.second);
    breach(fmt::format("gang {} of {} runs without{} for {}: {}, {}", key.second, group.meta.name,
                       part.text, format_seconds(lasted), gang->reason, gang->message));
    part.since = now;  // said once
  }
  for (auto& [uid, since] : on_away_) {
    const PodSeen& pod = *view.pod(uid);
    const auto lasted = now - std::max(since, away_.at(pod.node));
    if (lasted <= limits_.unmarked()) continue;
    breach(fmt::format("pod {} is on node {}, which is lost for {}, and is not marked", pod.name,
                       pod.node, format_seconds(lasted)));
    since = now;
  }
}

void Observer::extender_was_started(milliseconds away) {
  excuse(away);
  const SysTime now = clock_.now();
  for (auto& [node, since] : away_) since = now;
  for (auto& [key, part] : parts_) {
    const auto group = view.groups().find(key.first);
    const auto* gang =
        group == view.groups().end() ? nullptr : gang::find_gang(group->second.status, key.second);
    if (gang == nullptr || !gang->healing_since) part.since = now;
  }
}

void Observer::excuse(milliseconds delay) {
  for (auto& [key, part] : parts_) part.since += delay;
  for (auto& [node, since] : away_) since += delay;
  for (auto& [uid, since] : on_away_) since += delay;
}

}  // namespace nervex::testing
