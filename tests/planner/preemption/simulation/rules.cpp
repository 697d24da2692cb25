#include "tests/planner/preemption/simulation/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace nervex::testing {
namespace {

constexpr std::chrono::minutes kLateRequeue{5};

bool was_in(const gang::GangStatus* before, std::string_view reason) {
  return before != nullptr && before->reason == reason;
}

}  // namespace

void PreemptionRules::judge(const gang::PodGroup& group, const gang::PodGroupStatus& after,
                            SysTime now) {
  for (const gang::GangStatus& gang : after.gangs) {
    const gang::GangStatus* before = gang::find_gang(group.status, gang.name);
    const bool was_preempting = before != nullptr && gang::is_preempting(*before);
    if (gang::is_preempting(gang)) {
      if (!was_preempting) {
        ++happened["victims named"];
        named_.emplace(group.meta.uid, gang.name);
        if (is_at_rest) fail(group.meta.name + " preempts although nothing has changed");
      }
      if (gang.planned || gang.committed) fail(group.meta.name + " is planned while it preempts");
    }
    const bool is_marked = gang.reason == gang::kReasonPreempted;
    if (is_marked && !was_in(before, gang::kReasonPreempted)) judge_mark(group, gang, now);
    if (was_preempting && gang.planned) ++happened["preemptor started"];
    const bool waits_again = was_preempting && !gang.planned && !gang::is_preempting(gang);
    if (waits_again) ++happened["preemptor waits again"];
  }
}

void PreemptionRules::judge_mark(const gang::PodGroup& group, const gang::GangStatus& gang,
                                 SysTime now) {
  const std::string& name = group.meta.name;
  ++happened["victim marked"];
  if (is_at_rest) fail(name + " ends although nothing has changed");
  const std::int64_t start = gang.placements.empty() ? 0 : gang.placements[0].number;
  if (!ended_.emplace(group.meta.uid, start).second) fail(name + " is ended twice");
  if (gang.started_at && *gang.started_at + std::chrono::seconds(60) > now) {
    fail(name + " is ended before its time");
  }
  // An old leader may mark what was named when it decided: the victim's status is the same. Its
  // preemption was counted for a preemptor that may be another by now.
  if (is_leader_old) return;
  if (!cluster_.is_named(group.meta.uid, gang.name)) fail(name + " is marked, and was not named");
  if (!cluster_.is_counted(group.meta.uid, gang.name)) fail(name + " is marked, and not counted");
  if (are_marks_old(now)) fail(name + " is marked while the controller is away");
}

// Gangs of several jobs were marked long ago, and their pods run on.
bool PreemptionRules::are_marks_old(SysTime now) const {
  std::set<std::string> old;
  for (const gang::PodGroup& group : cluster_.groups) {
    for (const gang::GangStatus& gang : group.status.gangs) {
      const bool is_old = was_in(&gang, gang::kReasonPreempted) && gang.since + kLateRequeue <= now;
      const bool run_on =
          !gang.placements.empty() &&
          std::none_of(gang.placements.begin(), gang.placements.end(),
                       [&](const auto& one) { return cluster_.is_terminating(group, one.number); });
      const bool is_requeued = gang::find_gang(group.spec, gang.name) == nullptr ||
                               group.status.observed_generation != group.meta.generation;
      if (is_old && run_on && !is_requeued) old.insert(group.meta.uid);
    }
  }
  return old.size() > 1;
}

void PreemptionRules::check_victims_are_enough() {
  for (const auto& [uid, name] : named_) {
    const gang::PodGroup* preemptor = cluster_.find_uid(uid);
    const gang::GangStatus* it =
        preemptor == nullptr ? nullptr : gang::find_gang(preemptor->status, name);
    if (it == nullptr) continue;
    std::map<std::string, std::int64_t> need;
    std::string stay;
    for (const gang::PodGroup& group : cluster_.groups) {
      for (const gang::GangStatus& gang : group.status.gangs) {
        for (const gang::Placement& placement : gang.placements) {
          const bool stays = &gang == it || (!ends(group, gang) &&
                                             !cluster_.is_terminating(group, placement.number));
          if (!stays) continue;
          need[placement.node] += gpus_of(group);
          stay += fmt::format(" {}/{} ({}) on {}", group.meta.name, gang.name, gang.reason,
                              placement.node);
        }
      }
    }
    for (const placement::NodeView& node : cluster_.nodes) {
      const bool is_its = std::any_of(it->placements.begin(), it->placements.end(),
                                      [&](const auto& one) { return one.node == node.node->name; });
      if (is_its && need[node.node->name] > node.free.get(kGpu)) {
        fail(name + " of " + uid + " ends too little:" + stay);
      }
    }
  }
}

bool PreemptionRules::ends(const gang::PodGroup& group, const gang::GangStatus& gang) const {
  const auto is_one = [&](const gang::GangStatus& one) {
    return gang::is_released(one) || cluster_.is_named(group.meta.uid, one.name);
  };
  const gang::GangStatus* base = gang::find_gang(group.status, gang::kBaseGang);
  return is_one(gang) || (base != nullptr && is_one(*base));
}

void PreemptionRules::check_rest() {
  for (const gang::PodGroup& group : cluster_.groups) {
    for (const gang::GangStatus& gang : group.status.gangs) {
      if (gang::is_preempting(gang)) fail(group.meta.name + " never stops preempting");
      if (was_in(&gang, gang::kReasonPreempted)) fail(group.meta.name + " was never requeued");
    }
  }
}

}  // namespace nervex::testing
