#include "controller/decide/reconcile.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "controller/decide/attempt/created_pods.h"
#include "controller/decide/attempt/creation_failures.h"
#include "controller/decide/attempt/limits.h"
#include "controller/decide/attempt/overdue_pods.h"
#include "controller/decide/attempt/pod_problems.h"
#include "controller/decide/attempt/previous_attempt.h"
#include "controller/decide/attempt/queueing.h"
#include "controller/decide/attempt/replacement.h"
#include "controller/decide/make_round.h"
#include "controller/decide/objects/cleanup.h"
#include "controller/decide/objects/pod_dry_run.h"
#include "controller/decide/objects/pod_group.h"
#include "controller/decide/objects/pods.h"
#include "controller/decide/reasons.h"
#include "controller/decide/round/condition.h"
#include "controller/decide/status/status.h"

namespace nervex::controller {

namespace {

using job::Phase;

bool is_write(const Action& action) { return !std::holds_alternative<RecordEvent>(action); }

std::size_t count_base_pods(const Attempt& attempt) {
  if (attempt.group == nullptr) return 0;
  const gang::Gang* base = gang::find_gang(attempt.group->spec, gang::kBaseGang);
  if (base == nullptr) return 0;
  std::size_t pods = 0;
  for (const gang::MemberSet& set : base->members) pods += set.slots.size();
  return pods;
}

// Events report changes, so they come with the write that makes them. A normal start has one.
void add_events(const Round& round, const job::Status& status, Actions& actions) {
  static const job::Status kNone;
  const job::Status& before = round.seen.has_status ? round.seen.job.status : kNone;
  if (!round.seen.has_status && status.phase == Phase::kCreated && !is_on_its_way(status)) {
    actions.push_back(normal_event(kJobCreated, "the job is queued"));
  }
  if (status.phase == Phase::kRunning && before.phase != Phase::kRunning) {
    actions.push_back(
        normal_event(kJobRunning, fmt::format("started {} pods of gang {}",
                                              count_base_pods(round.attempt), gang::kBaseGang)));
  }
  if (is_true(status, kRequestsLost) && !is_true(before, kRequestsLost)) {
    actions.push_back(warning_event(kRequestsLost, find_condition(status, kRequestsLost)->message));
  }
  if (is_true(status, kPodsRefused) && !is_true(before, kPodsRefused)) {
    actions.push_back(warning_event(kPodsRefused, find_condition(status, kPodsRefused)->message));
  }
  if (is_true(status, kPerPodServices) && !is_true(before, kPerPodServices)) {
    const auto* condition = find_condition(status, kPerPodServices);
    actions.push_back(warning_event(condition->reason, condition->message));
  }
}

// Completes `status` of an attempt without objects, so that one write says everything.
job::Status complete(const Observed& seen, job::Status status) {
  Observed after = seen;
  after.job.status = std::move(status);
  after.pods.clear();
  after.pod_groups.clear();
  after.coordinator_is_gone = after.pod_group_is_gone = false;
  return next_status(make_round(after), false);
}

// -- policies of a job that continues: each reads the round and returns actions, or none

using Policy = Actions (*)(const Round& round);

Actions change_attempt(const Round& round) {
  auto transition = find_transition(round);
  return transition ? write_transition(round, *std::move(transition)) : Actions{};
}

// Status writes that begin or end something. The first one is the round's only action: the rest
// follows when it has been observed.
constexpr std::array<Policy, 2> kTransitions{change_attempt, requeue_released_gang};

Actions create_objects(const Round& round) {
  if (!may_begin(round.seen)) return {};
  Actions actions = group_steps(round);
  append(pod_steps(round, !actions.empty()), actions);
  return actions;
}

// Deletes what blocks new objects first.
constexpr std::array<Policy, 3> kObjectPolicies{
    [](const Round& round) { return delete_stuck_pods(round.seen); }, delete_stale_objects,
    create_objects};

bool has_news(const Observed& seen, const job::Status& after) {
  const job::Status& before = seen.job.status;
  if (!seen.has_status || is_worth_writing(before.created_through, after.created_through))
    return true;
  job::Status same = after;
  same.created_through = before.created_through;
  return same != before;
}

// The status after this round, and its events.
Actions update_status(const Round& round, bool nothing_to_create) {
  job::Status status = next_status(round, nothing_to_create);
  Actions actions;
  add_events(round, status, actions);
  append(lost_events(round.losses), actions);
  if (has_news(round.seen, status))
    actions.insert(actions.begin(), UpdateStatus{std::move(status)});
  return actions;
}

Actions release_pods(const Observed& seen) {
  std::vector<Target> targets = pods_to_release(seen);
  return targets.empty() ? Actions{} : Actions{ReleasePods{std::move(targets)}};
}

// -- when does time alone change what these policies answer?

using Delay = std::optional<std::chrono::milliseconds>;
using Timer = Delay (*)(const Round& round);

constexpr std::array<Timer, 9> kTimers{
    time_until_limit,
    time_until_late,
    time_until_reservation_ends,
    time_until_requeue,
    time_until_in_the_way,
    time_until_overdue,
    time_until_dry_run,
    time_until_pod_limit,
    [](const Round& round) { return Delay(round.losses.look_again); }};

Delay time_until_next_round(const Round& round) {
  Delay soonest;
  for (const Timer timer : kTimers) {
    const Delay delay = timer(round);
    if (delay && (!soonest || *delay < *soonest)) soonest = delay;
  }
  return soonest;
}

// -- what happens to a job in each part of its life?

// The status comes first: it records what has ended before anything is done about the rest.
Decision continue_job(const Round& round) {
  for (const Policy transition : kTransitions) {
    if (Actions actions = transition(round); !actions.empty()) {
      return {std::move(actions), std::nullopt, true};
    }
  }
  Actions steps;
  for (const Policy policy : kObjectPolicies) append(policy(round), steps);
  const bool nothing_to_create = (round.attempt.group != nullptr || !may_begin(round.seen)) &&
                                 std::none_of(steps.begin(), steps.end(), is_write);
  Actions actions = update_status(round, nothing_to_create);
  append(release_pods(round.seen), actions);
  append(std::move(steps), actions);
  append(dry_run_steps(round), actions);
  return {std::move(actions), time_until_next_round(round)};
}

// First what remains of the job's objects: then its own deletion does not wait.
Decision clean_up_ended_job(const Observed& seen) {
  // The spec was changed later, which only affects the time to live. Report it as observed, because
  // kstatus takes a status of an older generation for work in progress.
  if (seen.job.status.observed_generation < seen.job.meta.generation) {
    job::Status status = seen.job.status;
    status.observed_generation = seen.job.meta.generation;
    return {{UpdateStatus{std::move(status)}}, std::nullopt, true};
  }
  Actions actions = clean_up(seen);
  if (!actions.empty()) return {std::move(actions), std::nullopt};
  const auto end = time_to_delete(seen.job);
  if (end && *end <= seen.now) return {{DeleteJob{}}, std::nullopt};
  auto next = next_clean_up(seen);
  if (end && (!next || *end < *next)) next = end;
  return {{}, next ? std::optional(*next - seen.now) : std::nullopt};
}

// No more objects are created, and its status stays. The garbage collector deletes its objects only
// after the job itself, which a finalizer may delay.
Decision clean_up_deleted_job(const Observed& seen) {
  Actions actions = release_pods(seen);
  append(delete_stuck_pods(seen), actions);
  append(clean_up_deleted(seen), actions);
  return {std::move(actions), std::nullopt};
}

}  // namespace

Decision reconcile(const Round& round) {
  const Observed& seen = round.seen;
  if (seen.job.meta.deleting) return clean_up_deleted_job(seen);
  if (is_final(seen.job.status.phase)) return clean_up_ended_job(seen);
  return continue_job(round);
}

Decision reconcile(const Observed& seen) {
  if (seen.job.status.phase != Phase::kNone) return reconcile(make_round(seen));
  Observed begun = seen;
  begin_job(begun);
  return reconcile(make_round(begun));
}

void begin_job(Observed& seen) {
  seen.has_status = false;
  seen.job.status = complete(seen, first_status(seen));
}

Actions write_transition(const Round& round, AttemptTransition transition) {
  const bool ends_unstarted = transition.has_not_started;
  job::Status status = transition.final_result ? final_status(round, *transition.final_result,
                                                              std::move(transition.status))
                                               : complete(round.seen, std::move(transition.status));
  return {UpdateStatus{std::move(status), ends_unstarted}, std::move(transition.event)};
}

}  // namespace nervex::controller
