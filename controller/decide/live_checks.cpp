#include "controller/decide/live_checks.h"

#include <algorithm>

#include "controller/decide/objects/cleanup.h"
#include "controller/decide/round/attempt.h"

namespace nervex::controller {
namespace {

// An answered call to nervex-server proves that the coordinator ran, even if no controller observed
// it and the phase does not say so. A job that was made from the manifest of another one may hold
// the calls of that one; they are older than its PodGroup.
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
                      [&](const auto& pod) { return is_coordinator(*pod, group); });
}

}  // namespace

LiveChecks live_checks(const Round& round) {
  LiveChecks checks;
  const Observed& seen = round.seen;
  const gang::PodGroup* group = round.attempt.group;
  if (!is_in_progress(seen.job.status) || seen.job.meta.deleting) return checks;
  if (is_under_way(seen.job, group)) {
    checks.pod_group = group == nullptr;
    checks.coordinator = group != nullptr && seems_gone(seen, *group);
  }
  checks.vanished = round.vanished;
  if (group != nullptr) {
    checks.released = std::any_of(
        group->status.gangs.begin(), group->status.gangs.end(),
        [&](const auto& gang) { return find_released_gang(round.attempt, gang.name) != nullptr; });
  }
  checks.stale_objects = !delete_stale_objects(round).empty();
  return checks;
}

}  // namespace nervex::controller
