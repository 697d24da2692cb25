#include "server/grow.h"

#include <fmt/format.h>

#include <algorithm>

#include "gang/slot.h"
#include "job/names.h"

namespace nervex::server {
namespace {

using job::Role;

const std::optional<job::RoleSpec>& spec_of(const job::Job& job, Role role) {
  return role == Role::kCollector ? job.spec.collector : job.spec.learner;
}

int& next_of(job::Requests& requests, Role role) {
  return role == Role::kCollector ? requests.next_collector : requests.next_learner;
}

// The first ordinal of `role` that nothing known has ever had.
int first_free_ordinal(const job::Job& job, std::span<const PodPtr> pods, job::Requests& requests,
                       Role role) {
  int next = std::max(next_of(requests, role), job::kFirstRequestedOrdinal);
  for (const auto& entry : job.spec.requests.entries) {
    if (entry.role != role) continue;
    for (const auto& slot : entry.slots) next = std::max(next, slot.ordinal + 1);
  }
  for (const auto& ended : job.status.ended) {
    if (ended.role == role) next = std::max(next, ended.slot.ordinal + 1);
  }
  for (const auto& pod : pods) {
    const auto slot = gang::slot_of(*pod);
    if (slot && slot->role == to_string(role)) next = std::max(next, slot->slot.ordinal + 1);
  }
  return next;
}

int requested(const job::Requests& requests, std::optional<Role> role) {
  std::size_t slots = 0;
  for (const auto& entry : requests.entries) {
    if (!role || entry.role == *role) slots += entry.slots.size();
  }
  return static_cast<int>(slots);
}

// Floor pods that are still wanted, and everything requested in this attempt.
int wanted(const job::Job& job, const job::Requests& requests, Role role) {
  const auto removed = std::count_if(
      requests.floor.begin(), requests.floor.end(),
      [&](const job::FloorChange& change) { return change.role == role && change.removed; });
  const int floor = spec_of(job, role)->replicas - static_cast<int>(removed);
  return std::max(floor, 0) + requested(requests, role);
}

Result<Nothing> check_bounds(const job::Job& job, const job::Requests& requests, Role role,
                             int more) {
  const auto& spec = spec_of(job, role);
  if (!spec || !spec->pod_template.is_object()) {
    return Error{Code::kInvalid,
                 fmt::format("{}s: the job has no {} template", to_string(role), to_string(role))};
  }
  const int now = wanted(job, requests, role);
  if (spec->max_replicas && now + more > *spec->max_replicas) {
    return Error{Code::kConflict,
                 fmt::format("{}s: {} more would be {}, above maxReplicas {}", to_string(role),
                             more, now + more, *spec->max_replicas)};
  }
  if (requested(requests, std::nullopt) + more > kMaxRequestedPerJob ||
      requests.entries.size() >= kMaxEntriesPerJob) {
    return Error{Code::kConflict, fmt::format("the job has as many requested replicas ({}) or "
                                              "requests ({}) as one can have",
                                              kMaxRequestedPerJob, kMaxEntriesPerJob)};
  }
  return ok();
}

// Adds the entry for one role to `growth`.
Result<Nothing> add_entry(const job::Job& job, std::span<const PodPtr> pods, Role role,
                          const Ask& ask, Growth& growth) {
  job::Requests& requests = growth.requests;
  if (ask.replicas == 0) return ok();
  if (auto bounds = check_bounds(job, requests, role, ask.replicas); !bounds) return bounds;
  const int first = first_free_ordinal(job, pods, requests, role);
  if (first + ask.replicas - 1 > job::kMaxOrdinal) {
    return Error{Code::kConflict, fmt::format("{}s: all ordinals are used up", to_string(role))};
  }

  job::RequestEntry entry{
      requests.next_id++, job.status.attempt, role, ask.cpus, ask.gpus, ask.memory, {}, {}, {}};
  auto& urls = role == Role::kCollector ? growth.added.collectors : growth.added.learners;
  for (int i = 0; i < ask.replicas; ++i) {
    entry.slots.push_back({first + i, 0});
    urls.push_back(replica_address(job, role, job::pod_name(job, role, entry.slots.back())));
  }
  next_of(requests, role) = first + ask.replicas;
  requests.entries.push_back(std::move(entry));
  growth.changes = true;
  return ok();
}

}  // namespace

Result<Growth> grow(const job::Job& job, std::span<const PodPtr> pods, const AddRequest& request) {
  Growth growth{job.spec.requests, {job.meta.ns, request.coordinator, {}, {}}, false};
  job::Requests& requests = growth.requests;
  for (const auto& entry : requests.entries) {
    requests.next_id = std::max(requests.next_id, entry.id + 1);
  }
  std::erase_if(requests.entries,
                [&](const job::RequestEntry& entry) { return entry.attempt < job.status.attempt; });
  const auto collectors = add_entry(job, pods, Role::kCollector, request.collectors, growth);
  if (!collectors) return collectors.error();
  const auto learners = add_entry(job, pods, Role::kLearner, request.learners, growth);
  if (!learners) return learners.error();
  return growth;
}

}  // namespace nervex::server
