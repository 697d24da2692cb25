#include "extender/verdict.h"

#include <fmt/format.h>

namespace nervex::extender {
namespace {

Verdict with_reason(const gang::GangStatus* before, std::string_view reason, SysTime now) {
  const bool same = before != nullptr && before->reason == reason;
  return Verdict{std::string(reason), "", same ? before->since : now, {}, {}};
}

}  // namespace

Verdict planned_verdict(const gang::GangStatus* before, std::size_t pods, SysTime now) {
  Verdict verdict = with_reason(before, gang::kReasonPlanned, now);
  verdict.message =
      pods == 1 ? "1 pod has its place" : fmt::format("{} pods have their places", pods);
  return verdict;
}

Verdict refused_verdict(const gang::GangStatus* before, std::size_t pods, std::string_view message,
                        SysTime now) {
  Verdict verdict = with_reason(before, gang::kReasonPlanRefused, now);
  verdict.message =
      fmt::format("the API server does not store the plan of {} pod{}: {}; ask for fewer pods",
                  pods, pods == 1 ? "" : "s", message);
  return verdict;
}

Verdict waiting_verdict(const gang::GangStatus* before, const gang::NoFit& no_fit,
                        const LastReported* told, SysTime now) {
  Verdict verdict = with_reason(before, gang::kReasonUnschedulable, now);
  verdict.message = gang::explain(no_fit);
  verdict.told = LastReported{no_fit, now};
  const bool was_waiting = before != nullptr && before->reason == gang::kReasonUnschedulable;
  if (!was_waiting || told == nullptr) return verdict;
  const bool only_numbers = gang::same_verdict(told->no_fit, no_fit);
  const SysTime due = told->at + kRetellAfter;
  if (before->message != verdict.message && (!only_numbers || now >= due)) return verdict;
  if (before->message != verdict.message) verdict.retell_after = due - now;
  verdict.message = before->message;
  verdict.told = *told;
  return verdict;
}

}  // namespace nervex::extender
