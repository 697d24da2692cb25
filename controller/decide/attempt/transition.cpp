#include "controller/decide/attempt/transition.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "base/text.h"
#include "controller/decide/attempt/activity.h"
#include "controller/decide/attempt/limits.h"
#include "controller/decide/attempt/queueing.h"
#include "controller/decide/attempt/refused_nodes.h"
#include "controller/decide/attempt/templates_hash.h"
#include "controller/decide/reasons.h"
#include "controller/decide/round/attempt.h"
#include "controller/decide/round/condition.h"
#include "gang/pod_group.h"

namespace nervex::controller {

namespace {

using job::Phase;
using std::chrono::seconds;

constexpr std::size_t kMaxTerminationMessage = 4096;
// An attempt that kept its nodes for so long did not end early.
constexpr std::chrono::minutes kLasted{10};
constexpr int kMostCounted = 1'000;

job::LastAttempt last_attempt(const Observed& seen, const AttemptResult& result) {
  const std::string& message =
      result.termination_message.empty() ? result.message : result.termination_message;
  return {seen.job.status.attempt, std::string(result.reason), result.exit_code,
          std::string(last_bytes(message, kMaxTerminationMessage)), whole_seconds(seen.now)};
}

// Conditions of the ended attempt do not apply to the next one.
void reset_conditions(const Observed& seen, std::string_view reason, const std::string& message,
                      job::Status& status) {
  for (const auto type : {kRunning, kReady}) {
    if (is_true(status, type)) set_condition(seen, status, type, false, reason, message);
  }
  if (is_true(status, kRequeued)) {
    set_condition(seen, status, kRequeued, false, reason, message);
  }
  std::erase_if(status.conditions, [](const auto& c) {
    return c.type == kRequestsScheduled || c.type == kReplacementLimitExceeded ||
           c.type == kPerPodServices || c.type == kPodsRefused;
  });
  if (is_behind_status(seen.job) || is_true(status, kRequestsLost)) {
    set_condition(seen, status, kRequestsLost, false, kNewAttempt,
                  "requests of an earlier attempt no longer apply");
  }
}

// The job keeps its place in the queue.
job::Status next_attempt(const Round& round, std::string_view reason, const std::string& message) {
  const Observed& seen = round.seen;
  job::Status status = seen.job.status;
  ++status.attempt;
  status.phase = Phase::kCreated;
  status.queued_since = place_in_queue(seen.job, round.attempt.group);
  status.waiting_since = seen.now;
  status.avoid = refused_nodes(round);
  end_activity(round, status);
  status.next_attempt_time.reset();
  status.ready = 0;
  status.coordinator = status.aggregator = status.collector = status.learner = {};
  status.ended.clear();
  status.replaced.clear();
  status.continued.clear();
  status.requeued_gangs.clear();
  status.created_through = {};
  reset_conditions(seen, reason, message, status);
  return status;
}

// Attempts in a row before this one that the cluster ended early.
int disrupted_before(const Round& round) {
  const auto since = active_since(round);
  const bool lasted = since && round.seen.now - *since >= kLasted;
  return lasted ? 0 : std::min(round.seen.job.status.disrupted_attempts, kMostCounted);
}

// After an attempt that had all its pods. Later refusals were of its coordinator's requests; the
// back-off is not for those (backs_off_after_refusal()).
job::Status next_after_run(const Round& round, const AttemptResult& result) {
  job::Status status = next_attempt(round, result.reason, result.message);
  status.disrupted_attempts = disrupted_before(round);
  if (has_failed_creation(status)) remove_condition(status, kPodsCreated);
  return status;
}

AttemptTransition retry(const Round& round, const AttemptResult& result) {
  const Observed& seen = round.seen;
  job::Status status = next_after_run(round, result);
  status.disrupted_attempts = 0;
  status.last_attempt = last_attempt(seen, result);
  const auto delay = retry_delay(seen.retry_delay, ++status.failed_attempts);
  status.next_attempt_time = std::chrono::ceil<seconds>(seen.now + delay);
  return {std::move(status),
          warning_event(result.reason,
                        fmt::format("{}; the next attempt starts in {} s", result.message,
                                    std::chrono::ceil<seconds>(delay).count()))};
}

// Repeated disruptions must not keep the cluster busy. The first next attempt is only kept from
// starting at once again; later ones also wait.
SysTime earliest_start(const Observed& seen, int disrupted) {
  const SysTime waiting = seen.job.status.waiting_since.value_or(seen.now);
  const SysTime after_start = std::min(waiting, seen.now) +  // another leader's clock may be ahead
                              at_most_longest(seen.retry_delay);
  if (disrupted <= 1) return std::chrono::ceil<seconds>(after_start);
  return std::chrono::ceil<seconds>(seen.now + retry_delay(seen.retry_delay, disrupted - 1));
}

// `is_fault`: the cluster did not end the attempt on purpose.
AttemptTransition requeue(const Round& round, const AttemptResult& result, bool is_fault) {
  const Observed& seen = round.seen;
  job::Status status = next_after_run(round, result);
  if (is_fault) ++status.disrupted_attempts;
  const int disrupted = is_fault ? status.disrupted_attempts : 0;
  status.last_attempt = last_attempt(seen, result);
  const SysTime earliest = earliest_start(seen, disrupted);
  if (earliest > seen.now) status.next_attempt_time = earliest;
  set_condition(seen, status, kRequeued, true, result.reason, result.message);
  const std::string wait =
      disrupted <= 1 ? ""
                     : fmt::format(
                           "; the cluster ended {} attempts in a row early, and the next one "
                           "starts in {} s",
                           disrupted, std::chrono::ceil<seconds>(earliest - seen.now).count());
  return {
      std::move(status),
      warning_event(kRequeued,
                    fmt::format("{}: {}; the job is requeued, which does not count as a retry{}",
                                result.reason, result.message, wait))};
}

// When the creation that still fails was first reported.
SysTime failing_since(const Observed& seen) {
  const auto* condition = find_condition(seen.job.status, kPodsCreated);
  return has_failed_creation(seen.job.status) ? condition->last_transition : seen.now;
}

// Plan and pods are of the old templates, which new pods would not match. The user caused it, so it
// costs no retry, and the job keeps its place in the queue.
AttemptTransition begin_again(const Round& round) {
  const Observed& seen = round.seen;
  constexpr std::string_view kMessage =
      "the job's templates, topology or node classes, or the aggregator's template changed before "
      "the job ran: it is planned again and keeps its place in the queue";
  job::Status status = next_attempt(round, kTemplateChanged, std::string(kMessage));
  status.waiting_since = seen.job.status.waiting_since;
  // The refusals were about the old templates.
  if (has_failed_creation(status)) remove_condition(status, kPodsCreated);
  status.avoid.clear();
  // Two tools that change it back and forth must not create and delete its pods all the time.
  const SysTime earliest = std::chrono::ceil<seconds>(round.attempt.group->meta.created +
                                                      at_most_longest(seen.retry_delay));
  if (!round.attempt.pods.empty() && earliest > seen.now) status.next_attempt_time = earliest;
  return {.status = std::move(status),
          .event = normal_event(kTemplateChanged, std::string(kMessage)),
          .has_not_started = true};
}

AttemptTransition suspend(const Round& round) {
  const Observed& seen = round.seen;
  constexpr std::string_view kMessage =
      "the job was suspended: it has no pods and reserves no capacity";
  job::Status status = next_attempt(round, kSuspended, std::string(kMessage));
  status.start_time.reset();
  set_condition(seen, status, kSuspended, true, kSuspended, std::string(kMessage));
  return {std::move(status), normal_event(kSuspended, std::string(kMessage))};
}

// Suspending has incremented the attempt, which has no objects yet. The job starts again: its place
// in the queue and its deadlines count from here.
AttemptTransition resume(const Observed& seen) {
  job::Status status = seen.job.status;
  status.queued_since = status.waiting_since = seen.now;
  status.active_seconds = 0;
  status.disrupted_attempts = 0;
  status.start_time.reset();
  status.next_attempt_time.reset();
  set_condition(seen, status, kSuspended, false, kResumed, "the job was resumed");
  return {std::move(status),
          normal_event(kResumed, "the job was resumed, with a new place in the queue")};
}

AttemptTransition end_job(const Round& round, AttemptResult result) {
  RecordEvent event = result.outcome == AttemptOutcome::kSuccess
                          ? normal_event(kJobSucceeded, result.message)
                          : warning_event(kJobFailed, result.message);
  return {round.seen.job.status, std::move(event), std::move(result)};
}

AttemptTransition give_up(const Round& round, AttemptResult result) {
  const int failures = round.seen.job.status.failed_attempts + 1;
  job::LastAttempt last = last_attempt(round.seen, result);
  if (failures > 1) {
    result.message =
        fmt::format("{} attempts failed, and backoffLimit is {}; last failure: {}", failures,
                    *backoff_limit(round.seen.job.spec, result.reason), result.message);
    result.reason = kBackoffLimitExceeded;
  }
  AttemptTransition transition = end_job(round, std::move(result));
  transition.status.failed_attempts = failures;
  transition.status.last_attempt = std::move(last);
  return transition;
}

std::optional<AttemptTransition> end_attempt(const Round& round, const AttemptResult& result) {
  switch (result.outcome) {
    case AttemptOutcome::kSuccess:
      return end_job(round, result);
    case AttemptOutcome::kFailure:
      return may_retry(round.seen.job.spec, round.seen.job.status.failed_attempts + 1,
                       result.reason)
                 ? retry(round, result)
                 : give_up(round, result);
    case AttemptOutcome::kDisruption:
      return requeue(round, result, true);
    case AttemptOutcome::kTimedOut:
      return end_job(round, result);
    case AttemptOutcome::kWaits:
    case AttemptOutcome::kRuns:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

AttemptTransition requeue_after_failed_creation(const Round& round, const std::string& message) {
  const Observed& seen = round.seen;
  const AttemptResult result{AttemptOutcome::kDisruption, kFailedCreate, message, std::nullopt, ""};
  job::Status status = next_attempt(round, kFailedCreate, message);
  status.waiting_since = seen.job.status.waiting_since;
  status.last_attempt = last_attempt(seen, result);
  const auto lasts = std::chrono::ceil<seconds>(seen.now - failing_since(seen));
  const auto delay = std::max<std::chrono::milliseconds>(seen.retry_delay, lasts);
  status.next_attempt_time = std::chrono::ceil<seconds>(seen.now + at_most_longest(delay));
  set_condition(seen, status, kPodsCreated, false, kFailedCreate, message);
  return {.status = std::move(status),
          .event = warning_event(
              kFailedCreate,
              fmt::format("{}; the pods of the gang are deleted until the next try", message)),
          .has_not_started = true};
}

namespace {

// The pods of a committed gang stay: admission refuses such a change then, and a changed
// AggregatorConfig does not affect it.
bool was_changed(const Round& round) {
  if (round.attempt.group == nullptr || round.seen.job.status.phase != Phase::kCreated) {
    return false;
  }
  const std::string& planned =
      kube::annotation(round.attempt.group->meta, gang::kTemplatesAnnotation);
  // A committed gang keeps running beside a new role: none of its pods is created from that
  // template.
  return has_other_templates(
      planned, templates_hash(round.seen.job.spec, round.seen.aggregator_config.get()),
      is_base_committed(round.attempt) || round.seen.aggregator_config_is_unreadable);
}

// The extender has released the base gang: half a gang must not hold capacity, or its queue is
// drained. The result borrows from the round.
std::optional<AttemptResult> check_released(const Round& round) {
  const gang::GangStatus* base = find_released_gang(round.attempt, gang::kBaseGang);
  if (base == nullptr) return std::nullopt;
  return AttemptResult{AttemptOutcome::kDisruption, base->reason, base->message, std::nullopt, ""};
}

}  // namespace

// The coordinator's end comes first: it is a fact, the others are wishes.
std::optional<AttemptTransition> find_transition(const Round& round) {
  const bool wants_rest = round.seen.job.spec.suspend;
  if (is_true(round.seen.job.status, kSuspended)) {
    return wants_rest ? std::nullopt : std::optional(resume(round.seen));
  }
  const AttemptResult result = judge_attempt(round);
  if (auto transition = end_attempt(round, result)) return transition;
  if (wants_rest) return suspend(round);
  if (result.outcome == AttemptOutcome::kWaits && was_changed(round)) {
    return begin_again(round);
  }
  if (const auto release = check_released(round)) {
    return requeue(round, *release, release->reason == gang::kReasonHealingTimeout);
  }
  const auto limit = passed_limit(round);
  auto transition = limit ? end_attempt(round, *limit) : std::nullopt;
  if (transition) transition->has_not_started = limit->has_not_started;
  return transition;
}

}  // namespace nervex::controller
