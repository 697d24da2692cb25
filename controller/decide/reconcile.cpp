#include "controller/decide/reconcile.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "controller/decide/attempt.h"
#include "controller/decide/attempt_transition.h"
#include "controller/decide/cleanup.h"
#include "controller/decide/conditions.h"
#include "controller/decide/created_pods.h"
#include "controller/decide/creation_failures.h"
#include "controller/decide/limits.h"
#include "controller/decide/pod_dry_run.h"
#include "controller/decide/pod_group.h"
#include "controller/decide/pods.h"
#include "controller/decide/previous_attempt.h"
#include "controller/decide/replacement.h"
#include "controller/decide/reserved_capacity.h"
#include "controller/decide/status.h"

namespace nervex::controller {

namespace {

using job::Phase;

bool is_write(const Action& action) { return !std::holds_alternative<RecordEvent>(action); }

using MaybeTime = std::optional<std::chrono::milliseconds>;

MaybeTime sooner(MaybeTime a, MaybeTime b) { return a && b ? std::min(*a, *b) : a ? a : b; }

// Events tell of changes, so they come with the write that makes them.
void add_events(const job::Status& before, const job::Status& status, Actions& actions) {
  if (status.phase == Phase::kRunning && before.phase != Phase::kRunning) {
    actions.push_back(normal_event(kJobRunning, "the coordinator runs"));
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

Decision begin(const Observed& seen) {
  Observed after = seen;
  after.job.status = first_status(seen);
  const job::Status status = next_status(Round(after), false);
  Actions actions = {UpdateStatus{status}, normal_event(kJobCreated, "the job is queued")};
  add_events(seen.job.status, status, actions);
  return {std::move(actions), std::nullopt, true};
}

Actions creation_steps(const Round& round) {
  if (!may_begin(round.seen)) return {};
  Actions steps = group_steps(round);
  const Actions pods = pod_steps(round, !steps.empty());
  steps.insert(steps.end(), pods.begin(), pods.end());
  return steps;
}

std::optional<std::chrono::milliseconds> next_look(const Round& round) {
  const auto limit = time_until_limit(round);
  const auto late = time_until_late(round);
  const auto hold = time_until_hold_ends(round);
  const auto held = sooner(time_until_requeue(round.seen), time_until_in_the_way(round));
  return sooner(sooner(sooner(limit, late), hold), sooner(held, time_until_dry_run(round)));
}

Actions release(const Observed& seen) {
  std::vector<Target> targets = pods_to_release(seen);
  return targets.empty() ? Actions{} : Actions{ReleasePods{std::move(targets)}};
}

bool has_news(const job::Status& before, const job::Status& after) {
  if (is_worth_writing(before.created_through, after.created_through)) return true;
  job::Status same = after;
  same.created_through = before.created_through;
  return same != before;
}

// The status comes first: it records what has ended before anything is done about the rest.
Decision go_on(const Round& round) {
  if (auto transition = transition_of(round)) {
    return {{UpdateStatus{std::move(transition->status)}, std::move(transition->event)},
            std::nullopt,
            true};
  }
  if (Actions requeued = requeue_gang_not_healed(round); !requeued.empty()) {
    return {std::move(requeued), std::nullopt, true};
  }
  const Observed& seen = round.seen;
  Actions steps = delete_stuck_pods(seen);
  const Actions stale = delete_stale_objects(round);
  steps.insert(steps.end(), stale.begin(), stale.end());
  const Actions creations = creation_steps(round);
  steps.insert(steps.end(), creations.begin(), creations.end());
  const bool nothing_to_create = (round.attempt.group != nullptr || !may_begin(seen)) &&
                                 std::none_of(steps.begin(), steps.end(), is_write);
  const job::Status status = next_status(round, nothing_to_create);

  Actions actions;
  if (has_news(seen.job.status, status)) actions.push_back(UpdateStatus{status});
  add_events(seen.job.status, status, actions);
  const Actions events = lost_events(round.losses);
  actions.insert(actions.end(), events.begin(), events.end());
  const Actions released = release(seen);
  actions.insert(actions.end(), released.begin(), released.end());
  actions.insert(actions.end(), steps.begin(), steps.end());
  const Actions dry_run = dry_run_steps(round);
  actions.insert(actions.end(), dry_run.begin(), dry_run.end());
  return {actions, sooner(next_look(round), round.losses.look_again)};
}

// What is left of the job's objects first: then its own deletion has nothing to wait for.
Decision wind_up(const Observed& seen) {
  // Somebody changed the spec since. What that comes to has been seen: nothing, or another time to
  // live. Said because kstatus takes a status of an older generation for work in progress.
  if (seen.job.status.observed_generation < seen.job.meta.generation) {
    job::Status status = seen.job.status;
    status.observed_generation = seen.job.meta.generation;
    return {{UpdateStatus{std::move(status)}}, std::nullopt, true};
  }
  Actions actions = clean_up(seen);
  const auto end = time_to_delete(seen.job);
  if (!actions.empty() || !end) return {std::move(actions), std::nullopt};
  if (*end > seen.now) return {{}, *end - seen.now};
  return {{DeleteJob{}}, std::nullopt};
}

// Nothing is made for it any more, and its status stays as it is. The garbage collector deletes
// what it owns only when the job itself is gone, which somebody's finalizer may keep from going.
Decision take_leave(const Observed& seen) {
  Actions actions = release(seen);
  for (Actions more : {delete_stuck_pods(seen), clean_up_deleted(seen)}) {
    actions.insert(actions.end(), std::make_move_iterator(more.begin()),
                   std::make_move_iterator(more.end()));
  }
  return {std::move(actions), std::nullopt};
}

}  // namespace

Decision reconcile(const Round& round) {
  const Observed& seen = round.seen;
  if (seen.job.meta.deleting) return take_leave(seen);
  if (is_final(seen.job.status.phase)) return wind_up(seen);
  if (seen.job.status.phase == Phase::kNone) return begin(seen);
  return go_on(round);
}

Decision reconcile(const Observed& seen) { return reconcile(Round(seen)); }

}  // namespace nervex::controller
