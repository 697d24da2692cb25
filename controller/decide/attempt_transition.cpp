#include "controller/decide/attempt_transition.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "base/text.h"
#include "controller/decide/activity.h"
#include "controller/decide/attempt.h"
#include "controller/decide/conditions.h"
#include "controller/decide/limits.h"
#include "controller/decide/pod_group.h"
#include "controller/decide/status.h"
#include "kube/model/disruption.h"

namespace nervex::controller {

namespace {

using job::PodState;

std::string end_of(const kube::ContainerState& main) {
  std::string text = fmt::format("exited with {}", main.exit_code);
  if (!main.reason.empty()) text += fmt::format(" ({})", main.reason);
  if (!main.message.empty()) text += ": " + main.message;
  return text;
}

std::string failure_message(const kube::Pod& pod) {
  if (!pod.reason.empty())
    return fmt::format("the coordinator was stopped: {} {}", pod.reason, pod.message);
  const kube::ContainerState* main = job::main_state(pod);
  if (main == nullptr || !main->terminated) return "the coordinator failed";
  return fmt::format("the coordinator's container {} {}", main->name, end_of(*main));
}

AttemptResult failed(const kube::Pod& pod) {
  AttemptResult verdict{AttemptOutcome::kFailure, kCoordinatorFailed, failure_message(pod),
                        std::nullopt, ""};
  const kube::ContainerState* main = job::main_state(pod);
  if (main == nullptr || !main->terminated) return verdict;
  verdict.exit_code = main->exit_code;
  verdict.termination_message = main->message;
  return verdict;
}

// It asks for its workers again, and they for another coordinator: they all begin again.
AttemptResult restarted(const kube::ContainerState& main) {
  AttemptResult verdict{AttemptOutcome::kFailure, kCoordinatorRestarted,
                        fmt::format("the coordinator's container {} was restarted in place: it {}",
                                    main.name, end_of(main)),
                        main.exit_code, main.message};
  return verdict;
}

AttemptResult disrupted(std::string_view reason, const kube::Pod& pod) {
  std::string message = "the cluster took the coordinator's pod away";
  if (!pod.disruption_reason.empty()) message += fmt::format(": {}", pod.disruption_reason);
  if (!pod.reason.empty()) message += fmt::format(": {} {}", pod.reason, pod.message);
  return {AttemptOutcome::kDisruption, reason, std::move(message), std::nullopt, ""};
}

AttemptResult lost(const Observed& seen) {
  if (seen.last_coordinator != nullptr) {
    if (const auto reason = kube::disruption_of(*seen.last_coordinator)) {
      return disrupted(*reason, *seen.last_coordinator);
    }
  }
  if (seen.coordinator_node_is_lost) {
    return {AttemptOutcome::kDisruption, kNodeLost,
            "the coordinator's pod is gone, and so is its node", std::nullopt, ""};
  }
  return {AttemptOutcome::kFailure, kCoordinatorLost,
          "the coordinator's pod is gone, and nobody saw how it ended", std::nullopt, ""};
}

// The planner never moves a bound coordinator. It moved the slot while another replica of the
// extender bound the pod, because the node had been lost to new pods: what runs there is not in the
// plan.
bool has_another_place(const AttemptPod& of, const gang::PodGroup& group) {
  const auto* base = gang::find_gang(group.status, gang::kBaseGang);
  if (of.pod->node.empty() || base == nullptr || !base->planned) return false;
  if (group.status.observed_generation != group.meta.generation) return false;
  for (const auto& placement : base->placements) {
    if (placement.role == to_string(of.role) && placement.slot == slot_id(of.slot)) {
      return placement.number > of.placement && placement.node != of.pod->node.str();
    }
  }
  return false;
}

// Kubernetes' pod garbage collector marks pods Failed that are deleted and were never bound.
bool has_run(const kube::Pod& pod) {
  return !pod.node.empty() && (pod.phase == kube::PodPhase::kRunning || pod.is_finished());
}

AttemptResult runs() {
  AttemptResult verdict;
  verdict.outcome = AttemptOutcome::kRuns;
  return verdict;
}

AttemptResult node_lost(const kube::Pod& pod) {
  return {AttemptOutcome::kDisruption, kNodeLost,
          fmt::format("the coordinator's node {} is lost ({})", pod.node, pod.node_lost),
          std::nullopt, ""};
}

AttemptResult judge_live(const AttemptPod& coordinator, const gang::PodGroup& group) {
  if (!coordinator.pod->node_lost.empty()) return node_lost(*coordinator.pod);
  if (has_another_place(coordinator, group)) {
    return {
        AttemptOutcome::kDisruption, kNodeLost,
        fmt::format("the coordinator was bound to node {} while its place was moved away from it",
                    coordinator.pod->node),
        std::nullopt, ""};
  }
  const kube::ContainerState* main = job::main_state(*coordinator.pod);
  if (main != nullptr && main->restarts > 0) return restarted(*main);
  return coordinator.state == PodState::kRunning ? runs() : AttemptResult{};
}

AttemptResult judge_coordinator(const AttemptPod& coordinator, const gang::PodGroup& group) {
  const kube::Pod& pod = *coordinator.pod;
  switch (coordinator.state) {
    case PodState::kSucceeded:
      return {AttemptOutcome::kSuccess, kCompleted, "the coordinator has completed", 0, ""};
    case PodState::kFailed:
      if (const auto reason = kube::disruption_of(pod)) return disrupted(*reason, pod);
      return failed(pod);
    case PodState::kTerminating:  // a mark now says why, which nobody can read when it is gone
      if (const auto reason = kube::disruption_of(pod)) return disrupted(*reason, pod);
      if (!pod.node_lost.empty()) return node_lost(pod);
      // It ran, though nobody may have looked while it did: the attempt ends when it is gone.
      return has_run(pod) ? runs() : AttemptResult{};
    case PodState::kRunning:
    case PodState::kPending:
      return judge_live(coordinator, group);
  }
  return {};
}

}  // namespace

AttemptResult judge_attempt(const Round& round) {
  if (round.seen.coordinator_is_gone) return lost(round.seen);
  if (round.seen.pod_group_is_gone) {
    return {AttemptOutcome::kFailure, kPodGroupLost,
            "the job's PodGroup was deleted while the job ran: its pods have lost their places",
            std::nullopt, ""};
  }
  const AttemptPod* coordinator = coordinator_of(round.attempt);
  return coordinator == nullptr ? AttemptResult{}
                                : judge_coordinator(*coordinator, *round.attempt.group);
}

namespace {

using job::Phase;
using std::chrono::seconds;

constexpr std::size_t kMaxTerminationMessage = 4096;

job::LastAttempt last_attempt(const Observed& seen, const AttemptResult& verdict) {
  const std::string& message =
      verdict.termination_message.empty() ? verdict.message : verdict.termination_message;
  return {seen.job.status.attempt, std::string(verdict.reason), verdict.exit_code,
          std::string(last_bytes(message, kMaxTerminationMessage)), whole_seconds(seen.now)};
}

// What was said of the attempt that is over is not true of the next one.
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
                  "what was requested in an earlier attempt is not asked for any more");
  }
}

// The place in the queue is kept.
job::Status next_attempt(const Round& round, std::string_view reason, const std::string& message) {
  const Observed& seen = round.seen;
  job::Status status = seen.job.status;
  ++status.attempt;
  status.phase = Phase::kCreated;
  status.queued_since = place_in_queue(seen.job, round.attempt.group);
  status.waiting_since = seen.now;
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

// With everything else that follows from it, so that one write says all.
job::Status completed(const Observed& seen, job::Status status) {
  Observed after = seen;
  after.job.status = std::move(status);
  after.pods.clear();
  after.pod_groups.clear();
  after.coordinator_is_gone = after.pod_group_is_gone = false;
  return next_status(Round(after), false);
}

// After an attempt that had all its pods. What was refused since was asked for by its coordinator;
// the back-off is not of that (backs_off_after_refusal()).
job::Status next_after_run(const Round& round, const AttemptResult& verdict) {
  job::Status status = next_attempt(round, verdict.reason, verdict.message);
  if (has_failed_creation(status)) {
    std::erase_if(status.conditions, [](const auto& one) { return one.type == kPodsCreated; });
  }
  return status;
}

AttemptTransition retry(const Round& round, const AttemptResult& verdict) {
  const Observed& seen = round.seen;
  job::Status status = next_after_run(round, verdict);
  status.last_attempt = last_attempt(seen, verdict);
  const auto delay = retry_delay(seen.retry_delay, ++status.failed_attempts);
  status.next_attempt_time = std::chrono::ceil<seconds>(seen.now + delay);
  return {completed(seen, std::move(status)),
          warning_event(verdict.reason,
                        fmt::format("{}; another attempt follows in {} s", verdict.message,
                                    std::chrono::ceil<seconds>(delay).count()))};
}

AttemptTransition requeue(const Round& round, const AttemptResult& verdict) {
  const Observed& seen = round.seen;
  job::Status status = next_after_run(round, verdict);
  status.last_attempt = last_attempt(seen, verdict);
  // What the cluster takes back at once, again and again, shall not keep it busy.
  const SysTime waiting = seen.job.status.waiting_since.value_or(seen.now);
  const SysTime earliest = std::chrono::ceil<seconds>(
      std::min(waiting, seen.now) +  // another leader's clock may be ahead
      at_most_longest(seen.retry_delay));
  if (earliest > seen.now) status.next_attempt_time = earliest;
  set_condition(seen, status, kRequeued, true, verdict.reason, verdict.message);
  return {completed(seen, std::move(status)),
          warning_event(kRequeued,
                        fmt::format("{}: {}; the job is queued again, which costs it no retry",
                                    verdict.reason, verdict.message))};
}

// When the creation that still fails was first reported.
SysTime failing_since(const Observed& seen) {
  const auto* condition = find_condition(seen.job.status, kPodsCreated);
  return has_failed_creation(seen.job.status) ? condition->last_transition : seen.now;
}

// The plan is of the old templates, and so are the pods that may exist: what is made from now on
// would not fit to them. Somebody wants it so: it costs nothing, and keeps the place in the queue.
AttemptTransition begin_again(const Round& round) {
  const Observed& seen = round.seen;
  constexpr std::string_view kMessage =
      "the templates, or the aggregator's, were changed before the job ran: it is planned again, "
      "and keeps its place in the queue";
  job::Status status = next_attempt(round, kTemplateChanged, std::string(kMessage));
  status.waiting_since = seen.job.status.waiting_since;
  // What was refused was of the old templates.
  if (has_failed_creation(status)) {
    std::erase_if(status.conditions, [](const auto& one) { return one.type == kPodsCreated; });
  }
  // Two tools that change it to and fro shall not make and delete its pods all the time.
  const SysTime earliest = std::chrono::ceil<seconds>(round.attempt.group->meta.created +
                                                      at_most_longest(seen.retry_delay));
  if (!round.attempt.pods.empty() && earliest > seen.now) status.next_attempt_time = earliest;
  return {completed(seen, std::move(status)),
          normal_event(kTemplateChanged, std::string(kMessage))};
}

AttemptTransition suspend(const Round& round) {
  const Observed& seen = round.seen;
  constexpr std::string_view kMessage =
      "the job was suspended: it has no pods and holds no capacity";
  job::Status status = next_attempt(round, kSuspended, std::string(kMessage));
  status.start_time.reset();
  set_condition(seen, status, kSuspended, true, kSuspended, std::string(kMessage));
  return {completed(seen, std::move(status)), normal_event(kSuspended, std::string(kMessage))};
}

// Suspending has counted the attempt up, and nothing was made in it yet. The job begins anew: its
// place in the queue and its deadlines count from here.
AttemptTransition resume(const Observed& seen) {
  job::Status status = seen.job.status;
  status.queued_since = status.waiting_since = seen.now;
  status.active_seconds = 0;
  status.start_time.reset();
  status.next_attempt_time.reset();
  set_condition(seen, status, kSuspended, false, kResumed, "the job was resumed");
  return {completed(seen, std::move(status)),
          normal_event(kResumed, "the job was resumed and has a new place in the queue")};
}

AttemptTransition finish(const Round& round, job::Status status, Phase phase,
                         const AttemptResult& verdict) {
  const bool is_good = phase == Phase::kSucceeded;
  return {final_status(round, std::move(status), phase, verdict),
          is_good ? normal_event(kJobSucceeded, verdict.message)
                  : warning_event(kJobFailed, verdict.message)};
}

AttemptTransition give_up(const Round& round, AttemptResult verdict) {
  job::Status status = round.seen.job.status;
  const int failures = ++status.failed_attempts;
  status.last_attempt = last_attempt(round.seen, verdict);
  if (failures > 1) {
    verdict.message =
        fmt::format("{} attempts have failed, and backoffLimit is {}; the last one: {}", failures,
                    *backoff_limit(round.seen.job.spec), verdict.message);
    verdict.reason = kBackoffLimitExceeded;
  }
  return finish(round, std::move(status), Phase::kFailed, verdict);
}

std::optional<AttemptTransition> end_by(const Round& round, const AttemptResult& verdict) {
  switch (verdict.outcome) {
    case AttemptOutcome::kSuccess:
      return finish(round, round.seen.job.status, Phase::kSucceeded, verdict);
    case AttemptOutcome::kFailure:
      return may_retry(round.seen.job.spec, round.seen.job.status.failed_attempts + 1)
                 ? retry(round, verdict)
                 : give_up(round, verdict);
    case AttemptOutcome::kDisruption:
      return requeue(round, verdict);
    case AttemptOutcome::kTimedOut:
      return finish(round, round.seen.job.status, Phase::kFailed, verdict);
    case AttemptOutcome::kWaits:
    case AttemptOutcome::kRuns:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

AttemptTransition transition_of_failed_creation(const Round& round, const std::string& message) {
  const Observed& seen = round.seen;
  const AttemptResult verdict{AttemptOutcome::kDisruption, kFailedCreate, message, std::nullopt,
                              ""};
  job::Status status = next_attempt(round, kFailedCreate, message);
  status.waiting_since = seen.job.status.waiting_since;
  status.last_attempt = last_attempt(seen, verdict);
  const auto lasts = std::chrono::ceil<seconds>(seen.now - failing_since(seen));
  const auto delay = std::max<std::chrono::milliseconds>(seen.retry_delay, lasts);
  status.next_attempt_time = std::chrono::ceil<seconds>(seen.now + at_most_longest(delay));
  set_condition(seen, status, kPodsCreated, false, kFailedCreate, message);
  return {completed(seen, std::move(status)),
          warning_event(
              kFailedCreate,
              fmt::format("{}; what was made of the gang goes until it is tried again", message))};
}

namespace {

// Once the gang is committed its pods stay as they are: admission refuses such a change then, and a
// changed AggregatorConfig means nothing to it.
bool was_changed(const Round& round) {
  if (round.attempt.group == nullptr || round.seen.job.status.phase != Phase::kCreated) {
    return false;
  }
  const std::string& planned = kube::annotation(round.attempt.group->meta, kTemplatesAnnotation);
  // A gang that is committed goes on beside a role that comes: none of its pods is made of that.
  return has_other_templates(
      planned, templates_hash(round.seen.job.spec, round.seen.aggregator_config.get()),
      is_base_committed(round.attempt) || round.seen.aggregator_config_is_unreadable);
}

// The planner could not make the base gang whole again within the healing deadline: nobody waits
// for it with half of its pods.
std::optional<AttemptResult> not_healed(const Round& round) {
  const gang::GangStatus* base = gang_given_up(round.attempt, gang::kBaseGang);
  if (base == nullptr) return std::nullopt;
  return AttemptResult{AttemptOutcome::kDisruption, gang::kReasonHealingTimeout, base->message,
                       std::nullopt, ""};
}

}  // namespace

// How the coordinator ended comes first: it is a fact, and the rest are wishes.
std::optional<AttemptTransition> transition_of(const Round& round) {
  const bool wants_rest = round.seen.job.spec.suspend;
  if (is_true(round.seen.job.status, kSuspended)) {
    return wants_rest ? std::nullopt : std::optional(resume(round.seen));
  }
  const AttemptResult result = judge_attempt(round);
  if (auto transition = end_by(round, result)) return transition;
  if (wants_rest) return suspend(round);
  if (result.outcome == AttemptOutcome::kWaits && was_changed(round)) {
    return begin_again(round);
  }
  if (const auto verdict = not_healed(round)) return end_by(round, *verdict);
  const auto limit = passed_limit(round);
  return limit ? end_by(round, *limit) : std::nullopt;
}

}  // namespace nervex::controller
