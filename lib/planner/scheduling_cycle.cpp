#include "planner/scheduling_cycle.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "planner/facts/next_look.h"
#include "planner/facts/settled.h"
#include "planner/gang/delegated.h"
#include "planner/preemption/failed_starts.h"
#include "planner/preemption/preempt.h"
#include "planner/preemption/preempting.h"
#include "planner/reservation/reserve.h"
#include "planner/reserved_nodes/reserved_nodes.h"
#include "planner/steps/class_limits.h"
#include "planner/steps/heal.h"
#include "planner/steps/over_limit.h"
#include "planner/steps/placer.h"
#include "planner/steps/start_waiting.h"
#include "planner/work/ending.h"
#include "planner/work/start_blocker.h"

namespace nervex::planner {
namespace {

// Committed gangs lose placements that cannot be bound, and reserved capacity on nodes that are
// overfull.
void drop_unbindable(CycleWork& work, Placer& placer) {
  for (GroupWork* group : work.groups) {
    for (GangWork& gang : group->gangs) {
      if (!gang.is_stored_committed() || group->seen->unconfirmed) continue;
      drop_unbindable(gang, placer.ledger());
    }
  }
  for (GroupWork* group : work.groups) {
    Ledger& ledger = placer.ledger_for(*group);
    if (!group->seen->unconfirmed) group->reserved.leave_overfull_nodes(ledger);
  }
}

// Uncommitted plans take their capacity in the order of the queue, so that of two that overlap the
// later one yields. It yields, too, to a gang that is preempting: others end for that one. An
// unconfirmed write may have been stored: its capacity stays reserved.
void take_plans(const CycleFacts& facts, CycleWork& work, Placer& placer) {
  for (GroupWork* group : work.groups) {
    for (GangWork& gang : group->gangs) {
      const bool may_have_nodes = gang.is_committed() || !gang.placed.empty();
      if (group->seen->unconfirmed && may_have_nodes) take_unchecked(gang, placer.ledger());
    }
  }
  std::optional<Ledger> kept = keep_for_preempting(facts, work, placer.ledger());
  const Overloaded take{
      [&](ForeignWork* foreign) { foreign->recheck(placer.ledger()); },
      [&](GroupWork* group) {
        if (group->seen->unconfirmed) return;
        Ledger& ledger = placer.ledger_for(*group);
        if (kept) kept->count_for(group->priority());
        for (GangWork& gang : group->gangs) {
          if (!gang.victims.empty()) continue;  // continue_preemptions()
          recheck(gang, ledger);
          const bool is_plan = gang.stage == GangStage::kAssumed;
          if (is_plan && kept && !try_take(gang, *kept)) yield(gang, ledger);
        }
      },
  };
  for (const Work& one : work.queue) std::visit(take, one);
}

// A queue that is drained starts nothing that has only a plan, and pods whose resource claim does
// not exist do not start. A job in a queue that is stopped loses its plan, too: pods with
// scheduling gates would start when their user removes these.
void drop_without_start(CycleWork& work, const queue::Facts& facts, Ledger& ledger) {
  const queue::QueueTree& tree = facts.tree();
  for (GroupWork* group : work.groups) {
    if (group->seen->unconfirmed) continue;
    const auto queue = tree.find(group->seen->group->status.queue.name);
    const queue::Inadmissible* problem = queue ? tree.problem(*queue) : nullptr;
    const bool is_stopped =
        problem != nullptr && std::holds_alternative<queue::QueueStopped>(*problem);
    for (GangWork& gang : group->gangs) {
      if (gang.stage != GangStage::kAssumed) continue;
      const bool may_not_start =
          group->is_drained || (is_stopped && gang.kind == gang::GangKind::kBase);
      if (may_not_start || find_missing_claim(*group, gang)) yield(gang, ledger);
    }
  }
  for (ForeignWork& foreign : work.foreign) {
    if (!foreign.plan().is_assumed()) continue;
    const auto queue = facts.find_default_queue(foreign.ns());
    if (queue && tree.is_drained(*queue)) foreign.yield(ledger);
  }
}

// A plan that the API server rejects takes no capacity from others.
void drop_rejected(CycleWork& work) {
  for (GroupWork* group : work.groups) {
    for (GangWork& gang : group->gangs) {
      const auto extent =
          gang.is_committed() ? Rejection::Extent::kNewPlacements : Rejection::Extent::kNewGangs;
      const bool wants_more = !gang.is_whole() || (gang.is_committed() && !gang.growing.empty());
      const bool is_known = gang.obstacle == Obstacle::kRejected;
      if (!is_known && wants_more && group->is_rejected(extent)) reject(gang);
    }
  }
}

// Notes it for plans whose first bind is to come.
void note_delegated(CycleWork& work, const placement::Cluster& nodes) {
  for (GroupWork* group : work.groups) {
    for (GangWork& gang : group->gangs) {
      if (!gang.is_stored_committed()) gang.delegated = find_delegated(gang, nodes);
    }
  }
}

// Requests that take over reserved capacity come first: no other gang may get it. One that needs
// more than that has its turn in its queue, whose rules count for the rest. Without queues it comes
// first, too, but not before gangs of an earlier rank for which nodes are reserved.
void place_on_reserved(CycleWork& work, Placer& placer, const queue::Facts& facts) {
  const bool has_queues = !facts.tree().is_root_alone();
  for (GroupWork* group : work.groups) {
    Ledger& ledger = placer.ledger_for(*group);
    if (!group->seen->unconfirmed) group->reserved.hand_over(group->gangs, ledger);
  }
  queue::Usage usage = count_class_use(work, facts, placer.ledger());
  ClassLimits limits(facts, placer.ledger(), usage);
  for (GroupWork* group : work.groups) {
    for (GangWork& gang : group->gangs) {
      const bool is_first = has_queues ? gang.is_within_reserved() : gang.claims_reserved();
      if (!is_first || !may_place(*group, gang)) continue;
      const queue::Workload workload = group->seen->make_workload(gang.position);
      placer.reserved().reach_before(queue::rank(workload));
      limits.place(*group, gang, [&] { placer.complete(*group, gang); });
    }
  }
}

// What it has reserved may be lacking in part, or is to be moved; for a slot that kube-scheduler
// refuses another node is searched.
bool may_want_capacity(const GroupWork& group) {
  const auto& open = group.seen->open;
  return reserves_capacity(*group.seen->group) ||
         std::any_of(open.begin(), open.end(),
                     [](const OpenSlot& slot) { return slot.why == OpenSlot::Why::kRefused; });
}

// The gangs that were refused wait for a gain of capacity. `may_fit_soon`: they may have been
// refused because of capacity that the nodes still show as spare.
void remember_waiting(const CycleWork& work, Placer& placer, bool may_fit_soon, CycleState& next) {
  next.waits_otherwise = placer.waits_otherwise ||
                         std::any_of(work.groups.begin(), work.groups.end(),
                                     [](const auto* group) { return may_want_capacity(*group); });
  next.waiting.replace(std::move(placer.refused));
  if (may_fit_soon) next.waiting.gain_all();
}

constexpr std::chrono::milliseconds kQueueReportPeriod{60'000};
// After a Queue was changed: its administrator looks at it.
constexpr std::chrono::milliseconds kChangedQueueReportPeriod{1'000};

// Since when each queue has its head.
void note_heads(std::vector<queue::Report>& reports, const CycleState& state, SysTime now,
                CycleState& next) {
  next.heads.clear();
  for (queue::Report& report : reports) {
    if (!report.head) continue;
    const auto known = state.heads.find(report.uid);
    const bool is_same = known != state.heads.end() && known->second.id == report.head->id;
    report.head->is_head_since = is_same ? known->second.is_head_since : now;
    next.heads.emplace(report.uid, *report.head);
  }
}

// Empty: there are no queues, or it is too early. Then another cycle follows, since what has
// changed by now would not be reported otherwise.
std::vector<queue::Report> report_queues(const CycleFacts& facts, const QueueState& queues,
                                         const CycleState& state, CycleState& next,
                                         NextLook& next_look) {
  if (facts.tree().is_root_alone()) return {};
  const PreemptionTimes& times = queues.preemptions;
  next.queues_reported = state.queues_reported;
  next.reported_tree = state.reported_tree;
  next.reported_preemptions = state.reported_preemptions;
  next.heads = state.heads;
  if (state.queues_reported) {
    // Victims end only after their preemption was reported.
    const bool is_changed =
        state.reported_tree != facts.queues().settled->tree || state.reported_preemptions != times;
    const SysTime due =
        *state.queues_reported + (is_changed ? kChangedQueueReportPeriod : kQueueReportPeriod);
    if (facts.now < due) {
      next_look.at(due);
      return {};
    }
  }
  next.queues_reported = facts.now;
  next.reported_tree = facts.queues().settled->tree;
  auto reports =
      queue::report_queues(facts.queues(), queues.usage, queues.capacity, queues.waiting);
  note_heads(reports, state, facts.now, next);
  for (queue::Report& report : reports) {
    const auto its = times.find(report.queue);
    if (its != times.end()) report.preemptions = its->second;
  }
  next.reported_preemptions = times;
  return reports;
}

}  // namespace

CycleResult run_cycle(const Snapshot& snapshot, CycleState&& state, SysTime now,
                      const CycleOptions& wanted) {
  CycleOptions options = wanted;
  if (!snapshot.facts.tree().uses_preemption()) options.preemption = queue::PreemptionMode::kOff;
  const CycleFacts facts{snapshot, options, now};
  CycleResult out;
  CycleState& next = out.state;
  NextLook next_look;
  CycleWork work(collect_group_work(facts, state, next.healing, next_look),
                 collect_foreign_work(facts, state.foreign));
  Placer placer(snapshot, state.waiting, now);

  // 1. What runs or is planned takes its capacity, as far as it can still have it.
  drop_unbindable(work, placer);
  take_plans(facts, work, placer);
  drop_without_start(work, facts.queues(), placer.ledger());
  drop_over_limit(work, facts.queues(), placer.ledger());
  drop_rejected(work);
  // 2. Committed gangs get nodes for slots that they have lost, before anything starts.
  queue::Usage usage = count_class_use(work, facts.queues(), placer.ledger());
  ClassLimits limits(facts.queues(), placer.ledger(), usage);
  const bool is_any_kept = heal(work, placer, facts.queues(), limits);
  drop_rejected(work);  // plans that gave way
  move_refused(work, placer, limits, facts, next_look);
  next.preemption = std::move(state.preemption);
  if (options.may_end_or_reserve()) note_failed_starts(facts, work, next.preemption);
  const bool is_any_preempting = continue_preemptions(facts, work, placer, next_look);
  next.reservation = std::move(state.reservation);
  ReservedNodes reserved(facts, work, placer.ledger(), next.reservation, next_look);
  if (reserved.keeps_less()) state.waiting.gain_all();
  placer.keep(reserved);
  // 3. Requests get the capacity that was reserved for them.
  place_on_reserved(work, placer, facts.queues());
  // 4. Waiting gangs start in the order of their queues.
  QueueState queues = start_waiting(facts, work, placer, next_look);
  // 5. Gangs that do not fit get nodes whose workloads are to end.
  if (is_any_preempting || options.may_end_or_reserve()) {
    queues.preemptions = collect_preemption_times(facts, work, next.preemption);
    out.neglected = find_neglected(facts, work);
  }
  keep_reservations(facts, work, placer, queues, next.reservation, next_look);
  start_preemptions(facts, work, placer, queues, next.preemption, next_look);
  reserved.note_promises(work);
  // 6. What was decided becomes a status, or why not.
  if (options.may_end_or_reserve()) note_start_blockers(work, now, next_look);
  note_delegated(work, placer.ledger().nodes());
  const StatusContext context{facts, state, state.waiting.size(), next, next_look};
  for (const GroupWork* group : work.groups) {
    if (group->is_left_alone()) continue;
    auto write = decide_status(*group, context);
    if (write) out.writes.push_back(*std::move(write));
  }
  bool holds_unseen = false;
  for (const ForeignWork& foreign : work.foreign) {
    holds_unseen = holds_unseen || foreign.holds_unseen();
    ForeignMemory::Gang& memory = next.foreign.gangs[foreign.key()];
    out.foreign.push_back(foreign.decide(memory));
    next_look.at(out.foreign.back().look_again);
  }
  out.queues = report_queues(facts, queues, state, next, next_look);
  // 7. The rest of what the next cycle has to know.
  out.planned = placer.planned;
  next.rejections = std::move(state.rejections);
  next.waiting = std::move(state.waiting);
  remember_waiting(work, placer, is_any_kept || holds_unseen, next);
  if (const auto at = next_look.time()) {
    out.look_again = std::max(*at - now, std::chrono::milliseconds(1));
  }
  return out;
}

}  // namespace nervex::planner
