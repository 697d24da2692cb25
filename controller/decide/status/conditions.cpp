#include "controller/decide/status/conditions.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "controller/decide/attempt/overdue_pods.h"
#include "controller/decide/attempt/pod_problems.h"
#include "controller/decide/objects/pod_dry_run.h"
#include "controller/decide/objects/services.h"
#include "controller/decide/reasons.h"
#include "controller/decide/round/attempt.h"
#include "controller/decide/round/condition.h"
#include "controller/decide/status/waiting.h"
#include "job/names.h"
#include "job/warnings.h"
#include "kube/model/disruption.h"

namespace nervex::controller {

namespace {

using job::Phase;

// The aggregator whose own program failed; a pod that was taken away is replaced.
const AttemptPod* find_failed_aggregator(const Attempt& attempt) {
  const AttemptPod* own = find_own_aggregator(attempt);
  const bool has_failed = own != nullptr && own->state == job::PodState::kFailed &&
                          !own->pod->meta.deleting && !kube::was_taken_away(*own->pod);
  return has_failed ? own : nullptr;
}

Finding ready(const Round& round, const job::Status& status) {
  const Attempt& attempt = round.attempt;
  if (const AttemptPod* failed = find_failed_aggregator(attempt)) {
    return {false, kAggregatorFailed,
            fmt::format("the job's aggregator has failed, and the job runs on without it: see the "
                        "log of pod {0}; deleting that pod creates a new one",
                        failed->pod->meta.name)};
  }
  const bool all = status.ready == status.desired && status.desired > 0;
  if (all && status.phase == Phase::kRunning) return {true, kPodsReady, "all pods are ready"};
  std::string why = cannot_start(attempt);
  if (why.empty()) why = describe_overdue_pod(round);
  return {false, kPodsNotReady,
          why.empty() ? "not all pods are ready" : "not all pods are ready: " + why};
}

void apply(const Observed& seen, job::Status& status, std::string_view type, Finding finding) {
  set_condition(seen, status, type, finding.is_true, finding.reason, std::move(finding.message));
}

// A requeued gang also has nothing left to create. Its coordinator, which comes last, shows that
// all of it could be created; for a later gang, all of its pods do.
bool creation_still_fails(const Attempt& attempt, const job::Status& status) {
  if (!status.requeued_gangs.empty()) return true;
  return status.phase == Phase::kCreated && has_failed_creation(status) &&
         !is_true(status, kSuspended) && find_coordinator(attempt) == nullptr;
}

void set_pods_created(const Round& round, bool nothing_to_create, job::Status& status) {
  const auto named = job::check_job_name(round.seen.job);
  if (!named) {
    set_condition(round.seen, status, kPodsCreated, false, kInvalidName, named.error().message);
  } else if (nothing_to_create && is_false(status, kPodsCreated) &&
             !creation_still_fails(round.attempt, status)) {
    set_condition(round.seen, status, kPodsCreated, true, kSuccessfulCreate,
                  "all objects of planned pods were created");
  }
}

void set_requests_lost(const Observed& seen, job::Status& status) {
  const auto* known = find_condition(status, kRequestsLost);
  const bool is_behind = is_behind_status(seen.job);
  if (known == nullptr && is_behind) {
    set_condition(seen, status, kRequestsLost, true, kRequestsLost,
                  "spec.requests, written by nervex-server, was deleted: requested replicas are "
                  "kept until the attempt ends");
  } else if (known != nullptr && !known->status && !is_behind) {
    remove_condition(status, kRequestsLost);
  }
}

// A job never reuses ordinals, so that a name never stands for two replicas: this condition is
// permanent.
void set_ordinals_nearly_exhausted(const Observed& seen, job::Status& status) {
  constexpr int kAll = job::kFirstContinuedOrdinal - job::kFirstRequestedOrdinal;
  constexpr int kPercent = 80;
  const auto is_near = [](int next) {
    return (next - job::kFirstRequestedOrdinal) * 100 >= kAll * kPercent;
  };
  const bool collectors = is_near(status.next_collector);
  if (!collectors && !is_near(status.next_learner)) return;
  // No numbers: they would cause a write with every request.
  set_condition(
      seen, status, kOrdinalsNearlyExhausted, true, kOrdinalsNearlyExhausted,
      fmt::format(
          "at least {} % of the {} {}s that one job can request in its life were requested: when "
          "all were, the replicas API answers 409. Let another job take over before that",
          kPercent, kAll, to_string(collectors ? job::Role::kCollector : job::Role::kLearner)));
}

// Constraints of a template that the planner does not know. The scheduler refuses a plan that
// violates them, so the job starts whole or not yet.
void set_best_effort(const Round& round, job::Status& status) {
  std::string what;
  const auto look_at = [&](job::Role role, const Json& pod_template) {
    const std::string_view name = to_string(role);
    const std::string field = job::left_to_scheduler(pod_template, round.job.meta, name);
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
    remove_condition(status, kPlacementBestEffort);
    return;
  }
  set_condition(
      round.seen, status, kPlacementBestEffort, true, kLeftToScheduler,
      what +
          ": not considered by the planner, only checked by kube-scheduler; a start may take "
          "several plans, and may never succeed if only certain combinations of nodes are valid");
}

// The API server refused an earlier attempt, and this one has no placement yet: a dry run shows
// whether it would be refused again (pod_dry_run.h). The condition stays: the back-off and the
// deadlines depend on it.
bool waits_after_refusal(const Round& round, const job::Status& status) {
  return waits_for_capacity(round) && has_failed_creation(status) &&
         find_condition(status, kPodsCreated)->last_transition < round.attempt.group->meta.created;
}

// The most useful word: what a user has to fix comes first.
std::string summarize_reason(const Round& round, const job::Status& status) {
  if (is_true(status, kSuspended)) return std::string(kSuspended);
  if (is_false(status, kPodsCreated) && !waits_after_refusal(round, status)) {
    return find_condition(status, kPodsCreated)->reason;
  }
  if (is_true(status, kRequestsLost)) return std::string(kRequestsLost);
  if (waits_for_config(round)) {
    return std::string(kAggregatorMissing);
  }
  if (is_true(status, kPodsRefused)) return std::string(kPodsRefused);
  if (status.phase == Phase::kRunning) {
    const auto* requests = find_condition(status, kRequestsScheduled);
    const bool some_wait = requests != nullptr && !requests->status && requests->reason != kQueued;
    const auto* scheduled = find_condition(status, kScheduled);
    // It runs in part: the message says what is missing.
    if (scheduled != nullptr && !scheduled->status && scheduled->reason != kQueued) {
      return std::string(gang::kReasonHealing);
    }
    return std::string(some_wait ? kRequestsUnschedulable : kRunning);
  }
  if (is_false(status, kScheduled)) return find_condition(status, kScheduled)->reason;
  return std::string(kStarting);
}

}  // namespace

void set_conditions(const Round& round, bool nothing_to_create, job::Status& status) {
  apply(round.seen, status, kScheduled, check_scheduled(round));
  if (auto finding = check_requests_scheduled(round)) {
    apply(round.seen, status, kRequestsScheduled, *std::move(finding));
  }
  if (auto finding = check_aggregator_missing(round)) {
    apply(round.seen, status, kAggregatorMissing, *std::move(finding));
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
  apply(round.seen, status, kReady, ready(round, status));
  status.reason = summarize_reason(round, status);
}

void set_final_conditions(const Observed& seen, const AttemptResult& result, job::Status& status) {
  const bool is_good = status.phase == Phase::kSucceeded;
  const std::string_view reason = is_good ? kJobSucceeded : kJobFailed;
  set_condition(seen, status, kRunning, false, reason, result.message);
  // kstatus: a completed job is as ready as it can be; a failed one must not be waited for.
  set_condition(seen, status, kReady, is_good, reason,
                is_good ? "the job succeeded" : "the job failed");
  if (!is_good) set_condition(seen, status, kStalled, true, reason, result.message);
  if (is_true(status, kRequeued)) set_condition(seen, status, kRequeued, false, reason, "");
  // A waiting request no longer waits.
  if (is_false(status, kRequestsScheduled)) {
    set_condition(seen, status, kRequestsScheduled, false, reason, "the job has ended");
  }
  set_condition(seen, status, is_good ? kSucceeded : kFailed, true, reason, result.message);
  set_condition(seen, status, kFinished, true, reason, result.message);
  status.reason = result.reason;
}

}  // namespace nervex::controller
