#include "extender/scheduling_cycle.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "extender/gang_work.h"
#include "extender/ledger.h"
#include "extender/refusals.h"

namespace nervex::extender {
namespace {

struct GroupWork {
  const GroupSeen* seen = nullptr;
  std::vector<GangWork> gangs;
  const Rejection* rejection = nullptr;

  bool is_rejected(Rejection::Extent extent) const {
    return rejection != nullptr && rejection->extent >= extent;
  }
  // Its status is not written.
  bool is_left_alone() const {
    return seen->unconfirmed || is_rejected(Rejection::Extent::kAnyStatus);
  }
};

// The status has all that the spec asks for, and no more.
bool is_whole(const gang::PodGroup& group) {
  std::size_t slots = 0;
  std::size_t placements = 0;
  std::unordered_map<std::string_view, std::size_t>
      slots_of;  // by gang; this runs for each group in each cycle
  for (const gang::MemberSet& set : group.spec.members) {
    slots_of[set.gang] += set.slots.size();
    slots += set.slots.size();
  }
  for (const gang::GangStatus& gang : group.status.gangs) {
    const auto asked = slots_of.find(gang.name);
    if (gang.placements.size() != (asked == slots_of.end() ? 0 : asked->second)) return false;
    placements += gang.placements.size();
  }
  return slots == placements;
}

// All is placed and committed: only a new spec brings new work.
bool is_settled(const gang::PodGroup& group) {
  return group.status.observed_generation == group.meta.generation && is_whole(group) &&
         std::all_of(group.status.gangs.begin(), group.status.gangs.end(),
                     [](const gang::GangStatus& gang) { return gang.planned && gang.committed; });
}

auto queue_key(const gang::PodGroup& group) {
  return std::tuple(-std::int64_t{group.spec.priority}, group.spec.queued_since,
                    std::string_view(group.meta.ns), std::string_view(group.meta.name));
}

const Rejection* rejection_of(const gang::PodGroup& group, const Rejections& rejections) {
  const auto found = rejections.find(group.meta.uid);
  const bool is_known = found != rejections.end();
  return is_known && found->second.generation == group.meta.generation ? &found->second : nullptr;
}

// What kube-scheduler has refused before.
void heed_refusals(GroupWork& work, SysTime now) {
  const auto limits = limits_of(work.seen->group->status.avoid, now);
  for (GangWork& gang : work.gangs) {
    gang.limits = limits;
    gang.is_paused =
        !gang.committed && gang.before != nullptr && gang.before->refusals.plan_after > now;
  }
}

std::vector<GroupWork> queue_of(const Snapshot& snapshot, const Rejections& rejections,
                                SysTime now) {
  std::vector<GroupWork> queue;
  for (const GroupSeen& seen : snapshot.groups) {
    if (seen.group->meta.deleting || (!seen.unconfirmed && is_settled(*seen.group))) continue;
    queue.push_back({&seen, gangs_of(seen), rejection_of(*seen.group, rejections)});
    heed_refusals(queue.back(), now);
  }
  std::sort(queue.begin(), queue.end(), [](const GroupWork& a, const GroupWork& b) {
    return queue_key(*a.seen->group) < queue_key(*b.seen->group);
  });
  return queue;
}

// Uncommitted plans take their capacity in the order of the queue, so that of two that overlap the
// later one yields. An unconfirmed write may have been stored: its capacity stays reserved.
void take_planned(std::vector<GroupWork>& queue, Ledger& ledger) {
  for (GroupWork& work : queue) {
    for (GangWork& gang : work.gangs) {
      if (work.seen->unconfirmed) take_unchecked(gang, ledger);
    }
  }
  for (GroupWork& work : queue) {
    if (work.seen->unconfirmed) continue;
    for (GangWork& gang : work.gangs) recheck(gang, ledger);
  }
}

// A plan that the API server does not store takes no capacity from those that it does.
void drop_rejected(std::vector<GroupWork>& queue) {
  for (GroupWork& work : queue) {
    for (GangWork& gang : work.gangs) {
      const auto extent =
          gang.committed ? Rejection::Extent::kNewPlacements : Rejection::Extent::kNewGangs;
      if (!gang.is_whole() && work.is_rejected(extent)) reject(gang);
    }
  }
}

// Gives every gang that fits now its placements. The gangs that wait are tried once more after the
// last one got its placements, so that their explanations count what is left in the end.
void place_all(std::vector<GroupWork>& queue, Ledger& ledger) {
  for (bool again = true; again;) {
    again = false;
    for (GroupWork& work : queue) {
      if (work.seen->unconfirmed) continue;
      for (GangWork& gang : work.gangs) {
        if (gang.is_whole() || gang.is_rejected || gang.is_paused) continue;
        gang.no_fit = complete(gang, ledger);
        again = again || !gang.no_fit;
      }
    }
  }
}

// The numbers of a status' placements, whichever gang they are in.
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
    for (const PlacedSlot& slot : work.placed) placements.push_back(slot.placement);
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

struct Decided {
  gang::GangStatus status;
  GangReport report;
};

GangReport report_of(const GangWork& work, const Rejection* rejection,
                     const LastReported* last_reported, SysTime now) {
  if (work.is_rejected) return rejected_report(work.before, work.wanted(), rejection->message, now);
  if (work.is_paused) return paused_report(*work.before, now);
  return work.no_fit ? waiting_report(work.before, *work.no_fit, last_reported, now)
                     : planned_report(work.before, work.wanted(), now);
}

Decided decide(const GangWork& work, const Rejection* rejection, const LastReported* last_reported,
               Numbers& numbers, SysTime now) {
  Decided out;
  out.report = report_of(work, rejection, last_reported, now);
  out.status.name = work.name;
  out.status.planned = !work.no_fit && !work.is_rejected && !work.is_paused;
  out.status.committed = work.is_stored_committed;
  out.status.reason = out.report.reason;
  out.status.message = out.report.message;
  out.status.since = out.report.since;
  out.status.placements = numbers.number_placements(work);
  if (work.before != nullptr && !work.is_stored_committed) {
    out.status.refusals = work.before->refusals;
  }
  return out;
}

void look_in(std::chrono::milliseconds time, CycleResult& out) {
  if (!out.look_again || time < *out.look_again) out.look_again = time;
}

// A gang that waits may have nodes again by the mere passing of time.
void look_when_not_avoided(const GroupWork& work, SysTime now, CycleResult& out) {
  const auto waits = [](const GangWork& gang) { return gang.no_fit.has_value(); };
  if (!std::any_of(work.gangs.begin(), work.gangs.end(), waits)) return;
  if (const auto until = avoided_until(work.seen->group->status.avoid, now)) {
    look_in(*until - now, out);
  }
}

void decide_group(const GroupWork& work, const Memory& memory, SysTime now, CycleResult& out) {
  const gang::PodGroup& group = *work.seen->group;
  gang::PodGroupStatus status;
  status.observed_generation = group.meta.generation;
  Numbers numbers(group.status);
  for (const GangWork& gang : work.gangs) {
    const auto key = std::pair(group.meta.uid, gang.name);
    const auto last_reported = memory.find(key);
    Decided decided =
        decide(gang, work.rejection,
               last_reported == memory.end() ? nullptr : &last_reported->second, numbers, now);
    status.gangs.push_back(std::move(decided.status));
    if (decided.report.last_reported)
      out.memory.emplace(key, *std::move(decided.report.last_reported));
    if (decided.report.refresh_after) look_in(*decided.report.refresh_after, out);
  }
  status.next_placement = numbers.next();
  status.avoid = group.status.avoid;
  look_when_not_avoided(work, now, out);
  if (status == group.status) return;
  status.avoid = still_of_use(std::move(status.avoid), now);
  out.writes.push_back({work.seen->group, std::move(status)});
}

}  // namespace

CycleResult run_cycle(const Snapshot& snapshot, const Memory& memory, SysTime now,
                      const Rejections& rejections) {
  CycleResult out;
  Ledger ledger(snapshot.nodes);
  std::vector<GroupWork> queue = queue_of(snapshot, rejections, now);
  take_planned(queue, ledger);
  drop_rejected(queue);
  place_all(queue, ledger);
  for (const GroupWork& work : queue) {
    if (!work.is_left_alone()) decide_group(work, memory, now, out);
  }
  return out;
}

// -- what does a gang's status report?

namespace {

GangReport with_reason(const gang::GangStatus* before, std::string_view reason, SysTime now) {
  const bool same = before != nullptr && before->reason == reason;
  return GangReport{std::string(reason), "", same ? before->since : now, {}, {}};
}

}  // namespace

GangReport planned_report(const gang::GangStatus* before, std::size_t pods, SysTime now) {
  GangReport report = with_reason(before, gang::kReasonPlanned, now);
  report.message = pods == 1 ? "1 pod is placed" : fmt::format("{} pods are placed", pods);
  if (before != nullptr && before->refusals.count > 0) {
    report.message += "; before, " + before->refusals.message;
  }
  return report;
}

GangReport paused_report(const gang::GangStatus& before, SysTime now) {
  GangReport report = with_reason(&before, gang::kReasonRefusedByScheduler, now);
  report.message = before.message;
  report.refresh_after = before.refusals.plan_after - now;
  return report;
}

GangReport rejected_report(const gang::GangStatus* before, std::size_t pods,
                           std::string_view message, SysTime now) {
  GangReport report = with_reason(before, gang::kReasonPlanRefused, now);
  report.message =
      fmt::format("the API server does not store the plan of {} pod{}: {}; ask for fewer pods",
                  pods, pods == 1 ? "" : "s", message);
  return report;
}

GangReport waiting_report(const gang::GangStatus* before, const gang::NoFit& no_fit,
                          const LastReported* last_reported, SysTime now) {
  GangReport report = with_reason(before, gang::kReasonUnschedulable, now);
  report.message = gang::explain(no_fit);
  if (before != nullptr && before->refusals.count > 0) {
    report.message += "; " + before->refusals.message;
  }
  report.last_reported = LastReported{no_fit, now};
  const bool was_waiting = before != nullptr && before->reason == gang::kReasonUnschedulable;
  if (!was_waiting || last_reported == nullptr) return report;
  const bool only_numbers = gang::same_cause(last_reported->no_fit, no_fit);
  const SysTime due = last_reported->at + kMessageRefreshPeriod;
  if (before->message != report.message && (!only_numbers || now >= due)) return report;
  if (before->message != report.message) report.refresh_after = due - now;
  report.message = before->message;
  report.last_reported = *last_reported;
  return report;
}

}  // namespace nervex::extender
