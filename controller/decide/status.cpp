#include "controller/decide/status.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "controller/decide/activity.h"
#include "controller/decide/attempt.h"
#include "controller/decide/attempt_transition.h"
#include "controller/decide/conditions.h"
#include "controller/decide/created_pods.h"
#include "controller/decide/creation_failures.h"
#include "controller/decide/limits.h"
#include "controller/decide/pod_dry_run.h"
#include "controller/decide/replacement.h"
#include "job/names.h"

namespace nervex::controller {

namespace {

using job::Phase;
using job::PodState;
using job::Role;

constexpr int kNamingVersion = 1;  // of job/names.h

// For a tool that scales the collectors: what a HorizontalPodAutoscaler counts.
std::string collector_selector(const job::Job& job) {
  return fmt::format("{}={},{}={},{}={}", job::kGroupLabel, job::kGroupLabelValue, job::kJobLabel,
                     job.meta.name, job::kRoleLabel, to_string(Role::kCollector));
}

// More ends than these are counted, but no longer listed one by one if nobody can ask for them.
constexpr std::size_t kManyEnded = 1'000;

job::RoleCounts& counts_of_worker(job::Status& status, Role role) {
  if (role == Role::kAggregator) return status.aggregator;  // a multi-GPU learner's
  return role == Role::kCollector ? status.collector : status.learner;
}

// The ends that the status counts and no longer names.
job::RoleCounts forgotten(const job::Status& before, Role role) {
  job::Status named;
  for (const auto& of : before.ended) {
    job::RoleCounts& counts = counts_of_worker(named, of.role);
    ++(of.succeeded ? counts.succeeded : counts.failed);
  }
  job::Status stored = before;
  const job::RoleCounts& counted = counts_of_worker(stored, role);
  const job::RoleCounts& listed = counts_of_worker(named, role);
  return {0, std::max(0, counted.succeeded - listed.succeeded),
          std::max(0, counted.failed - listed.failed)};
}

// A client that replaces crashed replicas for weeks must not let the job grow out of what the API
// server stores. Goes without: an end of a slot that is not wanted in that incarnation any more,
// nor will be, and whose pod is gone, so that nothing counts it again. (But for a new leader's old
// cache: then one is counted twice.) The few aggregators stay, whose counts are not only of these.
void forget_many(const Round& round, job::Status& status) {
  if (status.ended.size() <= kManyEnded || round.requests_lost) return;
  std::set<std::pair<Role, job::Slot>> pods;
  for (const auto& of : round.attempt.pods) pods.emplace(of.role, of.slot);
  std::erase_if(status.ended, [&](const job::Status::Ended& of) {
    if (of.role == Role::kAggregator || pods.count({of.role, of.slot}) != 0) return false;
    const WantedSlot* now = round.slots.find(of.role, of.slot.ordinal);
    if (now != nullptr) return now->slot.incarnation > of.slot.incarnation;
    // The base replicas may be raised again: what they had is kept until something else says so.
    return of.slot.ordinal >= job::kFirstRequestedOrdinal ||
           job::current_slot(round.job, of.role, of.slot).incarnation > of.slot.incarnation;
  });
}

// `before`: the status as it is stored.
void set_counts(const job::Status& before, const Attempt& attempt, job::Status& status) {
  std::vector<const kube::Pod*> pods;
  for (const auto& of : attempt.pods) pods.push_back(of.pod);
  const job::Counts counts = job::count(pods);
  status.coordinator = counts.coordinator;
  status.aggregator = {counts.aggregator.active, 0, 0};
  for (const auto& of : attempt.pods) {  // the job's own one is counted as long as its pod is there
    if (of.role != Role::kAggregator || of.slot.ordinal != 0) continue;
    status.aggregator.succeeded += of.state == PodState::kSucceeded ? 1 : 0;
    status.aggregator.failed += of.state == PodState::kFailed ? 1 : 0;
  }
  status.collector = forgotten(before, Role::kCollector);
  status.collector.active = counts.collector.active;
  status.learner = forgotten(before, Role::kLearner);
  status.learner.active = counts.learner.active;
  for (const auto& ended : status.ended) {
    job::RoleCounts& of_role = counts_of_worker(status, ended.role);
    ++(ended.succeeded ? of_role.succeeded : of_role.failed);
  }
  status.ready = counts.ready;
}

// Pods that are wanted and go on, will, or would if a name were left. While requests are lost their
// pods go on all the same.
int desired_pods(const Round& round) {
  const WantedSlots& slots = round.slots;
  const auto goes_on = [](const WantedSlot& slot) { return !slot.is_over; };
  std::ptrdiff_t wanted = std::count_if(slots.all().begin(), slots.all().end(), goes_on);
  for (const auto& replica : exhausted_replicas(round.job)) wanted += std::ssize(pods_of(replica));
  if (round.attempt.group == nullptr || !round.requests_lost) return static_cast<int>(wanted);
  for (const auto& set : round.attempt.group->spec.members) {
    wanted += std::count_if(set.slots.begin(), set.slots.end(), [&](const gang::SlotId slot) {
      const auto role = job::parse_role(set.role);
      return role && slots.find(*role, slot.ordinal) == nullptr;
    });
  }
  return static_cast<int>(wanted);
}

// What the contract says of the counts of a job that has succeeded.
void count_active_as_succeeded(job::Status& status) {
  for (auto* counts :
       {&status.coordinator, &status.aggregator, &status.collector, &status.learner}) {
    counts->succeeded += std::exchange(counts->active, 0);
  }
}

// A failed job's pods that still run are deleted next, and the status is not written again: what it
// counts must be right then. Those that the user keeps go on.
void forget_active(const Observed& seen, job::Status& status) {
  if (seen.job.spec.clean_pod_policy == job::CleanPodPolicy::kNone) return;
  for (auto* counts :
       {&status.coordinator, &status.aggregator, &status.collector, &status.learner}) {
    counts->active = 0;
  }
}

// What every status says, whatever the job does.
void set_facts(const Round& round, job::Status& status) {
  const job::Requests& requests = round.seen.job.spec.requests;
  status.observed_generation = round.seen.job.meta.generation;
  status.naming_version = std::max(status.naming_version, kNamingVersion);
  status.services = round.job.status.services;
  status.max_reservation_seconds = round.job.status.max_reservation_seconds;
  status.selector = collector_selector(round.seen.job);
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
  status.queued_since = first_place_in_queue(seen.job.meta, seen.now);
  status.waiting_since = seen.job.meta.created == SysTime{} ? seen.now : seen.job.meta.created;
  if (seen.job.spec.suspend) {
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
  if (is_refusal_over(round)) status.next_attempt_time.reset();
  status.replaced = round.job.status.replaced;
  status.continued = round.job.status.continued;
  status.next_continued_collector = round.job.status.next_continued_collector;
  status.next_continued_learner = round.job.status.next_continued_learner;
  status.requeued_gangs = still_requeued(round);
  status.created_through = created_through(round);
  status.desired = round.seen.job.spec.suspend ? 0 : desired_pods(round);
  forget_many(round, status);
  set_conditions(round, nothing_to_create, status);
  report_replacement_limit(round, status);
  pass_over_wrong_clock(status, round.seen.now);  // once written it is passed over for good
  return status;
}

bool only_informs(const job::Status& before, const job::Status& after) {
  job::Status rest = after;  // but for what may wait
  rest.ready = before.ready;
  rest.coordinator.active = before.coordinator.active;
  rest.aggregator.active = before.aggregator.active;
  rest.collector.active = before.collector.active;
  rest.learner.active = before.learner.active;
  if (!is_worth_writing(before.created_through, after.created_through)) {
    rest.created_through = before.created_through;
  }
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

job::Status final_status(const Round& round, job::Status status, job::Phase phase,
                         const AttemptResult& verdict) {
  const bool never_ran = !verdict.coordinator_ran && !status.start_time;
  status.phase = phase;
  set_facts(round, status);
  end_activity(round, status);
  if (never_ran) status.start_time.reset();
  status.completion_time = whole_seconds(round.seen.now);
  status.next_attempt_time.reset();
  status.requeued_gangs.clear();
  status.created_through = {};
  status.ready = status.desired = 0;  // no pod is wanted any more
  if (phase == Phase::kSucceeded) {
    count_active_as_succeeded(status);
  } else {
    forget_active(round.seen, status);
  }
  if (verdict.outcome == AttemptOutcome::kFailure && verdict.coordinator_ran) {
    status.coordinator = {0, 0, 1};
  }
  set_final_conditions(round.seen, verdict, status);
  return status;
}

}  // namespace nervex::controller
