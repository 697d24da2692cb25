#include "controller/reconcile.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "controller/attempt.h"
#include "controller/cleanup.h"
#include "controller/conditions.h"
#include "controller/desired_pod_group.h"
#include "controller/pods.h"
#include "controller/reasons.h"
#include "controller/replacement.h"
#include "controller/status.h"

namespace nervex::controller {
namespace {

using job::Phase;

Decision begin(const Observed& seen) {
  Observed after = seen;
  after.job.status = first_status(seen);
  return {{UpdateStatus{next_status(after, current_attempt(after), {}, {}, false)},
           normal_event(kJobCreated, "the job has its place in the queue")},
          std::nullopt};
}

bool creates(const Action& action) {
  return std::holds_alternative<CreatePodGroup>(action) ||
         std::holds_alternative<CreateServices>(action) ||
         std::holds_alternative<CreatePods>(action);
}

using MaybeSeconds = std::optional<std::chrono::seconds>;

MaybeSeconds sooner(MaybeSeconds a, MaybeSeconds b) {
  return a && b ? std::min(*a, *b) : a ? a : b;
}

// Events tell of changes, so they come with the write that makes them.
void add_phase_event(Phase before, const job::Status& status, Actions& actions) {
  if (status.phase == before) return;
  if (status.phase == Phase::kRunning) {
    actions.push_back(normal_event(kJobRunning, "the coordinator runs"));
  }
  if (!is_final(status.phase)) return;
  const bool is_good = status.phase == Phase::kSucceeded;
  const std::string& message = find_condition(status, is_good ? kSucceeded : kFailed)->message;
  actions.push_back(is_good ? normal_event(kJobSucceeded, message)
                            : warning_event(kJobFailed, message));
}

// The status comes first: it records what has ended before anything is done about the rest.
Decision go_on(const Observed& seen) {
  const Attempt attempt = current_attempt(seen);
  const auto ended = ended_slots(seen.job.status, attempt);
  const Replacement lost = replace_lost(seen, attempt, ended);
  Observed known = seen;  // with what this round's status says of the slots
  known.job.status.ended = ended;
  known.job.status.replaced = lost.replaced;
  Actions steps = group_steps(known, attempt);
  const Actions pods = pod_steps(known, attempt);
  steps.insert(steps.end(), pods.begin(), pods.end());
  const bool nothing_to_create =
      attempt.group != nullptr && std::none_of(steps.begin(), steps.end(), creates);
  const job::Status status = next_status(seen, attempt, ended, lost.replaced, nothing_to_create);

  Actions actions;
  if (status != seen.job.status) actions.push_back(UpdateStatus{status});
  add_phase_event(seen.job.status.phase, status, actions);
  if (is_final(status.phase)) return {actions, std::nullopt};
  const Actions events = lost_events(lost);
  actions.insert(actions.end(), events.begin(), events.end());
  actions.insert(actions.end(), steps.begin(), steps.end());
  return {actions, sooner(time_until_late(seen, attempt), lost.look_again)};
}

}  // namespace

Decision reconcile(const Observed& seen) {
  if (seen.job.meta.deleting) return {};
  if (is_final(seen.job.status.phase)) return {clean_up(seen), std::nullopt};
  if (seen.job.status.phase == Phase::kNone) return begin(seen);
  return go_on(seen);
}

}  // namespace nervex::controller
