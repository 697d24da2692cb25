#include "planner/preemption/preempting.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "planner/gang/gang_domains.h"
#include "planner/preemption/recheck_preemption.h"
#include "planner/recovery/refusals.h"
#include "planner/reserved_nodes/reserved_nodes.h"
#include "planner/reserved_nodes/tenants.h"
#include "planner/work/ending.h"
#include "planner/work/start_blocker.h"

namespace nervex::planner {
namespace {

// While victims end; watches report it mostly.
constexpr std::chrono::seconds kPreemptingLook{5};
// After one was stopped: for the gangs behind it. It stops again if its status was not written.
constexpr std::chrono::seconds kStoppedLook{1};
// The least time until the next look when a queue has used up its rate of preemptions. A gang that
// is still preempting counts for longer than the period, so the computed time may be in the past.
constexpr std::chrono::seconds kRateLook{10};

struct PreemptingGang {
  GroupWork* group = nullptr;
  GangWork* gang = nullptr;
};

std::vector<PreemptingGang> find_preempting(const CycleWork& work) {
  std::vector<PreemptingGang> found;
  for (GroupWork* group : work.groups) {
    if (group->is_left_alone()) continue;
    for (GangWork& gang : group->gangs) {
      if (!gang.victims.empty() && !gang.is_committed()) found.push_back({group, &gang});
    }
  }
  return found;
}

std::string describe(const GroupWork& preemptor, const GroupWork& group,
                     const gang::Victim& victim) {
  if (victim.is_for_reservation) {
    return "preempted: it runs on nodes that are reserved for another job, which starts now; the "
           "gang is requeued and keeps its place";
  }
  const auto name = [](const GroupWork& one) {
    return one.queue.name.empty() ? std::string("the root") : "queue " + one.queue.name;
  };
  if (!victim.is_reclaimed) {
    return fmt::format(
        "preempted by a workload of higher priority in {}: the gang is requeued and keeps its "
        "place",
        name(group));
  }
  return fmt::format(
      "preempted: {} reclaims capacity within its quota; the gang is requeued and keeps its "
      "place",
      name(preemptor));
}

// A victim that is still there.
struct VictimWork {
  const gang::Victim* victim = nullptr;
  GroupWork* group = nullptr;
  GangWork* gang = nullptr;  // null: it has none of the placements of that start
  bool is_marked() const {
    return gang->before != nullptr && gang::is_released(*gang->before) &&
           ends_wholly(*gang->before);
  }
};

// What has become of the victims of one gang.
struct VictimsSeen {
  std::vector<VictimWork> unmarked;
  bool is_any_ending = false;  // marked, or its pods have not ended yet
  bool is_any_gone = false;    // perhaps because it was marked
  bool is_counted = false;     // by the status of the gang's Queue; before that none is marked
  bool are_gone() const { return unmarked.empty() && !is_any_ending; }
  bool may_be_marked() const { return is_any_ending || (is_any_gone && is_counted); }
};

class Continuation {
 public:
  Continuation(const CycleFacts& facts, CycleWork& work, Placer& placer, NextLook& next_look)
      : facts_(facts),
        work_(work),
        placer_(placer),
        mode_(facts.options.preemption),
        now_(facts.now),
        next_look_(next_look),
        ending_(facts, work),
        future_(ending_.lend_to(placer.ledger())) {
    for (GroupWork* group : work.groups) by_uid_.emplace(group->seen->group->meta.uid, group);
  }

  void go_on(const PreemptingGang& one) {
    const auto& [group, gang] = one;
    gang->move_to(GangStage::kWaiting);
    Ledger& ledger = placer_.ledger_for(*group);
    future_.count_for(group->priority());
    const VictimsSeen victims = see_victims(*group, *gang);
    const bool is_of_ending_job = gang->kind != gang::GangKind::kBase && ending_.ends_job(*group);
    const bool is_blocked = !victims.may_be_marked() && find_start_blocker(*group, *gang);
    const bool is_wanted =
        !is_of_ending_job && !is_blocked && !is_changed(*group, *gang, victims, ledger);
    if (!is_wanted) return stop(*gang, victims, ledger);
    const bool has_nodes = try_take(*gang, ledger);
    if (has_nodes && !exceeds_limit(facts_, work_, *group, *gang, ledger)) {
      return start(*gang, victims, ledger);
    }
    if (has_nodes) lend(*gang, ledger);
    const bool is_over = victims.are_gone() && (has_nodes || is_overdue(*gang));
    if (is_over) return stop(*gang, victims, ledger);
    const bool will_fit = try_take(*gang, future_);
    const bool is_on = is_for_reservation(gang->victims) ? facts_.options.reservation.is_on()
                                                         : mode_ != queue::PreemptionMode::kOff;
    const bool may_mark = is_on && !ending_.is_requeue_late();
    const bool may_go_on =
        (will_fit || victims.is_any_ending) && (victims.unmarked.empty() || may_mark);
    if (!may_go_on) return stop(*gang, victims, ledger);
    if (will_fit && !has_stopped_any_ && can_mark(victims)) {
      if (!is_allowed(*group, *gang, victims.unmarked)) return stop(*gang, victims, ledger);
      for (const VictimWork& victim : victims.unmarked) {
        victim.gang->preempt(describe(*group, *victim.group, *victim.victim));
      }
    }
    take_unchecked(*gang, ledger);
    placer_.waits_otherwise = true;  // for the capacity of its victims
    next_look_.at(now_ + kPreemptingLook);
  }

 private:
  void start(GangWork& gang, const VictimsSeen& victims, Ledger& ledger) {
    if (!victims.may_be_marked()) {
      yield(gang, ledger);
      return stop(gang, victims, ledger);
    }
    take_unchecked(gang, future_);
    gang.victims.clear();
    // If the plan is dropped in this cycle, its nodes stay reserved.
    if (gang.reservation) gang.reservation->nodes = reserved_capacity(gang.placed);
    // They run on, and still count as ending for the gangs behind this one.
    has_stopped_any_ = has_stopped_any_ || !victims.unmarked.empty();
  }
  // Its victims have ended, and it has waited long enough for what else is ending.
  bool is_overdue(const GangWork& gang) const {
    return gang.before != nullptr && gang.before->since + queue::kLongestPreemption <= now_;
  }
  // A node that is not ready for a moment is waited for while victims end: otherwise they would end
  // in vain, and others for the gang's next try.
  static bool is_changed(const GroupWork& group, const GangWork& gang, const VictimsSeen& victims,
                         const Ledger& ledger) {
    const auto is_ready = [&](std::string_view node) {
      const auto at = ledger.nodes().find(node);
      return !at || ledger.nodes().node(*at).ready;
    };
    return !gang.missing.empty() || gang.obstacle == Obstacle::kRejected || group.is_drained ||
           !keeps_topology(gang, ledger) ||
           !std::all_of(gang.placed.begin(), gang.placed.end(), [&](const PlacedSlot& slot) {
             const std::string& node = slot.placement.node;
             return ledger.is_allowed(*slot.set, node) ||
                    (victims.is_any_ending && !is_ready(node));
           });
  }
  void stop(GangWork& gang, const VictimsSeen& victims, Ledger& ledger) {
    keep_reservation(gang);
    gang.victims.clear();
    gang.stopped_preemption =
        victims.may_be_marked() ? StoppedPreemption::kAfterMark : StoppedPreemption::kWithdrawn;
    has_stopped_any_ = true;  // its victims still count as ending for the gangs behind it
    ledger.note_dropped_plan();
    next_look_.at(now_ + kStoppedLook);
  }
  // The nodes that it was to get stay reserved, so that those which are idle by now go to no other
  // gang. While it preempts its placements alone name them: the status has to stay small.
  void keep_reservation(GangWork& gang) const {
    if (!gang.reservation) return;
    if (!is_for_reservation(gang.victims)) return lapse(gang, now_);
    gang.reservation->nodes = reserved_capacity(gang.placed);
  }
  VictimsSeen see_victims(const GroupWork& group, const GangWork& gang) const {
    VictimsSeen seen;
    seen.is_counted = gang.before == nullptr ||
                      queue::is_counted(facts_.tree(), group.queue.name, gang.before->since);
    const auto states = group.seen->victims.find(gang.name);
    if (states == group.seen->victims.end()) return seen;
    for (std::size_t i = 0; i < gang.victims.size() && i < states->second.size(); ++i) {
      if (states->second[i] == VictimState::kGone) {
        seen.is_any_gone = true;
        continue;
      }
      const VictimWork victim = find(gang.victims[i]);
      // If no slot of that start is wanted any more, it was requeued.
      const bool is_unmarked =
          states->second[i] == VictimState::kRuns && victim.gang != nullptr && !victim.is_marked();
      if (is_unmarked) {
        seen.unmarked.push_back(victim);
      } else {
        seen.is_any_ending = true;
      }
    }
    return seen;
  }
  bool is_allowed(const GroupWork& group, const GangWork& gang,
                  const std::vector<VictimWork>& unmarked) {
    std::vector<const gang::Victim*> victims;
    victims.reserve(unmarked.size());
    for (const VictimWork& victim : unmarked) victims.push_back(victim.victim);
    if (!is_for_reservation(gang.victims)) {
      return is_still_allowed(facts_, work_, group, gang, std::move(victims), placer_.ledger());
    }
    const auto reclaiming_queues =
        queue::find_reclaiming_queues(facts_.tree(), mode_, group.queue.name);
    return std::all_of(unmarked.begin(), unmarked.end(),
                       [&](const VictimWork& victim) {
                         return is_still_reclaimable(reclaiming_queues, group, gang, *victim.group,
                                                     *victim.gang);
                       }) &&
           may_start_without(facts_, work_, group, gang, victims, placer_.ledger());
  }
  VictimWork find(const gang::Victim& victim) const {
    const auto at = by_uid_.find(victim.pod_group_uid);
    if (at == by_uid_.end()) return {&victim};
    for (GangWork& gang : at->second->gangs) {
      if (gang.name == victim.gang && is_same_start(gang, victim)) {
        return {&victim, at->second, &gang};
      }
    }
    return {&victim};
  }
  // All at once, and so that the preemption counts after a crash, too.
  static bool can_mark(const VictimsSeen& victims) {
    return victims.is_counted && !victims.unmarked.empty() &&
           std::all_of(victims.unmarked.begin(), victims.unmarked.end(), [](const auto& victim) {
             return victim.gang->is_stored_committed() && !victim.group->is_left_alone();
           });
  }
  const CycleFacts& facts_;
  CycleWork& work_;
  Placer& placer_;
  const queue::PreemptionMode mode_;
  const SysTime now_;
  NextLook& next_look_;
  const Ending ending_;
  Ledger future_;  // with what ends, and the gangs before this one
  std::map<std::string_view, GroupWork*> by_uid_;
  bool has_stopped_any_ = false;
};

}  // namespace

VictimState judge_victim(const gang::PodGroup* group, const gang::Victim& victim) {
  const bool is_deleted = group == nullptr || group->meta.deleting;
  const auto* gang = is_deleted ? nullptr : gang::find_gang(group->status, victim.gang);
  if (gang == nullptr || !gang->committed) return VictimState::kGone;
  const bool is_same = std::any_of(
      gang->placements.begin(), gang->placements.end(),
      [&](const gang::Placement& placement) { return placement.number <= victim.through; });
  return is_same ? VictimState::kRuns : VictimState::kGone;
}

void begin_preempting(GroupWork& group, GangWork& gang, std::vector<PlacedSlot> placed,
                      const queue::QueueTree& tree, queue::QueueIndex queue, Placer& placer) {
  placer.reserve(group, gang, std::move(placed));
  placer.waits_otherwise = true;
  if (gang.kind != gang::GangKind::kBase) return;
  group.queue.position = 0;
  group.queue.max_runtime_seconds = tree.max_runtime_seconds(queue);
  group.queue.parents = tree.list_parents(queue);
}

std::optional<Ledger> keep_for_preempting(const CycleFacts& facts, const CycleWork& work,
                                          const Ledger& ledger) {
  const auto gangs = find_preempting(work);
  if (gangs.empty()) return std::nullopt;
  Ledger future = Ending(facts, work).lend_to(ledger);
  for (const auto& [group, gang] : gangs) {
    future.count_for(group->priority());
    if (gang->missing.empty()) try_take(*gang, future);
  }
  return future;
}

bool continue_preemptions(const CycleFacts& facts, CycleWork& work, Placer& placer,
                          NextLook& next_look) {
  const auto gangs = find_preempting(work);
  if (gangs.empty()) return false;
  // As in the search, which counts what all of them use: see is_still_allowed().
  for (const PreemptingGang& one : gangs) one.gang->assume();
  Continuation continuation(facts, work, placer, next_look);
  for (const PreemptingGang& one : gangs) continuation.go_on(one);
  return true;
}

PreemptionTimes collect_preemption_times(const CycleFacts& facts, const CycleWork& work,
                                         PreemptionMemory& memory) {
  const queue::QueueTree& tree = facts.tree();
  const SysTime now = facts.now;
  PreemptionTimes times;
  std::erase_if(memory.withdrawn,
                [now](const auto& one) { return one.second + queue::kPreemptionPeriod <= now; });
  const auto note = [&](const std::string& queue, SysTime time) {
    if (memory.withdrawn.count({queue, time}) > 0) return;
    auto& known = times[queue];
    const auto at = std::lower_bound(known.begin(), known.end(), time);
    if (at == known.end() || *at != time) known.insert(at, time);
  };
  for (queue::QueueIndex i = queue::kRoot + 1; i < tree.size(); ++i) {
    for (const SysTime time : tree[i].preemptions) note(tree[i].name, time);
  }
  for (auto& [queue, known] : times) queue::forget_old_preemptions(known, now);
  // Old or not: whether victims may be marked follows from whether it is counted.
  for (const GroupWork* group : work.groups) {
    for (const GangWork& gang : group->gangs) {
      if (gang.before == nullptr || !gang::is_preempting(*gang.before)) continue;
      const std::pair key(group->seen->group->status.queue.name, gang.before->since);
      // If its withdrawal was not stored, it still preempts.
      if (gang.stopped_preemption == StoppedPreemption::kWithdrawn) {
        memory.withdrawn.insert(key);
        if (const auto its = times.find(key.first); its != times.end()) {
          std::erase(its->second, key.second);
        }
      } else {
        memory.withdrawn.erase(key);
        note(key.first, key.second);
      }
    }
  }
  std::erase_if(times, [](const auto& entry) { return entry.second.empty(); });
  return times;
}

std::optional<PreemptionMemory::Search> find_preemption_pause(const GroupWork& group,
                                                              const GangWork& gang,
                                                              std::string_view queue,
                                                              const PreemptionTimes& times,
                                                              SysTime now) {
  using Outcome = gang::PreemptionOutcome;
  if (const auto after = find_failure_pause(group, gang, now)) {
    return PreemptionMemory::Search{*after, Outcome::kBackOff};
  }
  const auto known = times.find(queue);
  if (known == times.end() || known->second.size() < queue::kMostPreemptions) return std::nullopt;
  // One that still preempts counts for longer than the period.
  const SysTime again = std::max(known->second.front() + queue::kPreemptionPeriod, now + kRateLook);
  return PreemptionMemory::Search{again, Outcome::kRateLimited};
}

}  // namespace nervex::planner
