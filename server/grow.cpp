#include "server/grow.h"

#include <fmt/format.h>

#include <algorithm>

#include "gang/slot.h"
#include "job/names.h"
#include "job/pod_manifest.h"
#include "job/ports.h"
#include "server/gpu_split.h"

namespace nervex::server {
namespace {

using job::Role;

const std::optional<job::RoleSpec>& spec_of(const job::Job& job, Role role) {
  return role == Role::kCollector ? job.spec.collector : job.spec.learner;
}

int& next_of(job::Requests& requests, Role role) {
  return role == Role::kCollector ? requests.next_collector : requests.next_learner;
}

// The pods of multi-GPU learners have theirs from the learners (job/slots.h).
bool uses_ordinals_of(std::string_view pod_role, Role role) {
  return pod_role == to_string(role) ||
         (role == Role::kLearner &&
          (pod_role == to_string(Role::kDdpLearner) || pod_role == to_string(Role::kAggregator)));
}

// The first ordinal of `role` that nothing known has ever had.
int first_free_ordinal(const job::Job& job, std::span<const PodPtr> pods, job::Requests& requests,
                       Role role) {
  int next = std::max(next_of(requests, role), job::kFirstRequestedOrdinal);
  for (const auto& entry : job.spec.requests.entries) {
    if (entry.role != role) continue;
    for (const auto& slot : entry.slots) next = std::max(next, slot.ordinal + ordinals_of(entry));
  }
  for (const auto& ended : job.status.ended) {
    if (ended.role == role) next = std::max(next, ended.slot.ordinal + 1);
  }
  for (const auto& pod : pods) {
    const auto slot = gang::slot_of(*pod);
    if (slot && uses_ordinals_of(slot->role, role)) next = std::max(next, slot->slot.ordinal + 1);
  }
  return next;
}

int requested(const job::Requests& requests, Role role) {
  std::size_t slots = 0;
  for (const auto& entry : requests.entries) {
    if (entry.role == role) slots += entry.slots.size();
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

// Of one replica of the entry.
int pods_per_replica(const job::RequestEntry& entry) {
  return is_multi_gpu(entry) ? 1 + static_cast<int>(entry.gpu_split.size()) : 1;
}

std::int64_t pods_in(const job::Requests& requests) {
  std::int64_t pods = 0;
  for (const auto& entry : requests.entries) {
    pods += static_cast<std::int64_t>(entry.slots.size()) * pods_per_replica(entry);
  }
  return pods;
}

Result<Nothing> check_template(const job::Job& job, Role role) {
  const auto& spec = spec_of(job, role);
  if (spec && spec->pod_template.is_object()) return ok();
  return Error{Code::kInvalid,
               fmt::format("{}s: the job has no {} template", to_string(role), to_string(role))};
}

Result<Nothing> check_bounds(const job::Job& job, const job::Requests& requests,
                             const job::RequestEntry& entry, int more) {
  const Role role = entry.role;
  const auto& spec = spec_of(job, role);
  const int now = wanted(job, requests, role);
  if (spec->max_replicas && now + more > *spec->max_replicas) {
    return Error{Code::kConflict,
                 fmt::format("{}s: {} more would be {}, above maxReplicas {}", to_string(role),
                             more, now + more, *spec->max_replicas)};
  }
  const std::int64_t pods = std::int64_t{more} * pods_per_replica(entry);
  if (pods_in(requests) + pods > kMaxRequestedPerJob ||
      requests.entries.size() >= kMaxEntriesPerJob) {
    return Error{Code::kConflict,
                 fmt::format("{}s: {} more pods would be more requested pods ({}) or requests ({}) "
                             "than one job can have",
                             to_string(role), pods, kMaxRequestedPerJob, kMaxEntriesPerJob)};
  }
  return ok();
}

// Only the request decides whether a learner has several GPUs, not the template.
Result<std::vector<int>> split_of(const job::Job& job, const Ask& ask, const Surroundings& around) {
  const auto gpus = gpus_of(ask);
  if (!gpus) return gpus.error();
  if (*gpus <= 1) return std::vector<int>();
  if (*gpus > kMaxGpusPerLearner) {
    return Error{Code::kInvalid, fmt::format("learners.gpus: at most {}", kMaxGpusPerLearner)};
  }
  if (!around.aggregator_port) {
    return Error{Code::kTransient,
                 "learners: one with several GPUs has an aggregator, and there is no "
                 "AggregatorConfig to make it from (see --aggregator-config): create it"};
  }
  auto split = split_gpus(static_cast<int>(*gpus), around.node_gpus);
  const int port = job::main_port(job::template_of(job, Role::kDdpLearner, {}), Role::kDdpLearner);
  if (auto ports = job::check_gpu_ports(port, split); !ports) {
    return with_context("learners.gpus", ports.error());
  }
  return split;
}

// Adds the entry, without slots yet, for `replicas` of its role to `growth`.
Result<Nothing> add_entry(const job::Job& job, std::span<const PodPtr> pods, int replicas,
                          job::RequestEntry entry, const Surroundings& around, Growth& growth) {
  job::Requests& requests = growth.requests;
  if (auto bounds = check_bounds(job, requests, entry, replicas); !bounds) return bounds;
  const int first = first_free_ordinal(job, pods, requests, entry.role);
  const int step = ordinals_of(entry);
  if (first + std::int64_t{replicas} * step - 1 > job::kMaxOrdinal) {
    return Error{Code::kConflict,
                 fmt::format("{}s: all ordinals are used up", to_string(entry.role))};
  }

  const int port = around.aggregator_port.value_or(0);
  auto& urls = entry.role == Role::kCollector ? growth.added.collectors : growth.added.learners;
  for (int i = 0; i < replicas; ++i) {
    entry.slots.push_back({first + i * step, 0});
    urls.push_back(unit_address(job, {entry.role, entry.slots.back(), &entry}, port));
  }
  next_of(requests, entry.role) = first + replicas * step;
  entry.id = requests.next_id++;
  requests.entries.push_back(std::move(entry));
  growth.changes = true;
  return ok();
}

Result<Nothing> add_role(const job::Job& job, std::span<const PodPtr> pods, Role role,
                         const Ask& ask, const Surroundings& around, Growth& growth) {
  if (ask.replicas == 0) return ok();
  if (auto has = check_template(job, role); !has) return has;
  job::RequestEntry entry;
  entry.attempt = job.status.attempt;
  entry.role = role;
  entry.cpus = ask.cpus;
  entry.gpus = ask.gpus;
  entry.memory = ask.memory;
  if (role == Role::kLearner) {
    auto split = split_of(job, ask, around);
    if (!split) return split.error();
    entry.gpu_split = *std::move(split);
  }
  return add_entry(job, pods, ask.replicas, std::move(entry), around, growth);
}

}  // namespace

Result<Growth> grow(const job::Job& job, std::span<const PodPtr> pods, const AddRequest& request,
                    const Surroundings& around) {
  Growth growth{job.spec.requests, {job.meta.ns, request.coordinator, {}, {}}, false};
  job::Requests& requests = growth.requests;
  for (const auto& entry : requests.entries) {
    requests.next_id = std::max(requests.next_id, entry.id + 1);
  }
  std::erase_if(requests.entries,
                [&](const job::RequestEntry& entry) { return entry.attempt < job.status.attempt; });
  const auto collectors = add_role(job, pods, Role::kCollector, request.collectors, around, growth);
  if (!collectors) return collectors.error();
  const auto learners = add_role(job, pods, Role::kLearner, request.learners, around, growth);
  if (!learners) return learners.error();
  return growth;
}

}  // namespace nervex::server
