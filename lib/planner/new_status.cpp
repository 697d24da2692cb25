#include "planner/new_status.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "gang/slot.h"
#include "planner/gang/delegated.h"
#include "planner/gang/direct_placement.h"
#include "planner/gang/enlarged.h"
#include "planner/recovery/refusals.h"

#include "gang/avoided_nodes.h"
namespace nervex::planner {
namespace {

// The numbers of a status' placements, in any gang.
class Numbers {
 public:
  explicit Numbers(const gang::PodGroupStatus& status) : next_(status.next_placement) {
    for (const gang::GangStatus& gang : status.gangs) {
      for (const auto& [role, slot, node, number] : gang.placements) {
        known_.emplace(std::tuple(std::string_view(role), slot, std::string_view(node)), number);
      }
    }
  }

  // A placement that is as it was keeps its number; every other one gets the next.
  std::vector<gang::Placement> number_placements(const GangWork& work) {
    std::vector<gang::Placement> placements;
    for (const PlacedSlot& slot : work.placed) {
      if (!gang::is_reserved_slot(slot.placement.slot)) placements.push_back(slot.placement);
    }
    std::sort(placements.begin(), placements.end(),
              [](const gang::Placement& a, const gang::Placement& b) {
                return std::tie(a.role, a.slot) < std::tie(b.role, b.slot);
              });
    for (gang::Placement& placement : placements) {
      if (placement.number != 0) continue;
      const auto known = known_.find({placement.role, placement.slot, placement.node});
      placement.number = known == known_.end() ? next_++ : known->second;
    }
    return placements;
  }
  std::int64_t next() const { return next_; }

 private:
  std::int64_t next_;
  std::map<std::tuple<std::string_view, gang::SlotId, std::string_view>, std::int64_t> known_;
};

std::size_t count_placed(const GangWork& work) {
  return static_cast<std::size_t>(std::count_if(
      work.placed.begin(), work.placed.end(),
      [](const PlacedSlot& slot) { return !gang::is_reserved_slot(slot.placement.slot); }));
}

GangReport make_report(const GroupWork& group, const GangWork& work,
                       const std::optional<HealingState>& healing, const StatusContext& context) {
  const SysTime now = context.facts.now;
  if (group.is_drained && work.is_stored_committed()) {
    return drained_report(work.before, group.queue.name, now);
  }
  if (work.is_preempted() && work.is_stored_committed()) {
    return preempted_report(work.before, work.preempted, now);
  }
  if (!work.victims.empty()) {
    return preempting_report(work.before, work.victims, work.may_need_fewer, now);
  }
  const bool is_shown = healing && healing->is_shown;
  if (is_shown && (healing->is_over || (!work.no_fit && work.obstacle != Obstacle::kRejected))) {
    return healing_report(work.before, *healing, work.no_fit ? &*work.no_fit : nullptr, now);
  }
  if (work.obstacle == Obstacle::kRejected) {
    return rejected_report(work.before, work.wanted(), group.rejection->message, now);
  }
  if (work.obstacle == Obstacle::kPaused) return paused_report(*work.before, now);
  if (!work.no_fit) {
    return planned_report(work.before, count_placed(work), now, describe_delegated(work.delegated));
  }
  const auto known = context.state.reports.find({group.seen->group->meta.uid, work.name});
  gang::NoFit no_fit = *work.no_fit;
  if (work.reservation) gang::note_reservation(no_fit, gang::ReservationOutcome::kOwn);
  return waiting_report(work.before, no_fit,
                        known == context.state.reports.end() ? nullptr : &known->second, now,
                        refresh_period(context.waiting, group.seen->group->meta.uid),
                        {is_shown ? &*healing : nullptr, work.note});
}

gang::GangStatus make_status(const GangWork& work, const GangReport& report,
                             const std::optional<HealingState>& healing, Numbers& numbers,
                             SysTime now) {
  gang::GangStatus status;
  if (healing && healing->is_shown) {
    status.healing_since = healing->since;
    status.healing_cause = healing->cause;
  }
  status.name = work.name;
  const bool is_whole = (!work.is_preempted() || work.missing.empty()) &&
                        (!work.is_stored_committed() || work.growing.empty());
  const bool is_unplanned =
      work.obstacle == Obstacle::kRejected || work.obstacle == Obstacle::kPaused;
  status.planned = !work.no_fit && !is_unplanned && work.victims.empty() && is_whole;
  status.victims = work.victims;
  if (!status.planned && !work.is_stored_committed()) {
    status.reservation = work.reservation;
    if (status.reservation && !work.victims.empty()) status.reservation->nodes.clear();
    status.reserve_after = work.reserve_after;
  } else {
    status.planned_run_seconds = work.planned_run_seconds;
  }
  status.committed = work.is_stored_committed();
  status.reason = report.reason;
  status.message = report.message;
  status.cause = report.cause;
  status.since = report.since;
  status.placements = numbers.number_placements(work);
  if (status.planned && may_commit_when_planned(work)) {
    commit_directly(status);
  } else if (work.is_stored_committed() && work.before != nullptr) {
    status.direct_through = work.before->direct_through;
  }
  if (work.before != nullptr && !work.is_stored_committed()) {
    status.refusals = work.before->refusals;
  }
  if (status.committed) {
    const bool was_committed = work.before != nullptr && work.before->committed;
    status.started_at = was_committed ? work.before->started_at : now;
  }
  return status;
}

// The base gang's reserved capacity: planned with it, or kept since its commit.
std::vector<gang::ReservedCapacity> collect_reserved(const GroupWork& group, const GangWork& gang) {
  if (gang.is_committed()) return group.reserved.places();
  PodCounts counts;
  for (const PlacedSlot& slot : gang.placed) {
    if (gang::is_reserved_slot(slot.placement.slot)) {
      ++counts[{slot.set->name, slot.placement.node}];
    }
  }
  return reserved_capacity(counts);
}

gang::GangStatus decide_gang(const GroupWork& group, const GangWork& gang, Numbers& numbers,
                             const StatusContext& context) {
  const auto& [facts, state, waiting, next, next_look] = context;
  const auto key = std::pair(group.seen->group->meta.uid, gang.name);
  const auto healed = judge_healing(gang, facts.now, state.healing, facts.options.healing);
  if (healed) {
    next.healing.incomplete.emplace(key, HealingMemory::Incomplete{healed->since, healed->cause});
    next_look.at(healed->look_again);
  }
  GangReport report = make_report(group, gang, healed, context);
  gang::GangStatus status = make_status(gang, report, healed, numbers, facts.now);
  if (gang.kind == gang::GangKind::kBase) {
    status.reserved = collect_reserved(group, gang);
    const std::string text = status.planned && !report.is_unchanged
                                 ? describe_reserved(*group.seen->group, status.reserved)
                                 : "";
    if (!text.empty()) status.message += "; " + text;
  }
  if (report.last_reported) next.reports.emplace(key, *std::move(report.last_reported));
  if (report.refresh_after) next_look.at(facts.now + *report.refresh_after);
  return status;
}

// A waiting gang may get nodes by the passing of time alone.
std::optional<SysTime> find_next_node(const GroupWork& work, SysTime now) {
  const bool waits = std::any_of(work.gangs.begin(), work.gangs.end(),
                                 [](const GangWork& gang) { return gang.no_fit.has_value(); });
  return waits ? avoided_until(work.avoid, now) : std::nullopt;
}

constexpr std::chrono::milliseconds kPositionPeriod{60'000};

// A position changes with every start of the queue: for it alone a status is written only once in a
// while.
void limit_position_writes(gang::PodGroupStatus& status, const gang::PodGroup& group,
                           const StatusContext& context) {
  const auto& [facts, state, waiting, next, next_look] = context;
  const auto last = state.positions.find(group.meta.uid);
  const SysTime due = last == state.positions.end() ? SysTime{} : last->second + kPositionPeriod;
  const bool is_early = facts.now < due;
  if (is_early) next.positions.insert(*last);
  if (status.queue.position == group.status.queue.position) return;
  const int position = std::exchange(status.queue.position, group.status.queue.position);
  if (is_early && status == group.status) return next_look.at(due);
  status.queue.position = position;
  next.positions.insert_or_assign(group.meta.uid, facts.now);
}

}  // namespace

std::optional<StatusWrite> decide_status(const GroupWork& work, const StatusContext& context) {
  const auto& [facts, state, waiting, next, next_look] = context;
  const gang::PodGroup& group = *work.seen->group;
  gang::PodGroupStatus status;
  status.observed_generation = group.meta.generation;
  Numbers numbers(group.status);
  for (const GangWork& gang : work.gangs) {
    status.gangs.push_back(decide_gang(work, gang, numbers, context));
  }
  status.next_placement = numbers.next();
  status.queue = work.queue;
  status.avoid = work.avoid;
  EnlargedSets enlarged = age_enlarged(work.seen->enlarged, work.gangs, facts.now);
  status.enlarged = std::move(enlarged.sets);
  next_look.at(enlarged.look_again);
  next_look.at(find_next_node(work, facts.now));
  limit_position_writes(status, group, context);
  if (status == group.status && !work.seen->is_restored) return std::nullopt;
  status.avoid = gang::still_of_use(std::move(status.avoid), facts.now);
  return StatusWrite{work.seen->group, std::move(status)};
}

}  // namespace nervex::planner
