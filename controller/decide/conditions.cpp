#include "controller/decide/conditions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "controller/decide/attempt.h"
#include "controller/decide/creation_failures.h"
#include "controller/decide/limits.h"
#include "controller/decide/pod_dry_run.h"
#include "controller/decide/pod_group.h"
#include "controller/decide/previous_attempt.h"
#include "controller/decide/services.h"
#include "job/names.h"
#include "job/warnings.h"

namespace nervex::controller {

namespace {

using job::Phase;
using std::chrono::seconds;

// A pod that has a place is bound within this time, unless the scheduler has objections of its own
// (volumes, or a node that is gone). Before that its objections are only signs of caches catching
// up.
constexpr seconds kBindingTime{10};

struct Finding {
  bool is_true = false;
  std::string_view reason;
  std::string message;
};

bool waits_for_binding(const kube::Pod& pod) {
  return pod.node.empty() && !pod.is_finished() && !pod.meta.deleting;
}

bool is_unschedulable(const Observed& seen, const kube::Pod& pod) {
  const bool is_late = seen.now - pod.meta.created >= kBindingTime;
  return waits_for_binding(pod) && is_late && !pod.unscheduled_message.empty();
}

// Pods that the second scheduler does not bind, and says why.
std::vector<const AttemptPod*> unschedulable_pods(const Round& round) {
  std::vector<const AttemptPod*> found;
  for (const AttemptPod& of : round.attempt.pods) {
    if (is_unschedulable(round.seen, *of.pod)) found.push_back(&of);
  }
  return found;
}

// What it says about one of them that is of that gang, of the coordinator if it is among them; ""
// if there is none.
std::string scheduler_objection(const std::vector<const AttemptPod*>& unschedulable,
                                const gang::PodGroup& group, std::string_view gang) {
  const AttemptPod* first = nullptr;
  for (const AttemptPod* of : unschedulable) {
    const bool is_better = first == nullptr || of->role == job::Role::kCoordinator;
    if (is_better && is_of_gang(*of, group, gang)) first = of;
  }
  if (first == nullptr) return "";
  return fmt::format("pod {}: {}", first->pod->meta.name, first->pod->unscheduled_message);
}

// Every slot has a place, but pods of it were lost, or cannot be bound.
bool is_healing(const gang::GangStatus& gang) {
  return gang.reason == gang::kReasonHealing || gang.reason == gang::kReasonHealingTimeout;
}

// "attempt 1 ended with CoordinatorFailed, exit code 3; "; "" if it is not known.
std::string last_end(const job::Status& status) {
  if (!status.last_attempt) return "";
  const job::LastAttempt& last = *status.last_attempt;
  const std::string code = last.exit_code ? fmt::format(", exit code {}", *last.exit_code) : "";
  return fmt::format("attempt {} ended with {}{}; ", last.attempt, last.reason, code);
}

bool waits_for_config(const Round& round) {
  const bool config_exists = round.seen.aggregator_config != nullptr;
  if (round.attempt.group == nullptr)
    return waits_for_aggregator(round.seen.job.spec, config_exists);
  return round.attempt.has_aggregator && !config_exists && !has_aggregator_pod(round.attempt, 0);
}

std::string missing_config(const Observed& seen) {
  return fmt::format(
      "there is no AggregatorConfig {}, which the job's aggregator is made from: create it, and "
      "the "
      "job goes on by itself",
      seen.aggregator_config_name);
}

Finding scheduled(const Round& round) {
  if (round.seen.job.spec.suspend) {
    return {false, kSuspended, "spec.suspend is true: the job starts when that is set to false"};
  }
  if (round.attempt.group == nullptr && is_backing_off(round.seen)) {
    const job::Status& status = round.seen.job.status;
    return {false, kBackOff,
            fmt::format("{}attempt {} begins at {}", last_end(status), status.attempt,
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
            fmt::format("there is no PriorityClass \"{}\", which {} names: create it, and the job "
                        "starts by itself, or create the job with another name",
                        round.seen.priority.missing, round.seen.priority.named_by)};
  }
  if (round.attempt.group == nullptr && waits_for_config(round)) {
    return {false, kAggregatorMissing, missing_config(round.seen)};
  }
  const auto* base = round.attempt.group == nullptr
                         ? nullptr
                         : gang::find_gang(round.attempt.group->status, gang::kBaseGang);
  if (base == nullptr || base->reason.empty()) {
    return {false, kQueued,
            "the gang is not planned yet: nervex-extender (deployment nervex-scheduler) has not "
            "looked at it"};
  }
  if (!base->planned || is_healing(*base)) return {false, base->reason, base->message};
  std::string objection =
      scheduler_objection(unschedulable_pods(round), *round.attempt.group, gang::kBaseGang);
  if (!objection.empty()) return {false, gang::kReasonUnschedulable, std::move(objection)};
  return {true, base->reason, base->message};
}

bool is_false(const job::Status& status, std::string_view type) {
  const auto* condition = find_condition(status, type);
  return condition != nullptr && !condition->status;
}

// The first gang that was taken back and is not tried again yet.
std::optional<Finding> backing_off(const Observed& seen) {
  for (const auto& of : seen.job.status.requeued_gangs) {
    if (of.requeue_at <= seen.now) continue;
    const auto why = has_failed_creation(seen.job.status)
                         ? "the API server refused one of its pods"
                         : "it lost pods that could not be replaced in time";
    return Finding{false, kBackOff,
                   fmt::format("{}: {}; it is tried again at {}", describe(of), why,
                               to_rfc3339(of.requeue_at))};
  }
  return std::nullopt;
}

// Why that gang waits; nullopt: it does not. `known`: what the planner says of it, may be null.
std::optional<Finding> waiting(const std::string& gang, const gang::GangStatus* known,
                               const std::vector<const AttemptPod*>& unschedulable,
                               const gang::PodGroup& group) {
  if (known == nullptr || (!known->planned && known->reason.empty())) {
    return Finding{false, kQueued,
                   gang +
                       " is not planned yet: nervex-extender (deployment nervex-scheduler) has "
                       "not looked at it"};
  }
  if (!known->planned || is_healing(*known)) {
    return Finding{false, known->reason, fmt::format("{}: {}", gang, known->message)};
  }
  std::string objection = scheduler_objection(unschedulable, group, gang);
  if (objection.empty()) return std::nullopt;
  return Finding{false, gang::kReasonUnschedulable, std::move(objection)};
}

// Of what was requested on top, the first gang that waits. Nullopt: nothing was ever requested. A
// gang that waited and was removed again leaves no message behind: nothing waits any more.
std::optional<Finding> requests_scheduled(const Round& round) {
  if (round.attempt.group == nullptr) return std::nullopt;
  if (auto waits = backing_off(round.seen)) return waits;
  std::optional<Finding> verdict;
  if (is_false(round.seen.job.status, kRequestsScheduled)) {
    verdict = Finding{true, gang::kReasonPlanned, "no request waits"};
  }
  const auto unschedulable = unschedulable_pods(round);
  std::map<std::string_view, const gang::GangStatus*> known;
  for (const auto& of : round.attempt.group->status.gangs) known.try_emplace(of.name, &of);
  for (const auto& set : round.attempt.group->spec.members) {
    if (set.gang == gang::kBaseGang) continue;
    verdict = Finding{true, gang::kReasonPlanned, "all requests are placed"};
    const auto at = known.find(set.gang);
    const gang::GangStatus* of = at == known.end() ? nullptr : at->second;
    if (auto waits = waiting(set.gang, of, unschedulable, *round.attempt.group)) return waits;
  }
  return verdict;
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

std::optional<Finding> aggregator_missing(const Round& round) {
  if (waits_for_config(round)) {
    return Finding{true, kWaitsForConfig, missing_config(round.seen)};
  }
  if (learners_wait_for_config(round)) {
    return Finding{true, kWaitsForConfig,
                   fmt::format("there is no AggregatorConfig {}, which the aggregators of learners "
                               "with several GPUs are made from: create it, and they start",
                               round.seen.aggregator_config_name)};
  }
  if (!round.attempt.has_aggregator && round.seen.job.spec.aggregator.empty()) {
    return Finding{true, kNoConfig,
                   "the job goes without an aggregator: there was no AggregatorConfig"};
  }
  if (find_condition(round.seen.job.status, kAggregatorMissing) == nullptr) return std::nullopt;
  return Finding{false, kAggregatorFound, "there is an AggregatorConfig"};
}

// CrashLoopBackOff comes and goes with each start: one that is not ready between two crashes
// counts.
bool is_crash_looping(const kube::ContainerState& container) {
  constexpr int kAgainAndAgain = 2;
  return container.reason == "CrashLoopBackOff" ||
         (!container.ready && container.restarts >= kAgainAndAgain);
}

// Why the kubelet cannot start this container, "" if it is not known to be so. Only what somebody
// must fix, and in words that stay while the kubelet tries again: its own take turns
// (ErrImagePull, ImagePullBackOff), and each change is a write.
std::string unstartable(const kube::ContainerState& container, std::string_view pod) {
  const std::string& why = container.reason;
  if (container.terminated) return "";
  if (is_crash_looping(container)) {
    return fmt::format("container {} of pod {} crashes again and again, last with exit code {}",
                       container.name, pod, container.exit_code);
  }
  if (why == "ErrImagePull" || why == "ImagePullBackOff") {
    return fmt::format("the image of pod {} cannot be pulled", pod);
  }
  if (why == "InvalidImageName") return fmt::format("the image of pod {} has no valid name", pod);
  if (why == "ErrImageNeverPull") {
    return fmt::format("the image of pod {} is not on its node and must not be pulled", pod);
  }
  if (why == "CreateContainerConfigError") {
    return fmt::format("pod {} refers to a ConfigMap, a Secret or a key that is not there", pod);
  }
  return "";
}

Finding ready(const Attempt& attempt, const job::Status& status) {
  const bool all = status.ready == status.desired && status.desired > 0;
  if (all && status.phase == Phase::kRunning) return {true, kPodsReady, "all pods are ready"};
  const std::string why = cannot_start(attempt);
  return {false, kPodsNotReady,
          why.empty() ? "not all pods are ready" : "not all pods are ready: " + why};
}

void apply(const Observed& seen, job::Status& status, std::string_view type, Finding verdict) {
  set_condition(seen, status, type, verdict.is_true, verdict.reason, std::move(verdict.message));
}

// Of a gang that was taken back nothing is left to create either. That all of it could be created
// is shown by its coordinator, which comes last, or of a gang that came later by all of its pods.
bool creation_still_fails(const Attempt& attempt, const job::Status& status) {
  if (!status.requeued_gangs.empty()) return true;
  return status.phase == Phase::kCreated && has_failed_creation(status) &&
         !is_true(status, kSuspended) && coordinator_of(attempt) == nullptr;
}

void set_pods_created(const Round& round, bool nothing_to_create, job::Status& status) {
  const auto named = job::check_job_name(round.seen.job);
  if (!named) {
    set_condition(round.seen, status, kPodsCreated, false, kInvalidName, named.error().message);
  } else if (nothing_to_create && is_false(status, kPodsCreated) &&
             !creation_still_fails(round.attempt, status)) {
    set_condition(round.seen, status, kPodsCreated, true, kSuccessfulCreate,
                  "all objects that the job may have were created");
  }
}

void set_requests_lost(const Observed& seen, job::Status& status) {
  const auto* known = find_condition(status, kRequestsLost);
  const bool is_behind = is_behind_status(seen.job);
  if (known == nullptr && is_behind) {
    set_condition(seen, status, kRequestsLost, true, kRequestsLost,
                  "spec.requests, which nervex-server wrote, has vanished: what was requested is "
                  "kept until the attempt ends");
  } else if (known != nullptr && !known->status && !is_behind) {
    std::erase_if(status.conditions, [](const auto& c) { return c.type == kRequestsLost; });
  }
}

// Ordinals are never used again in a job, so that a name never stands for two replicas: this is not
// taken back.
void set_ordinals_nearly_exhausted(const Observed& seen, job::Status& status) {
  constexpr int kAll = job::kFirstContinuedOrdinal - job::kFirstRequestedOrdinal;
  constexpr int kPercent = 80;
  const auto is_near = [](int next) {
    return (next - job::kFirstRequestedOrdinal) * 100 >= kAll * kPercent;
  };
  const bool collectors = is_near(status.next_collector);
  if (!collectors && !is_near(status.next_learner)) return;
  // Without numbers, which would be written again with every request.
  set_condition(seen, status, kOrdinalsNearlyExhausted, true, kOrdinalsNearlyExhausted,
                fmt::format("at least {} % of the {} {}s that can be requested in the life of one "
                            "job have been: when all have, the replicas API answers 409, so let "
                            "another job take over before",
                            kPercent, kAll,
                            to_string(collectors ? job::Role::kCollector : job::Role::kLearner)));
}

// What a template asks for and the planner does not know. The scheduler refuses a plan that is
// against it, so that the job starts whole or not yet.
void set_best_effort(const Round& round, job::Status& status) {
  std::string what;
  const auto look_at = [&](job::Role role, const Json& pod_template) {
    const std::string_view name = to_string(role);
    const std::string field = job::left_to_scheduler(pod_template, round.job.meta, name, true);
    if (!field.empty()) what += fmt::format("{}{}: {}", what.empty() ? "" : ", ", name, field);
  };
  const job::Spec& spec = round.job.spec;
  look_at(job::Role::kCoordinator, spec.coordinator_template.get());
  if (spec.collector) look_at(job::Role::kCollector, spec.collector->pod_template.get());
  if (spec.learner) look_at(job::Role::kLearner, spec.learner->pod_template.get());
  if (round.attempt.has_aggregator && round.seen.aggregator_config != nullptr) {
    look_at(job::Role::kAggregator, round.seen.aggregator_config->pod_template.get());
  }
  if (what.empty()) {
    std::erase_if(status.conditions, [](const auto& c) { return c.type == kPlacementBestEffort; });
    return;
  }
  set_condition(round.seen, status, kPlacementBestEffort, true, kLeftToScheduler,
                what +
                    ": not planned, but checked by kube-scheduler afterwards; a start may take "
                    "several plans, and one that needs a certain choice of nodes may not "
                    "succeed");
}

// The API server refused an attempt before, and this one has no place yet: whether it would be
// refused again a dry run tells (pod_dry_run.h). The condition stays: the back-off and the
// deadlines go by it.
bool waits_after_refusal(const Round& round, const job::Status& status) {
  return waits_for_capacity(round) && has_failed_creation(status) &&
         find_condition(status, kPodsCreated)->last_transition < round.attempt.group->meta.created;
}

// The most telling word: what a person would have to do something about comes first.
std::string reason_of(const Round& round, const job::Status& status) {
  if (is_true(status, kSuspended)) return std::string(kSuspended);
  if (is_false(status, kPodsCreated) && !waits_after_refusal(round, status)) {
    return find_condition(status, kPodsCreated)->reason;
  }
  if (is_true(status, kRequestsLost)) return std::string(kRequestsLost);
  if (waits_for_config(round) || learners_wait_for_config(round)) {
    return std::string(kAggregatorMissing);
  }
  if (is_true(status, kPodsRefused)) return std::string(kPodsRefused);
  if (status.phase == Phase::kRunning) {
    const auto* requests = find_condition(status, kRequestsScheduled);
    const bool some_wait = requests != nullptr && !requests->status && requests->reason != kQueued;
    const auto* scheduled = find_condition(status, kScheduled);
    // It runs in part: whatever keeps it from being whole is in the message.
    if (scheduled != nullptr && !scheduled->status && scheduled->reason != kQueued) {
      return std::string(gang::kReasonHealing);
    }
    return std::string(some_wait ? kRequestsUnschedulable : kRunning);
  }
  if (is_false(status, kScheduled)) return find_condition(status, kScheduled)->reason;
  return std::string(kStarting);
}

}  // namespace

std::string cannot_start(const Attempt& attempt) {
  const kube::Pod* first = nullptr;
  std::string found;
  for (const AttemptPod& of : attempt.pods) {
    if (first != nullptr && first->meta.name < of.pod->meta.name) continue;
    for (const auto& container : of.pod->containers) {
      std::string why = unstartable(container, of.pod->meta.name);
      if (why.empty()) continue;
      first = of.pod;
      found = std::move(why);
      break;
    }
  }
  return found;
}

bool has_failed_creation(const job::Status& status) {
  const auto* condition = find_condition(status, kPodsCreated);
  return condition != nullptr && !condition->status && condition->reason == kFailedCreate;
}

bool is_true(const job::Status& status, std::string_view type) {
  const auto* condition = find_condition(status, type);
  return condition != nullptr && condition->status;
}

SysTime whole_seconds(SysTime time) { return std::chrono::floor<seconds>(time); }

void set_condition(const Observed& seen, job::Status& status, std::string_view type, bool is_true,
                   std::string_view reason, std::string message) {
  job::set_condition(status, {std::string(type), is_true, std::string(reason), std::move(message),
                              whole_seconds(seen.now), seen.job.meta.generation});
}

std::optional<seconds> time_until_late(const Round& round) {
  std::optional<seconds> first;
  for (const AttemptPod& of : round.attempt.pods) {
    if (!waits_for_binding(*of.pod)) continue;
    const auto left =
        std::chrono::ceil<seconds>(of.pod->meta.created + kBindingTime - round.seen.now);
    if (left > seconds::zero() && (!first || left < *first)) first = left;
  }
  return first;
}

void set_conditions(const Round& round, bool nothing_to_create, job::Status& status) {
  apply(round.seen, status, kScheduled, scheduled(round));
  if (auto verdict = requests_scheduled(round)) {
    apply(round.seen, status, kRequestsScheduled, *std::move(verdict));
  }
  if (auto verdict = aggregator_missing(round)) {
    apply(round.seen, status, kAggregatorMissing, *std::move(verdict));
  }
  set_pods_created(round, nothing_to_create, status);
  if (status.phase == Phase::kRunning) {
    set_condition(round.seen, status, kRunning, true, kJobRunning, "the coordinator runs");
    if (is_true(status, kRequeued)) {
      set_condition(round.seen, status, kRequeued, false, kJobRunning, "the coordinator runs");
    }
  }
  set_requests_lost(round.seen, status);
  set_ordinals_nearly_exhausted(round.seen, status);
  set_best_effort(round, status);
  report_services(round, status);
  report_dry_run(round, status);
  apply(round.seen, status, kReady, ready(round.attempt, status));
  status.reason = reason_of(round, status);
}

void set_final_conditions(const Observed& seen, const AttemptResult& verdict, job::Status& status) {
  const bool is_good = status.phase == Phase::kSucceeded;
  const std::string_view reason = is_good ? kJobSucceeded : kJobFailed;
  set_condition(seen, status, kRunning, false, reason, verdict.message);
  // kstatus: what has completed is as ready as it will ever be; what has failed must not be waited
  // for.
  set_condition(seen, status, kReady, is_good, reason,
                is_good ? "the job has completed" : "the job has failed");
  if (!is_good) set_condition(seen, status, kStalled, true, reason, verdict.message);
  if (is_true(status, kRequeued)) set_condition(seen, status, kRequeued, false, reason, "");
  // A request that still waited waits no more.
  if (is_false(status, kRequestsScheduled)) {
    set_condition(seen, status, kRequestsScheduled, false, reason, "the job has ended");
  }
  set_condition(seen, status, is_good ? kSucceeded : kFailed, true, reason, verdict.message);
  set_condition(seen, status, kFinished, true, reason, verdict.message);
  status.reason = verdict.reason;
}

}  // namespace nervex::controller
