#include "controller/decide/round.h"

#include <algorithm>

#include "controller/decide/cleanup.h"
#include "controller/decide/created_pods.h"
#include "controller/decide/creation_failures.h"
#include "controller/decide/services.h"
#include "job/counts.h"

namespace nervex::controller {
namespace {

bool goes_on(const job::Status& status) {
  return status.phase != job::Phase::kNone && !is_final(status.phase);
}

}  // namespace

Round::Round(const Observed& observed) : Round(observed, current_attempt(observed)) {}

Round::Round(const Observed& observed, Attempt of)
    : seen(observed),
      attempt(std::move(of)),
      job(seen.job),
      requests_lost(controller::requests_lost(job)),
      slots(job, attempt.has_aggregator) {
  job.status.services = service_mode(seen, attempt);
  job.status.max_reservation_seconds = job.spec.reservation_seconds > seen.max_reservation_seconds
                                           ? std::optional(seen.max_reservation_seconds)
                                           : std::nullopt;
  losses.replaced = job.status.replaced;
  if (attempt.group == nullptr || !goes_on(job.status)) return;
  job.status.ended = ended_slots(seen.job.status, attempt);
  slots.mark_over(job.status.ended);
  backing_off = slots_backing_off(seen, attempt, slots);
  placements = all_placements(attempt.group->status);
  if (requests_lost) return;
  vanished = vanished_pods(*this);
  losses = replace_lost(*this);
  const bool has_news = losses.replaced != job.status.replaced;
  job.status.replaced = losses.replaced;
  if (!continue_exhausted(job) && !has_news) return;
  slots = WantedSlots(job, attempt.has_aggregator);
}

// -- what must be read live

namespace {

// The coordinator has had a call to nervex-server answered, which proves that it ran, even if the
// phase does not say so: nobody may have looked while it did. A job that was made from another
// one's manifest may hold that one's calls; they are older than its PodGroup.
bool has_called(const job::Job& job, const gang::PodGroup& group) {
  const auto& calls = job.spec.requests.calls;
  return std::any_of(calls.begin(), calls.end(), [&](const job::CallRecord& call) {
    return call.attempt == job.status.attempt && call.time > group.meta.created;
  });
}

// Its coordinator runs, or has run: another one in the same attempt would not know its workers.
bool is_under_way(const job::Job& job, const gang::PodGroup* group) {
  return job.status.phase == job::Phase::kRunning || (group != nullptr && has_called(job, *group));
}

bool seems_gone(const Observed& seen, const gang::PodGroup& group) {
  return std::none_of(seen.pods.begin(), seen.pods.end(),
                      [&](const auto& pod) { return is_coordinator_of(*pod, group); });
}

}  // namespace

bool is_coordinator_of(const kube::Pod& pod, const gang::PodGroup& group) {
  return job::role_of(pod) == job::Role::kCoordinator && is_of_group(pod, group);
}

LiveChecks live_checks(const Round& round) {
  LiveChecks checks;
  const Observed& seen = round.seen;
  const gang::PodGroup* group = round.attempt.group;
  if (!goes_on(seen.job.status) || seen.job.meta.deleting) return checks;
  if (is_under_way(seen.job, group)) {
    checks.pod_group = group == nullptr;
    checks.coordinator = group != nullptr && seems_gone(seen, *group);
  }
  checks.vanished = round.vanished;
  if (group != nullptr) {
    checks.given_up = std::any_of(
        group->status.gangs.begin(), group->status.gangs.end(),
        [&](const auto& gang) { return gang_given_up(round.attempt, gang.name) != nullptr; });
  }
  checks.stale_objects = !delete_stale_objects(round).empty();
  return checks;
}

}  // namespace nervex::controller
