#include "extender/cycle/preemption/preempting.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <string_view>
#include <utility>

#include "extender/cycle/next_look.h"
#include "extender/cycle/preemption/ending.h"
#include "extender/cycle/start_waiting.h"
#include "queue/admission.h"

namespace nervex::extender {
namespace {

// While victims end; watches report it mostly.
constexpr std::chrono::seconds kPreemptingLook{5};

struct PreemptingGang {
  GroupWork* group = nullptr;
  GangWork* gang = nullptr;
};

std::vector<PreemptingGang> find_preempting(const CycleWork& work) {
  std::vector<PreemptingGang> found;
  for (GroupWork* group : work.groups) {
    if (group->seen->unconfirmed) continue;
    for (GangWork& gang : group->gangs) {
      if (!gang.victims.empty() && !gang.committed) found.push_back({group, &gang});
    }
  }
  return found;
}

std::string describe(const GroupWork& preemptor, const GroupWork& group, bool is_reclaimed) {
  const auto name = [](const GroupWork& one) {
    return one.queue.name.empty() ? std::string("the root") : "queue " + one.queue.name;
  };
  if (!is_reclaimed) {
    return fmt::format(
        "preempted by a workload of higher priority in {}: the gang is requeued and keeps its "
        "place",
        name(group));
  }
  return fmt::format(
      "preempted: {} takes back capacity within its quota; the gang is requeued and keeps its "
      "place",
      name(preemptor));
}

// A victim that is still there.
struct VictimWork {
  const gang::Victim* victim = nullptr;
  GroupWork* group = nullptr;
  GangWork* gang = nullptr;  // null: it has none of the placements of that start
  bool is_marked() const { return gang->before != nullptr && gang::is_released(*gang->before); }
};

// What a queue says today: may these victims end for the gang?
class Rules {
 public:
  Rules(const Snapshot& snapshot, CycleWork& work, const Ending& ending, const Ledger& ledger,
        queue::PreemptionMode mode, SysTime now)
      : snapshot_(snapshot),
        work_(work),
        ending_(ending),
        ledger_(ledger),
        mode_(mode),
        now_(now) {}

  bool allow(const PreemptingGang& one, const std::vector<VictimWork>& victims) const {
    const queue::QueueTree& tree = snapshot_.facts.tree();
    const auto queue = tree.find(one.group->queue.name);
    if (!queue || !is_in_its_queue(one)) return false;
    queue::Workload workload = one.group->seen->make_workload(one.gang->position);
    workload.queue = one.group->queue.name;
    const queue::Usage used = count_use(work_, snapshot_.facts, ledger_);
    queue::Usage usage = used;
    ending_.remove_from(usage);
    if (queue::find_inadmissible(tree, usage, *queue, workload)) return false;
    usage = used;
    ending_.remove_from(usage, name_gangs(one.gang->victims));
    return are_preemptible(queue::make_preemptor(tree, usage, *queue, workload), usage, victims);
  }

 private:
  // A job that waits may have another queue by now.
  bool is_in_its_queue(const PreemptingGang& one) const {
    if (one.gang->kind != gang::GangKind::kBase) return true;
    const gang::PodGroup& group = *one.group->seen->group;
    const auto found = snapshot_.facts.find_queue(group.spec.queue, group.meta.ns.str());
    const auto* queue = std::get_if<queue::QueueIndex>(&found);
    return queue != nullptr && snapshot_.facts.tree()[*queue].name == one.group->queue.name;
  }
  bool are_preemptible(const queue::Preemptor& preemptor, const queue::Usage& usage,
                       const std::vector<VictimWork>& victims) const {
    std::deque<queue::Workload> workloads;
    std::vector<queue::PreemptionCandidate> candidates;
    for (const VictimWork& victim : victims) {
      queue::PreemptionCandidate& candidate = candidates.emplace_back();
      const auto add = [&](const GangWork& gang) {
        candidate.workloads.push_back(
            &workloads.emplace_back(victim.group->seen->make_workload(gang.position)));
      };
      add(*victim.gang);
      for (const GangWork& gang : victim.group->gangs) {
        const bool ends = victim.gang->kind == gang::GangKind::kBase && gang.is_stored_committed;
        if (ends && &gang != victim.gang) add(gang);
      }
    }
    queue::sort_by_cost(candidates);
    return queue::find_preemptible(snapshot_.facts.tree(), usage, mode_, preemptor, candidates,
                                   now_)
               .size() == candidates.size();
  }

  const Snapshot& snapshot_;
  CycleWork& work_;
  const Ending& ending_;
  const Ledger& ledger_;
  const queue::PreemptionMode mode_;
  const SysTime now_;
};

class Continuation {
 public:
  Continuation(const Snapshot& snapshot, CycleWork& work, Placer& placer,
               queue::PreemptionMode mode, SysTime now, std::optional<SysTime>& next_look)
      : snapshot_(snapshot),
        work_(work),
        placer_(placer),
        is_on_(mode != queue::PreemptionMode::kOff),
        next_look_(next_look),
        now_(now),
        ending_(snapshot, work, now),
        rules_(snapshot, work, ending_, placer.ledger(), mode, now),
        future_(ending_.lend_to(placer.ledger())) {
    for (GroupWork* group : work.groups) by_uid_.emplace(group->seen->group->meta.uid, group);
  }

  void go_on(const PreemptingGang& one) {
    const auto& [group, gang] = one;
    Ledger& ledger = placer_.ledger_for(*group);
    future_.count_for(group->priority());
    if (is_changed(*group, *gang, ledger)) return stop(*gang, ledger);
    if (try_take(*gang, ledger)) {
      take_unchecked(*gang, future_);
      gang->victims.clear();
      return;
    }
    const bool will_fit = try_take(*gang, future_);
    std::vector<VictimWork> unmarked;
    bool is_any_ending = false;
    see_victims(*group, *gang, unmarked, is_any_ending);
    if (!unmarked.empty() && !is_on_) return stop(*gang, ledger);
    if (!will_fit && !is_any_ending) return stop(*gang, ledger);
    const bool may_mark = will_fit && !unmarked.empty() && !has_stopped_any_;
    if (may_mark && is_each_seen(unmarked) && is_recorded(*group, *gang)) {
      if (!rules_.allow(one, unmarked)) return stop(*gang, ledger);
      for (const VictimWork& victim : unmarked) {
        victim.gang->preempted = describe(*group, *victim.group, victim.victim->is_reclaimed);
      }
    }
    take_unchecked(*gang, ledger);
    placer_.waits_otherwise = true;  // for the capacity of its victims
    look_by(next_look_, now_ + kPreemptingLook);
  }

 private:
  static bool is_changed(const GroupWork& group, const GangWork& gang, const Ledger& ledger) {
    return !gang.missing.empty() || gang.is_rejected || group.is_drained ||
           !std::all_of(gang.placed.begin(), gang.placed.end(), [&](const PlacedSlot& slot) {
             return ledger.is_allowed(*slot.set, slot.placement.node);
           });
  }
  void stop(GangWork& gang, Ledger& ledger) {
    gang.victims.clear();
    gang.has_stopped_preempting = true;
    has_stopped_any_ = true;  // its victims still count as ending for the gangs behind it
    ledger.note_dropped_plan();
    look_by(next_look_, now_);
  }
  void see_victims(const GroupWork& group, const GangWork& gang, std::vector<VictimWork>& unmarked,
                   bool& is_any_ending) const {
    const auto states = group.seen->victims.find(gang.name);
    if (states == group.seen->victims.end()) return;
    for (std::size_t i = 0; i < gang.victims.size() && i < states->second.size(); ++i) {
      if (states->second[i] == VictimState::kGone) continue;
      const VictimWork victim = find(gang.victims[i]);
      // If no slot of that start is wanted any more, it was requeued.
      const bool is_unmarked =
          states->second[i] == VictimState::kRuns && victim.gang != nullptr && !victim.is_marked();
      if (is_unmarked) {
        unmarked.push_back(victim);
      } else {
        is_any_ending = true;
      }
    }
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
  // All can be marked now.
  static bool is_each_seen(const std::vector<VictimWork>& victims) {
    return std::all_of(victims.begin(), victims.end(), [](const VictimWork& victim) {
      return victim.gang->is_stored_committed && !victim.group->is_left_alone();
    });
  }
  // Its Queue's status counts it: it will count after a crash, too.
  bool is_recorded(const GroupWork& group, const GangWork& gang) {
    const queue::QueueTree& tree = snapshot_.facts.tree();
    const auto queue = tree.find(group.queue.name);
    if (!queue || gang.before == nullptr) return true;  // not for us to decide: Rules
    const auto& times = tree[*queue].preemptions;
    return std::find(times.begin(), times.end(), gang.before->since) != times.end();
  }

  const Snapshot& snapshot_;
  CycleWork& work_;
  Placer& placer_;
  const bool is_on_;
  std::optional<SysTime>& next_look_;
  const SysTime now_;
  const Ending ending_;
  const Rules rules_;
  Ledger future_;  // with what ends, and the gangs that were looked at
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

std::optional<Ledger> keep_for_preempting(const Snapshot& snapshot, const CycleWork& work,
                                          const Ledger& ledger, SysTime now) {
  const auto gangs = find_preempting(work);
  if (gangs.empty()) return std::nullopt;
  Ledger future = Ending(snapshot, work, now).lend_to(ledger);
  for (const auto& [group, gang] : gangs) {
    future.count_for(group->priority());
    if (gang->missing.empty()) try_take(*gang, future);
  }
  return future;
}

void continue_preemptions(const Snapshot& snapshot, CycleWork& work, Placer& placer,
                          queue::PreemptionMode mode, SysTime now,
                          std::optional<SysTime>& next_look) {
  const auto gangs = find_preempting(work);
  if (gangs.empty()) return;
  Continuation continuation(snapshot, work, placer, mode, now, next_look);
  for (const PreemptingGang& one : gangs) continuation.go_on(one);
}

PreemptionTimes collect_preemption_times(const queue::QueueTree& tree, const CycleWork& work,
                                         SysTime now) {
  PreemptionTimes times;
  const auto note = [&](const std::string& queue, SysTime time) {
    auto& known = times[queue];
    const auto at = std::lower_bound(known.begin(), known.end(), time);
    if (at == known.end() || *at != time) known.insert(at, time);
  };
  for (queue::QueueIndex i = queue::kRoot + 1; i < tree.size(); ++i) {
    for (const SysTime time : tree[i].preemptions) note(tree[i].name, time);
  }
  for (const GroupWork* group : work.groups) {
    for (const GangWork& gang : group->gangs) {
      const bool is_stored = gang.before != nullptr && gang::is_preempting(*gang.before);
      if (is_stored) note(group->queue.name, gang.before->since);
    }
  }
  for (auto& [queue, known] : times) queue::forget_old_preemptions(known, now);
  std::erase_if(times, [](const auto& entry) { return entry.second.empty(); });
  return times;
}

}  // namespace nervex::extender
