#include "controller/decide/status/waiting.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/decide/attempt/creation_failures.h"
#include "controller/decide/attempt/overdue_pods.h"
#include "controller/decide/attempt/pod_problems.h"
#include "controller/decide/attempt/previous_attempt.h"
#include "controller/decide/attempt/queueing.h"
#include "controller/decide/reasons.h"
#include "controller/decide/round/condition.h"
#include "job/aggregator_config.h"

namespace nervex::controller {

namespace {

// Every slot has a node, but lost pods are not replaced yet, or the extender has given it up.
bool is_interrupted(const gang::GangStatus& gang) {
  return gang.reason == gang::kReasonHealing || gang::is_released(gang);
}

// The planner's message about a gang that is not whole, and which pod that does not end keeps it
// so.
std::string explain_gap(const Round& round, const gang::GangStatus& gang) {
  const bool is_over = gang::is_released(gang);
  const std::string overdue = is_over ? "" : describe_overdue_pod(round, gang.name);
  return overdue.empty() ? gang.message : fmt::format("{}; {}", gang.message, overdue);
}

// "attempt 1 ended with CoordinatorFailed, exit code 3; "; "" if it is not known. What the cluster
// did is told, too: it names the node.
std::string last_end(const job::Status& status) {
  if (!status.last_attempt) return "";
  const job::LastAttempt& last = *status.last_attempt;
  const std::string code = last.exit_code ? fmt::format(", exit code {}", *last.exit_code) : "";
  const bool is_told = is_true(status, kRequeued) && !last.message.empty();
  return fmt::format("attempt {} ended with {}{}{}; ", last.attempt, last.reason, code,
                     is_told ? ": " + last.message : "");
}

bool gang_waits_for_config(const Round& round) {
  const bool config_exists = round.seen.aggregator_config != nullptr;
  if (round.attempt.group == nullptr) {
    return job::waits_for_aggregator(round.seen.job.spec, config_exists);
  }
  return round.attempt.has_aggregator && !config_exists && !has_aggregator_pod(round.attempt, 0);
}

std::string missing_config(const Observed& seen) {
  return fmt::format(
      "AggregatorConfig {}, the template of the job's aggregator, does not exist: create it, and "
      "the job continues",
      seen.aggregator_config_name);
}

// `reason` is empty where version 0.2.0 wrote the entry.
std::string_view explain_requeue(const Observed& seen, std::string_view reason) {
  if (reason == kFailedCreate || (reason.empty() && has_failed_creation(seen.job.status)))
    return "the API server refused one of its pods";
  if (reason == gang::kReasonPreempted) return "another gang got its capacity";
  if (reason == gang::kReasonQueueDrained) return "its queue is drained";
  return "lost pods could not be replaced in time";
}

// The first gang that was requeued and is not tried again yet.
std::optional<Finding> backing_off(const Observed& seen) {
  for (const auto& entry : seen.job.status.requeued_gangs) {
    if (entry.requeue_at <= seen.now) continue;
    return Finding{false, kBackOff,
                   fmt::format("{}: {}; it is retried at {}", describe(entry),
                               explain_requeue(seen, entry.reason), to_rfc3339(entry.requeue_at))};
  }
  return std::nullopt;
}

// Why that gang waits; nullopt: it does not. `known`: what the planner says of it, may be null.
std::optional<Finding> waiting(const std::string& gang, const gang::GangStatus* known,
                               const std::vector<const AttemptPod*>& unschedulable,
                               const Round& round) {
  if (known == nullptr || (!known->planned && known->reason.empty())) {
    return Finding{false, kQueued,
                   gang +
                       " is not planned yet: nervex-extender (deployment nervex-scheduler) has not "
                       "processed it"};
  }
  if (!known->planned || is_interrupted(*known)) {
    return Finding{false, known->reason, fmt::format("{}: {}", gang, explain_gap(round, *known))};
  }
  std::string objection = describe_unschedulable(unschedulable, *round.attempt.group, gang);
  if (objection.empty()) return std::nullopt;
  return Finding{false, gang::kReasonUnschedulable, std::move(objection)};
}

// Learners with several GPUs were asked for while there was a config, and it is gone.
bool learners_wait_for_config(const Round& round) {
  if (round.seen.aggregator_config != nullptr || round.attempt.group == nullptr) return false;
  const auto& slots = round.slots.all();
  return std::any_of(slots.begin(), slots.end(), [&](const WantedSlot& slot) {
    return slot.role == job::Role::kAggregator && slot.entry() != nullptr && !slot.is_over &&
           !has_aggregator_pod(round.attempt, slot.slot.ordinal);
  });
}

// Without numbers that change while the job waits.
std::string too_many_pods(const Observed& seen) {
  return fmt::format(
      "the jobs of namespace {} may ask for {} pods together, and those of all namespaces for {} "
      "(nervex-controller --max-pods-per-namespace): this job gets its pods when others have ended "
      "or ask for fewer",
      seen.job.meta.ns, seen.group_pods.max_of_namespace, seen.group_pods.max_of_all());
}

}  // namespace

Finding check_scheduled(const Round& round) {
  if (round.seen.job.spec.suspend) {
    return {false, kSuspended, "spec.suspend is true: set it to false to start the job"};
  }
  if (round.attempt.group == nullptr && is_backing_off(round.seen)) {
    const job::Status& status = round.seen.job.status;
    return {false, kBackOff,
            fmt::format("{}attempt {} starts at {}", last_end(status), status.attempt,
                        to_rfc3339(*status.next_attempt_time))};
  }
  if (!round.seen.predecessor.object.empty()) {
    return {false, kPreviousJobTerminating, previous_job_terminating(round.seen)};
  }
  if (round.attempt.group == nullptr) {
    std::string terminating = previous_attempt_terminating(round);
    if (!terminating.empty()) return {false, kPreviousAttemptTerminating, std::move(terminating)};
  }
  if (waits_for_priority_class(round)) {
    return {false, kPriorityClassMissing,
            fmt::format("PriorityClass \"{}\", named by {}, does not exist: create it, and the job "
                        "starts, or create the job again with another priorityClassName",
                        round.seen.priority.missing, round.seen.priority.named_by)};
  }
  if (round.attempt.group == nullptr && gang_waits_for_config(round)) {
    return {false, kAggregatorMissing, missing_config(round.seen)};
  }
  if (round.attempt.group == nullptr && round.exceeds_pod_limit) {
    return {false, kTooManyPods, too_many_pods(round.seen)};
  }
  const auto* base = round.attempt.group == nullptr
                         ? nullptr
                         : gang::find_gang(round.attempt.group->status, gang::kBaseGang);
  if (base == nullptr || base->reason.empty()) {
    return {false, kQueued,
            "the gang is not planned yet: nervex-extender (deployment nervex-scheduler) has not "
            "processed it"};
  }
  if (!base->planned || is_interrupted(*base)) {
    return {false, base->reason, explain_gap(round, *base)};
  }
  std::string objection =
      describe_unschedulable(unschedulable_pods(round), *round.attempt.group, gang::kBaseGang);
  if (!objection.empty()) return {false, gang::kReasonUnschedulable, std::move(objection)};
  return {true, base->reason, base->message};
}

// Of what was requested on top, the first gang that waits. Nullopt: nothing was ever requested. A
// gang that waited and was removed again leaves no message behind: nothing waits any more.
std::optional<Finding> check_requests_scheduled(const Round& round) {
  if (round.attempt.group == nullptr) return std::nullopt;
  if (auto waits = backing_off(round.seen)) return waits;
  std::optional<Finding> verdict;
  if (is_false(round.seen.job.status, kRequestsScheduled)) {
    verdict = Finding{true, gang::kReasonPlanned, "no request is waiting"};
  }
  const auto unschedulable = unschedulable_pods(round);
  std::map<std::string_view, const gang::GangStatus*> known;
  for (const auto& gang : round.attempt.group->status.gangs) known.try_emplace(gang.name, &gang);
  for (const auto& gang : round.attempt.group->spec.gangs) {
    if (gang.kind == gang::GangKind::kBase) continue;
    verdict = Finding{true, gang::kReasonPlanned, "all requests are placed"};
    const auto at = known.find(gang.name);
    const gang::GangStatus* status = at == known.end() ? nullptr : at->second;
    if (auto waits = waiting(gang.name, status, unschedulable, round)) return waits;
  }
  if (round.exceeds_pod_limit) return Finding{false, kTooManyPods, too_many_pods(round.seen)};
  return verdict;
}

std::optional<Finding> check_aggregator_missing(const Round& round) {
  if (gang_waits_for_config(round)) {
    return Finding{true, kWaitsForConfig, missing_config(round.seen)};
  }
  if (learners_wait_for_config(round)) {
    return Finding{true, kWaitsForConfig,
                   fmt::format("AggregatorConfig {}, the template of the aggregators of multi-GPU "
                               "learners, does not exist: create it, and the learners start",
                               round.seen.aggregator_config_name)};
  }
  if (!round.attempt.has_aggregator && round.seen.job.spec.aggregator.empty()) {
    return Finding{true, kNoConfig,
                   "the job runs without an aggregator: there was no AggregatorConfig"};
  }
  if (find_condition(round.seen.job.status, kAggregatorMissing) == nullptr) return std::nullopt;
  return Finding{false, kAggregatorFound, "the AggregatorConfig exists"};
}

bool waits_for_config(const Round& round) {
  return gang_waits_for_config(round) || learners_wait_for_config(round);
}

}  // namespace nervex::controller
