#include "planner/report/gang_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "placement/explain.h"
#include "planner/facts/next_look.h"
#include "planner/recovery/healing.h"

namespace nervex::planner {
namespace {

GangReport with_reason(const gang::GangStatus* before, std::string_view reason, SysTime now) {
  const bool same = before != nullptr && before->reason == reason;
  GangReport report;
  report.reason = reason;
  report.since = same ? before->since : now;
  return report;
}

bool has_same_healing(const LastReported& a, const LastReported& b) {
  return a.healing_cause == b.healing_cause && a.healing_deadline == b.healing_deadline;
}

bool has_same_values(const LastReported& a, const LastReported& b) {
  return a.no_fit == b.no_fit && has_same_healing(a, b) && a.note == b.note &&
         a.refusals == b.refusals;
}

// Others use the capacity, or the limit of the queue. Where many gangs wait, each start and each
// end turns the one into the other for all of them.
bool is_shortage(const gang::NoFit& no_fit) {
  const auto* rule = std::get_if<gang::NotAdmitted>(&no_fit);
  return rule == nullptr ? std::holds_alternative<gang::InsufficientCapacity>(no_fit)
                         : !rule->resource.empty() && !rule->is_too_large;
}

std::string describe(const LastReported& report) {
  if (!report.message.empty()) return report.message;
  std::string text = placement::explain(report.no_fit);
  if (report.healing_cause) {
    HealingState healing;
    healing.cause = *report.healing_cause;
    healing.deadline = report.healing_deadline;
    text = healing_text(healing, false) + "; no place yet: " + text;
  }
  for (const std::string* more : {&report.note, &report.refusals}) {
    if (!more->empty()) text += "; " + *more;
  }
  return text;
}

}  // namespace

GangReport planned_report(const gang::GangStatus* before, std::size_t pods, SysTime now,
                          const std::string& note) {
  GangReport report = with_reason(before, gang::kReasonPlanned, now);
  report.message = pods == 1 ? "1 pod is placed" : fmt::format("{} pods are placed", pods);
  if (before != nullptr && before->refusals.count > 0) {
    report.message += "; before, " + before->refusals.message;
  }
  if (!note.empty()) report.message += "; " + note;
  return report;
}

GangReport paused_report(const gang::GangStatus& before, SysTime now) {
  GangReport report = with_reason(&before, before.reason, now);
  report.message = before.message;
  report.is_unchanged = true;
  report.cause = before.cause;
  report.refresh_after = before.refusals.plan_after - now;
  return report;
}

GangReport preempting_report(const gang::GangStatus* before,
                             const std::vector<gang::Victim>& victims, bool may_need_fewer,
                             SysTime now) {
  GangReport report = with_reason(before, gang::kReasonPreempting, now);
  if (before != nullptr && before->reason == gang::kReasonPreempting) {
    report.message = before->message;
    return report;
  }
  const auto jobs = static_cast<std::size_t>(
      std::count_if(victims.begin(), victims.end(),
                    [](const gang::Victim& victim) { return victim.gang == gang::kBaseGang; }));
  const std::size_t requests = victims.size() - jobs;
  const auto count = [](std::size_t number, std::string_view what) {
    return number == 0 ? "" : fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
  };
  report.message =
      fmt::format("{}{}{} of others {} preempted; it starts when their pods have ended",
                  count(jobs, "job"), jobs > 0 && requests > 0 ? " and " : "",
                  count(requests, "request"), victims.size() == 1 ? "is" : "are");
  if (may_need_fewer) report.message += "; fewer may do: the search stopped at its limit";
  return report;
}

GangReport preempted_report(const gang::GangStatus* before, std::string_view message, SysTime now) {
  GangReport report = with_reason(before, gang::kReasonPreempted, now);
  report.message = message;
  return report;
}

GangReport drained_report(const gang::GangStatus* before, std::string_view queue, SysTime now) {
  GangReport report = with_reason(before, gang::kReasonQueueDrained, now);
  report.message = fmt::format(
      "queue {} is drained (stop: HoldAndDrain): the gang is requeued and keeps its place", queue);
  return report;
}

GangReport healing_report(const gang::GangStatus* before, const HealingState& state,
                          const gang::NoFit* no_fit, SysTime now) {
  const auto reason = state.is_over ? gang::kReasonHealingTimeout : gang::kReasonHealing;
  GangReport report = with_reason(before, reason, now);
  report.message = healing_text(state, no_fit == nullptr);
  // Only the numbers of the explanation changed, and it is too early to write them again.
  const bool is_same = before != nullptr && before->reason == reason;
  if (is_same && state.is_over) {
    report.message = before->message;
    report.is_unchanged = true;
  }
  if (is_same) report.cause = before->cause;
  if (is_same || no_fit == nullptr) return report;
  report.message += "; " + placement::explain(*no_fit);
  report.cause = *no_fit;
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
                          const LastReported* last_reported, SysTime now,
                          std::chrono::milliseconds refresh_period, const WaitingExtra& extra) {
  const auto reason = gang::waiting_reason(no_fit);
  GangReport report = with_reason(before, reason, now);
  LastReported current{no_fit, now};
  if (extra.healing != nullptr) {
    current.healing_cause = extra.healing->cause;
    current.healing_deadline = extra.healing->deadline;
  }
  current.note = extra.note;
  if (before != nullptr && before->refusals.count > 0) current.refusals = before->refusals.message;
  // A thousand gangs may wait for the same as in the last cycle: their sentences are kept.
  const bool has_same = last_reported != nullptr && has_same_values(*last_reported, current);
  current.message = describe(has_same ? *last_reported : current);
  report.message = current.message;
  const bool was_waiting = last_reported != nullptr && before != nullptr &&
                           before->reason == gang::waiting_reason(last_reported->no_fit);
  if (was_waiting) {
    // Not all numbers of a cause are part of its sentence.
    std::string known = has_same ? report.message : describe(*last_reported);
    const bool has_news = known != report.message;
    const bool is_small = gang::same_cause(last_reported->no_fit, no_fit) ||
                          (refresh_period > kShortestRefresh &&
                           is_shortage(last_reported->no_fit) && is_shortage(no_fit));
    const bool are_only_numbers = is_small && has_same_healing(*last_reported, current) &&
                                  last_reported->note == current.note;
    const SysTime due = last_reported->at + refresh_period;
    if (!has_news || (are_only_numbers && now < due)) {
      if (has_news) report.refresh_after = due - now;
      report.message = std::move(known);
      report.reason = before->reason;
      report.since = before->since;
      current = *last_reported;
    }
  }
  report.cause = current.no_fit;
  report.last_reported = std::move(current);
  return report;
}

}  // namespace nervex::planner
