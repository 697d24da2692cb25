#include "controller/decide/attempt/refused_nodes.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "demand/gangs.h"
#include "gang/avoided_nodes.h"
#include "gang/slot.h"
#include "kube/model/disruption.h"

namespace nervex::controller {
namespace {

using job::Role;
using AvoidedNodes = std::vector<gang::AvoidedNode>;

constexpr std::size_t kMostInherited = 100;

// The role whose pods the set has in the next base gang, too. nullopt: only a request asks for
// them.
std::optional<Role> base_role(const gang::PodGroupSpec& spec, std::string_view set) {
  for (const gang::Gang& gang : spec.gangs) {
    for (const gang::MemberSet& member : gang.members) {
      if (member.name != set) continue;
      if (gang.kind == gang::GangKind::kRequest) return std::nullopt;
      return job::parse_role(member.role);
    }
  }
  return std::nullopt;
}

const gang::MemberSet* find_its_set(const gang::PodGroupSpec& spec, Role role, job::Slot slot) {
  for (const gang::MemberSet& set : gang::all_sets(spec.gangs)) {
    const bool is_its = set.role == to_string(role) &&
                        std::any_of(set.slots.begin(), set.slots.end(),
                                    [&](gang::SlotId one) { return one.ordinal == slot.ordinal; });
    if (is_its) return &set;
  }
  return nullptr;
}

bool was_rejected(const kube::Pod& pod) {
  return !pod.node.empty() && kube::was_taken_away(pod) &&
         kube::classify_disruption(pod) == kube::kRejected;
}

// By set and node.
using Counts = std::map<std::pair<std::string, std::string>, int>;

Counts count_rejections(const Round& round) {
  Counts rejections;
  const gang::PodGroup& group = *round.attempt.group;
  const auto count = [&](const kube::Pod& pod, Role role, job::Slot slot) {
    if (!was_rejected(pod)) return;
    const auto* set = find_its_set(group.spec, role, slot);
    if (set != nullptr) ++rejections[{set->name, pod.node.str()}];
  };
  for (const AttemptPod& member : round.attempt.pods) {
    count(*member.pod, member.role, member.slot);
  }
  // Its pod was deleted before its end was seen here.
  const auto& last = round.seen.last_coordinator;
  if (last != nullptr && is_coordinator(*last, group)) count(*last, Role::kCoordinator, {0, 0});
  return rejections;
}

// What the PodGroup's status will say when the extender has seen all rejections.
AvoidedNodes known_of_group(const Round& round) {
  const gang::PodGroup& group = *round.attempt.group;
  AvoidedNodes avoid = gang::avoided_nodes(group, round.seen.now);
  for (const auto& [where, times] : count_rejections(round)) {
    const auto& [set, node] = where;
    const int noted =
        gang::times_refused(avoid, set, node) - gang::times_refused(group.spec.avoid, set, node);
    if (times > noted) gang::avoid_node(avoid, set, node, 0, round.seen.now);
  }
  return avoid;
}

}  // namespace

std::vector<job::Status::AvoidedNode> refused_nodes(const Round& round) {
  if (round.attempt.group == nullptr) return round.seen.job.status.avoid;
  AvoidedNodes known = gang::still_of_use(known_of_group(round), round.seen.now);
  // Of two sets of a role, such as its base replicas and added ones, the longer limit is kept.
  std::stable_sort(known.begin(), known.end(),
                   [](const auto& a, const auto& b) { return a.until > b.until; });
  std::vector<job::Status::AvoidedNode> next;
  for (const gang::AvoidedNode& one : known) {
    if (next.size() == kMostInherited) break;
    const auto role = base_role(round.attempt.group->spec, one.set);
    const bool is_known = role && std::any_of(next.begin(), next.end(), [&](const auto& before) {
                            return before.role == *role && before.node == one.node;
                          });
    if (role && !is_known) next.push_back({*role, one.node, one.at_most, one.times, one.until});
  }
  return next;
}

std::vector<gang::AvoidedNode> inherited_avoid(const Round& round) {
  if (round.attempt.group != nullptr) return round.attempt.group->spec.avoid;
  AvoidedNodes avoid;
  for (const auto& one : round.seen.job.status.avoid) {
    if (one.node.empty()) continue;
    const std::string set = demand::set_name(demand::base_gang(), one.role, 0);
    avoid.push_back({set, one.node, one.at_most, std::max(1, one.times), one.until});
  }
  return gang::still_of_use(std::move(avoid), round.seen.now);
}

}  // namespace nervex::controller
