#include "demand/run_limits.h"

#include <algorithm>
#include <cstdint>

#include "kube/model/json.h"

namespace nervex::demand {
namespace {

using job::Role;

constexpr std::int64_t kDefaultGraceSeconds = 30;  // PodSpec.terminationGracePeriodSeconds

std::int64_t longest_grace(const job::Job& job, const job::PodContext& context) {
  std::int64_t longest = 0;
  for (const Role role :
       {Role::kCoordinator, Role::kAggregator, Role::kCollector, Role::kLearner}) {
    const Json& pod = job::role_template(job, role, context);
    if (!pod.is_object()) continue;
    longest = std::max(longest, kube::int_at(pod, {"spec", "terminationGracePeriodSeconds"},
                                             kDefaultGraceSeconds));
  }
  return longest;
}

}  // namespace

void set_run_limits(const job::Job& job, const job::PodContext& context, gang::PodGroupSpec& spec) {
  spec.preemptible = job.spec.preemptible;
  spec.active_seconds = std::max<std::int64_t>(job.status.active_seconds, 0);
  spec.active_deadline_seconds.reset();
  if (const auto& limit = job.spec.active_deadline_seconds) {
    spec.active_deadline_seconds = std::max<std::int64_t>(*limit - spec.active_seconds, 0);
  }
  spec.grace_seconds.reset();
  if (job.spec.clean_pod_policy != job::CleanPodPolicy::kNone) {
    spec.grace_seconds = longest_grace(job, context);
  }
}

}  // namespace nervex::demand
