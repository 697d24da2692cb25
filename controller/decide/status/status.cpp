#include "controller/decide/status/status.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "controller/decide/attempt/activity.h"
#include "controller/decide/attempt/created_pods.h"
#include "controller/decide/attempt/creation_failures.h"
#include "controller/decide/attempt/queueing.h"
#include "controller/decide/attempt/replacement.h"
#include "controller/decide/objects/pod_dry_run.h"
#include "controller/decide/reasons.h"
#include "controller/decide/round/condition.h"
#include "controller/decide/status/conditions.h"
#include "controller/decide/status/counts.h"
#include "job/names.h"

namespace nervex::controller {

namespace {

using job::Phase;
using job::Role;

constexpr int kNamingVersion = 1;  // of job/names.h

// Pods of an older version have no label for base replicas. They are not replaced for it: while one
// runs, all collectors are selected, as that version did.
bool has_unlabelled_base_collector(const Attempt& attempt) {
  return std::any_of(attempt.pods.begin(), attempt.pods.end(), [](const AttemptPod& member) {
    return is_base_collector(member) && !has_ended(member.state) &&
           kube::label(member.pod->meta, job::kBaseReplicaLabel).empty();
  });
}

// For a tool that scales the collectors: what a HorizontalPodAutoscaler measures.
std::string collector_selector(const Round& round) {
  std::string selector =
      fmt::format("{}={},{}={},{}={}", job::kGroupLabel, job::kGroupLabelValue, job::kJobLabel,
                  round.seen.job.meta.name, job::kRoleLabel, to_string(Role::kCollector));
  if (has_unlabelled_base_collector(round.attempt)) return selector;
  return fmt::format("{},{}={}", selector, job::kBaseReplicaLabel, job::kBaseReplicaLabelValue);
}

// Empty while the job has no PodGroup, and until the planner has decided on it.
job::QueuePlace queue_place(const Attempt& attempt) {
  if (attempt.group == nullptr) return {};
  const gang::QueuePlace& place = attempt.group->status.queue;
  return {place.name, place.position};
}

// What every status says.
void set_facts(const Round& round, job::Status& status) {
  const job::Requests& requests = round.seen.job.spec.requests;
  status.observed_generation = round.seen.job.meta.generation;
  status.naming_version = std::max(status.naming_version, kNamingVersion);
  status.services = round.job.status.services;
  status.max_reservation_seconds = round.job.status.max_reservation_seconds;
  status.selector = collector_selector(round);
  status.next_collector = std::max(status.next_collector, requests.next_collector);
  status.next_learner = std::max(status.next_learner, requests.next_learner);
  status.ended = round.job.status.ended;
  set_counts(round.seen.job.status, round.attempt, status);
  const bool has_run = status.phase != Phase::kCreated;
  if (has_run && !status.start_time) status.start_time = whole_seconds(round.seen.now);
}

}  // namespace

job::Status first_status(const Observed& seen) {
  job::Status status = seen.job.status;
  status.phase = Phase::kCreated;
  status.reason = kQueued;
  status.attempt = 1;
  status.observed_generation = seen.job.meta.generation;
  const gang::PodGroup* group = current_attempt(seen).group;
  const bool is_queued = group != nullptr && group->spec.queued_since != SysTime{};
  status.queued_since =
      is_queued ? group->spec.queued_since : first_place_in_queue(seen.job.meta, seen.now);
  status.services = seen.shared_services ? job::ServiceMode::kShared : job::ServiceMode::kPerPod;
  status.waiting_since = seen.job.meta.created == SysTime{} ? seen.now : seen.job.meta.created;
  // With a PodGroup the attempt has begun: it is suspended as that of any other job.
  if (seen.job.spec.suspend && group == nullptr) {
    set_condition(seen, status, kSuspended, true, kSuspended, "the job was created suspended");
  }
  set_condition(seen, status, kCreated, true, kJobCreated, "the job is queued");
  return status;
}

job::Status next_status(const Round& round, bool nothing_to_create) {
  job::Status status = round.seen.job.status;
  if (judge_attempt(round).outcome == AttemptOutcome::kRuns) status.phase = Phase::kRunning;
  set_facts(round, status);
  report_activity(round, status);
  status.queue = queue_place(round.attempt);
  if (is_refusal_over(round)) status.next_attempt_time.reset();
  status.replaced = round.job.status.replaced;
  status.returned_collector = round.job.status.returned_collector;
  status.returned_learner = round.job.status.returned_learner;
  status.continued = round.job.status.continued;
  status.next_continued_collector = round.job.status.next_continued_collector;
  status.next_continued_learner = round.job.status.next_continued_learner;
  status.requeued_gangs = still_requeued(round);
  status.created_through = created_through(round);
  status.desired = round.seen.job.spec.suspend ? 0 : desired_pods(round);
  forget_many_ended(round, status);
  set_conditions(round, nothing_to_create, status);
  report_replacement_limit(round, status);
  pass_over_wrong_clock(status, round.seen.now);  // once written it is passed over for good
  return status;
}

bool only_informs(const job::Status& before, const job::Status& after) {
  job::Status rest = after;  // without what may wait
  rest.ready = before.ready;
  rest.coordinator.active = before.coordinator.active;
  rest.aggregator.active = before.aggregator.active;
  rest.collector.active = before.collector.active;
  rest.learner.active = before.learner.active;
  rest.base_collectors = before.base_collectors;
  if (!is_worth_writing(before.created_through, after.created_through)) {
    rest.created_through = before.created_through;
  }
  rest.queue = before.queue;
  // The pods tell them again (activity.h).
  rest.active_since = before.active_since;
  rest.gang_started_time = before.gang_started_time;
  if (after.reason == kStarting) rest.reason = before.reason;
  for (auto& condition : rest.conditions) {
    const auto* known = find_condition(before, condition.type);
    if (known == nullptr) continue;
    const bool is_placed = condition.status && !known->status &&
                           (condition.type == kScheduled || condition.type == kRequestsScheduled);
    const bool is_same = condition.status == known->status && condition.reason == known->reason;
    if (is_placed || is_same) condition = *known;
  }
  return rest == before;
}

bool is_on_its_way(const job::Status& status) {
  return (status.reason == kQueued || status.reason == kStarting) &&
         !is_true(status, kPerPodServices);
}

bool may_be_delayed(const Observed& seen, const job::Status& after) {
  return only_informs(seen.job.status, after) && (seen.has_status || is_on_its_way(after));
}

job::Status final_status(const Round& round, const AttemptResult& result, job::Status status) {
  const bool never_ran = !result.coordinator_ran && !status.start_time;
  const bool is_good = result.outcome == AttemptOutcome::kSuccess;
  status.phase = is_good ? Phase::kSucceeded : Phase::kFailed;
  set_facts(round, status);
  end_activity(round, status);
  if (never_ran) status.start_time.reset();
  status.completion_time = whole_seconds(round.seen.now);
  status.next_attempt_time.reset();
  status.requeued_gangs.clear();
  status.created_through = {};
  status.queue.position = 0;
  status.ready = status.desired = 0;  // no pod is wanted any more
  if (is_good) {
    count_active_as_succeeded(status);
  } else {
    forget_active(round.seen, status);
  }
  if (result.outcome == AttemptOutcome::kFailure && result.coordinator_ran) {
    status.coordinator = {0, 0, 1};
  }
  set_final_conditions(round.seen, result, status);
  return status;
}

}  // namespace nervex::controller
