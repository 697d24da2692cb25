#include "server/grow.h"

#include <fmt/format.h>

#include "job/names.h"
#include "server/ordinals.h"
#include "server/units.h"

namespace nervex::server {
namespace {

using job::Role;

const std::optional<job::RoleSpec>& spec_of(const job::Job& job, Role role) {
  return role == Role::kCollector ? job.spec.collector : job.spec.learner;
}

int count_requested(const job::Requests& requests) {
  std::size_t slots = 0;
  for (const auto& entry : requests.entries) slots += entry.slots.size();
  return static_cast<int>(slots);
}

Result<Nothing> check_bounds(const JobView& view, const job::Requests& requests, Role role,
                             int more, const Limits& limits) {
  const auto& spec = spec_of(view.job, role);
  if (!spec || !spec->pod_template.is_object()) {
    return Error{Code::kInvalid,
                 fmt::format("{}s: the job has no {} template", to_string(role), to_string(role))};
  }
  const int now = static_cast<int>(living_units(view, role).size());
  if (spec->max_replicas && now + more > *spec->max_replicas) {
    return Error{Code::kConflict,
                 fmt::format("{}s: {} more would be {}, above maxReplicas {}", to_string(role),
                             more, now + more, *spec->max_replicas)};
  }
  if (count_requested(requests) + more > limits.replicas_per_job ||
      requests.entries.size() >= kMaxEntriesPerJob) {
    return Error{Code::kConflict, fmt::format("the job has as many requested replicas ({}) or "
                                              "requests ({}) as one can have",
                                              limits.replicas_per_job, kMaxEntriesPerJob)};
  }
  return ok();
}

// Adds the entry for one role to `growth`.
Result<Nothing> add_entry(const JobView& view, Role role, const Ask& ask, const Limits& limits,
                          Growth& growth) {
  const job::Job& job = view.job;
  job::Requests& requests = growth.requests;
  if (ask.replicas == 0) return ok();
  if (auto bounds = check_bounds(view, requests, role, ask.replicas, limits); !bounds) {
    return bounds;
  }
  const int first = next_ordinal(requests, role);
  if (first + ask.replicas - 1 > job::kMaxOrdinal) {
    return Error{Code::kConflict, fmt::format("{}s: all ordinals are used up", to_string(role))};
  }

  job::RequestEntry entry{requests.next_id++, job.status.attempt, role, ask.cpus,
                          ask.gpus,           ask.memory,         {},   {}};
  auto& urls = role == Role::kCollector ? growth.added.collectors : growth.added.learners;
  for (int i = 0; i < ask.replicas; ++i) {
    entry.slots.push_back({first + i, 0});
    urls.push_back(replica_address(job, role, job::pod_name(job, role, entry.slots.back())));
  }
  next_ordinal(requests, role) = first + ask.replicas;
  requests.entries.push_back(std::move(entry));
  growth.changes = true;
  return ok();
}

}  // namespace

Result<Growth> grow(const job::Job& job, std::span<const PodPtr> pods, const AddRequest& request,
                    const Limits& limits, const gang::PodGroup* group) {
  const JobView view{job, pods, group};
  Growth growth{sound_requests(view), {job.meta.ns, request.coordinator, {}, {}}, false};
  const auto collectors = add_entry(view, Role::kCollector, request.collectors, limits, growth);
  if (!collectors) return collectors.error();
  const auto learners = add_entry(view, Role::kLearner, request.learners, limits, growth);
  if (!learners) return learners.error();
  return growth;
}

}  // namespace nervex::server
