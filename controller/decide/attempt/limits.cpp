#include "controller/decide/attempt/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "controller/decide/attempt/activity.h"
#include "controller/decide/attempt/pod_problems.h"
#include "controller/decide/attempt/queueing.h"
#include "controller/decide/reasons.h"
#include "controller/decide/round/condition.h"

namespace nervex::controller {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Far beyond any use, and small enough that sums of times do not overflow.
constexpr std::int64_t kLongest = 100LL * 366 * 24 * 3600;

SysTime after(SysTime from, std::int64_t count) {
  return from + seconds(std::min(count, kLongest));
}

// How long the job may be active: by its own activeDeadlineSeconds, or by the maxRuntimeSeconds of
// the queue that it started in.
struct ActiveLimit {
  std::int64_t seconds = 0;
  const gang::QueuePlace* queue = nullptr;  // nullptr: the job's own limit
};

// The shorter one. nullopt: none.
std::optional<ActiveLimit> active_limit(const Round& round) {
  std::optional<ActiveLimit> limit;
  if (const auto& own = round.seen.job.spec.active_deadline_seconds) limit = {*own};
  if (round.attempt.group == nullptr) return limit;
  const gang::QueuePlace& queue = round.attempt.group->status.queue;
  const auto& of_queue = queue.max_runtime_seconds;
  if (of_queue && (!limit || *of_queue < limit->seconds)) limit = {*of_queue, &queue};
  return limit;
}

std::string describe(const ActiveLimit& limit) {
  if (limit.queue == nullptr) {
    return fmt::format("the job was active for longer than its activeDeadlineSeconds ({} s)",
                       limit.seconds);
  }
  return fmt::format("the job was active for longer than queue {} allows (maxRuntimeSeconds, {} s)",
                     limit.queue->name, limit.seconds);
}

// From when the base gang keeps its nodes from others, which is before its first pod is bound: they
// count on it that the job ends in time (queue::latest_end()).
std::optional<SysTime> counted_since(const Round& round) {
  const auto since = active_since(round);
  if (round.attempt.group == nullptr) return since;
  const auto* base = gang::find_gang(round.attempt.group->status, gang::kBaseGang);
  if (base == nullptr || !base->committed || !base->started_at) return since;
  return whole_seconds(
      std::min({*base->started_at, since.value_or(*base->started_at), round.seen.now}));
}

// Of a job that waits there is none: its time does not go on. nullopt, too, without a limit.
std::optional<SysTime> active_deadline(const Round& round) {
  const auto limit = active_limit(round);
  if (!limit) return std::nullopt;
  const std::int64_t left = limit->seconds - round.seen.job.status.active_seconds;
  if (left <= 0) return round.seen.now;
  const auto since = counted_since(round);
  return since ? std::optional(after(*since, left)) : std::nullopt;
}

// startTimeoutSeconds of the job, or the controller's; nullopt: no limit.
std::optional<std::int64_t> start_timeout(const Observed& seen) {
  if (seen.job.spec.start_timeout_seconds) return seen.job.spec.start_timeout_seconds;
  const auto by_default = std::chrono::ceil<seconds>(seen.start_timeout).count();
  return by_default > 0 ? std::optional<std::int64_t>(by_default) : std::nullopt;
}

// Not of a gang that has started.
std::optional<SysTime> start_deadline(const Round& round) {
  const auto timeout = start_timeout(round.seen);
  if (!timeout) return std::nullopt;
  const auto since = active_since(round);
  if (!since || has_gang_started(round)) return std::nullopt;
  return after(*since, *timeout);
}

// The coordinator is bound after all others. A pod that is lost later is healed: the attempt does
// not wait for capacity again.
bool was_base_gang_bound(const Attempt& attempt) {
  return std::any_of(attempt.pods.begin(), attempt.pods.end(), [](const AttemptPod& member) {
    return member.role == job::Role::kCoordinator && !member.pod->node.empty();
  });
}

std::optional<SysTime> schedule_deadline(const Round& round) {
  const job::Status& status = round.seen.job.status;
  if (!round.seen.job.spec.schedule_timeout_seconds || !status.waiting_since) return std::nullopt;
  if (status.phase == job::Phase::kRunning || was_base_gang_bound(round.attempt)) {
    return std::nullopt;
  }
  // A creation that fails is waited for in the queue; the back-off after a failure is not.
  const SysTime from =
      has_failed_creation(status)
          ? *status.waiting_since
          : std::max(*status.waiting_since, status.next_attempt_time.value_or(SysTime{}));
  return after(from, *round.seen.job.spec.schedule_timeout_seconds);
}

// A creation that fails comes first: it is why places that are there stay empty.
std::string why_it_waits(const job::Status& status) {
  const auto* created = find_condition(status, kPodsCreated);
  if (created != nullptr && !created->status) return created->message;
  const auto* scheduled = find_condition(status, kScheduled);
  return scheduled == nullptr || scheduled->status ? "not all of its pods are bound"
                                                   : scheduled->message;
}

bool reserves_capacity(const gang::MemberSet& set) {
  return set.reserved_pods > 0 || set.from_reserved.count > 0;
}

AttemptResult timed_out(std::string_view reason, std::string message) {
  AttemptResult result{AttemptOutcome::kTimedOut, reason, std::move(message), std::nullopt, ""};
  result.coordinator_ran = false;
  return result;
}

AttemptResult start_timed_out(const Round& round) {
  const NotStarted missing = not_started(round);
  const std::string why = cannot_start(round.attempt);
  const bool is_own = round.seen.job.spec.start_timeout_seconds.has_value();
  AttemptResult result;
  result.outcome = AttemptOutcome::kFailure;
  result.reason = kStartTimeout;
  result.message = fmt::format("{} of {} pods of the gang did not start within {} s ({}){}{}",
                               missing.slots, missing.of_slots, *start_timeout(round.seen),
                               is_own ? "startTimeoutSeconds" : "nervex-controller --start-timeout",
                               why.empty() ? "" : ": ", why);
  result.coordinator_ran = round.seen.job.status.phase == job::Phase::kRunning;
  result.has_not_started = true;
  return result;
}

}  // namespace

std::optional<AttemptResult> passed_limit(const Round& round) {
  const auto has_passed = [&](std::optional<SysTime> due) { return due && *due <= round.seen.now; };
  if (has_passed(active_deadline(round))) {
    return timed_out(kDeadlineExceeded, describe(*active_limit(round)));
  }
  if (has_passed(schedule_deadline(round))) {
    AttemptResult result = timed_out(
        kScheduleTimeout,
        fmt::format(
            "the job waited for capacity for longer than its scheduleTimeoutSeconds ({} s): {}",
            *round.seen.job.spec.schedule_timeout_seconds, why_it_waits(round.seen.job.status)));
    result.has_not_started = true;
    return result;
  }
  if (has_passed(start_deadline(round))) return start_timed_out(round);
  return std::nullopt;
}

std::optional<SysTime> deadline_after_end(const job::Job& job) {
  const auto since = job.status.active_since ? job.status.active_since : job.status.start_time;
  if (!job.spec.active_deadline_seconds || !since) return std::nullopt;
  return after(*since, *job.spec.active_deadline_seconds - job.status.active_seconds);
}

std::optional<milliseconds> time_until_limit(const Round& round) {
  if (is_suspended(round.seen.job)) return std::nullopt;
  std::optional<milliseconds> first;
  for (const auto& due : {active_deadline(round), schedule_deadline(round), start_deadline(round),
                          round.seen.job.status.next_attempt_time}) {
    if (!due || *due <= round.seen.now) continue;
    const milliseconds left = *due - round.seen.now;
    if (!first || left < *first) first = left;
  }
  return first;
}

bool has_reservation_ended(const Round& round) {
  const auto end = job::reserved_until(round.job);
  return end && *end <= round.seen.now;
}

std::optional<milliseconds> time_until_reservation_ends(const Round& round) {
  const auto end = job::reserved_until(round.job);
  if (!end || *end <= round.seen.now || round.attempt.group == nullptr) return std::nullopt;
  const auto sets = gang::all_sets(round.attempt.group->spec.gangs);
  if (std::none_of(sets.begin(), sets.end(), reserves_capacity)) return std::nullopt;
  return *end - round.seen.now;
}

std::optional<SysTime> time_to_delete(const job::Job& job) {
  if (!job.spec.ttl_seconds_after_finished || !job.status.completion_time) return std::nullopt;
  return after(*job.status.completion_time, *job.spec.ttl_seconds_after_finished);
}

}  // namespace nervex::controller
