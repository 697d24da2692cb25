#include "controller/decide/attempt/queueing.h"

#include <algorithm>
#include <string>

#include "base/backoff.h"
#include "base/text.h"
#include "controller/decide/reasons.h"
#include "controller/decide/round/condition.h"
#include "job/names.h"
#include "job/pod_manifest.h"
#include "kube/model/json.h"

namespace nervex::controller {

bool is_suspended(const job::Job& job) {
  return job.spec.suspend || is_true(job.status, kSuspended);
}

bool is_backing_off(const Observed& seen) {
  const auto& next = seen.job.status.next_attempt_time;
  return next && *next > seen.now;
}

bool may_begin(const Observed& seen) {
  return !is_suspended(seen.job) && !is_backing_off(seen) && seen.predecessor.object.empty() &&
         job::check_job_name(seen.job).has_value();
}

bool follows_attempt(const job::Status& status) {
  return status.last_attempt && status.last_attempt->attempt == status.attempt - 1;
}

bool waits_for_priority_class(const Round& round) {
  return round.attempt.group == nullptr && !round.seen.priority.missing.empty();
}

namespace {

using std::chrono::milliseconds;

constexpr std::chrono::minutes kLongestDelay{6};

}  // namespace

std::optional<int> backoff_limit(const job::Spec& spec, std::string_view reason) {
  if (spec.backoff_limit) return spec.backoff_limit;
  if (reason == kCoordinatorRestarted) return std::nullopt;
  const Json* pod = kube::find(spec.coordinator_template, {"spec"});
  if (pod != nullptr && job::restarts_by_policy(*pod)) return std::nullopt;
  return 0;
}

bool may_retry(const job::Spec& spec, int failed_attempts, std::string_view reason) {
  const auto limit = backoff_limit(spec, reason);
  return !limit || failed_attempts <= *limit;
}

milliseconds retry_delay(milliseconds first, int failed_attempts) {
  return backoff_delay(first, failed_attempts - 1, kLongestDelay);
}

milliseconds at_most_longest(milliseconds delay) {
  return std::min<milliseconds>(delay, kLongestDelay);
}

void pass_over_wrong_clock(job::Status& status, SysTime now) {
  const SysTime latest = now + 2 * kLongestDelay;
  if (status.next_attempt_time && *status.next_attempt_time > latest) {
    status.next_attempt_time.reset();
  }
  for (auto& gang : status.requeued_gangs) {
    if (gang.requeue_at > latest) gang.requeue_at = now;
  }
}

SysTime place_in_queue(const job::Job& job, const gang::PodGroup* group) {
  if (job.status.queued_since) return *job.status.queued_since;
  // Queued by a version up to 0.2.
  if (group != nullptr && group->spec.queued_since != SysTime{}) return group->spec.queued_since;
  const auto* suspended = find_condition(job.status, kSuspended);
  return suspended != nullptr && !suspended->status ? suspended->last_transition : job.meta.created;
}

SysTime first_place_in_queue(const kube::Meta& meta, SysTime now) {
  using std::chrono::milliseconds;
  // Of the second of its creation 950 ms are for jobs seen within it, in the order seen.
  constexpr milliseconds kSecond{1'000};
  constexpr milliseconds kInTime{950};
  constexpr std::uint64_t kPlacesAfterThat = 50;
  if (meta.created == SysTime{}) return now;
  const milliseconds seen_after = now - meta.created;
  if (seen_after >= milliseconds::zero() && seen_after < kSecond) {
    return meta.created + seen_after * kInTime.count() / kSecond.count();
  }
  return meta.created + kInTime + milliseconds(fnv1a(meta.uid) % kPlacesAfterThat);
}

}  // namespace nervex::controller
