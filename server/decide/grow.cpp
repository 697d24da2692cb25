#include "server/decide/grow.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "gang/slot.h"
#include "job/names.h"
#include "job/pod_manifest.h"
#include "job/ports.h"
#include "server/decide/job_view.h"
#include "server/decide/ordinals.h"

namespace nervex::server {
namespace {

using job::Role;

// The base replicas that the job wants.
std::int64_t count_base_pods(const job::Job& job, const job::Requests& requests) {
  const auto replicas = [&job](Role role) {
    const auto& spec = role_spec(job.spec, role);
    return spec ? spec->replicas : 0;
  };
  const auto removed =
      std::count_if(requests.base.begin(), requests.base.end(), [&](const auto& change) {
        return change.slot.ordinal < replicas(change.role) && is_removed(job, change);
      });
  return std::int64_t{replicas(Role::kCollector)} + replicas(Role::kLearner) - removed;
}

// Pods of base replicas and requests.
std::int64_t count_pods(const job::Job& job, const job::Requests& requests) {
  std::int64_t pods = count_base_pods(job, requests);
  for (const auto& entry : requests.entries) {
    pods += static_cast<std::int64_t>(entry.slots.size()) * pods_per_replica(entry);
  }
  return pods;
}

Result<Nothing> check_template(const job::Job& job, Role role) {
  const auto& spec = role_spec(job.spec, role);
  if (spec && spec->pod_template.is_object()) return ok();
  return Error{Code::kInvalid,
               fmt::format("{}s: the job has no {} template", to_string(role), to_string(role))};
}

// A job that runs for weeks requests many replicas that end by themselves, and a client that is
// refused here never asks again. The ended replicas' pods are removed; multi-GPU learners stay,
// because only a part of them may have ended.
void drop_ended(const JobView& view, job::Requests& requests) {
  std::set<std::pair<Role, int>> ended;
  for (const Role role : {Role::kCollector, Role::kLearner}) {
    for (const auto& replica : ended_replicas(view, role))
      ended.emplace(role, replica.slot.ordinal);
  }
  for (auto& entry : requests.entries) {
    if (is_multi_gpu(entry) || entry.attempt != view.job.status.attempt) continue;
    std::erase_if(entry.slots, [&](job::Slot slot) {
      return ended.count({entry.role, slot.ordinal}) > 0;
    });
  }
  std::erase_if(requests.entries, [](const auto& entry) { return entry.slots.empty(); });
}

// The same for base replicas. They return with the next attempt.
void drop_ended_base(const JobView& view, job::Requests& requests) {
  for (const Role role : {Role::kCollector, Role::kLearner}) {
    for (const auto& replica : ended_replicas(view, role)) {
      if (replica.entry != nullptr) continue;
      change_base(requests, {view.job.status.attempt, role, replica.slot, true});
    }
  }
}

// Why `pods` more do not fit. kTransient if requests wait for placement, because a client that gets
// 409 never asks again.
Error beyond_capacity(const job::Job& job, const job::Requests& requests, Role role,
                      std::int64_t pods, const Limits& limits) {
  const std::int64_t all = count_pods(job, requests) + pods;
  if (all > limits.replicas_per_job) {
    return {Code::kConflict,
            fmt::format("{}s: {} more would make {} pods, base replicas and requests together, but "
                        "a job can have at most {}: remove some first",
                        to_string(role), pods, all, limits.replicas_per_job)};
  }
  const bool may_pass = count_kinds(requests) < requests.entries.size();
  return {may_pass ? Code::kTransient : Code::kConflict,
          fmt::format("{}s: a job can have at most {} unmerged requests: {}", to_string(role),
                      kMaxEntriesPerJob,
                      may_pass ? "try again when the waiting ones have been placed"
                               : "each asks for different resources, so remove some first")};
}

Result<Nothing> check_bounds(const JobView& view, job::Requests& requests,
                             const job::RequestEntry& entry, int more, const Limits& limits) {
  const Role role = entry.role;
  const auto& spec = role_spec(view.job.spec, role);
  const int now = static_cast<int>(living_replicas(view, role).size());
  if (spec->max_replicas && now + more > *spec->max_replicas) {
    return Error{Code::kConflict,
                 fmt::format("{}s: {} more would make {}, above maxReplicas {}", to_string(role),
                             more, now + more, *spec->max_replicas)};
  }
  const std::int64_t pods = std::int64_t{more} * pods_per_replica(entry);
  const auto may_have_pods = [&] {
    return count_pods(view.job, requests) + pods <= limits.replicas_per_job;
  };
  const auto has_capacity = [&] {
    return may_have_pods() && requests.entries.size() < kMaxEntriesPerJob;
  };
  if (!has_capacity()) drop_ended(view, requests);
  if (!may_have_pods()) drop_ended_base(view, requests);
  if (has_capacity()) return ok();
  return beyond_capacity(view.job, requests, role, pods, limits);
}

// Only the request, not the template, decides whether a learner has several GPUs.
Result<std::vector<int>> choose_split(const job::Job& job, const RoleRequest& request,
                                      const ClusterView& cluster) {
  const auto gpus = count_gpus(request);
  if (!gpus) return gpus.error();
  if (*gpus <= 1) return std::vector<int>();
  if (*gpus > kMaxGpusPerLearner) {
    return Error{Code::kInvalid, fmt::format("learners.gpus: at most {}", kMaxGpusPerLearner)};
  }
  if (!cluster.aggregator_port) {
    return Error{Code::kTransient,
                 "learners: a multi-GPU learner needs an aggregator, and its template, the "
                 "AggregatorConfig (see --aggregator-config), does not exist: create it"};
  }
  auto split = split_gpus(static_cast<int>(*gpus), cluster.node_gpus);
  const int port =
      job::main_port(job::role_template(job, Role::kDdpLearner, {}), Role::kDdpLearner);
  if (auto ports = job::check_gpu_ports(port, split); !ports) {
    return with_context("learners.gpus", ports.error());
  }
  return split;
}

// Adds the entry to `change`, without slots yet, for `replicas` of its role.
Result<Nothing> add_entry(const JobView& view, int replicas, job::RequestEntry entry,
                          const Limits& limits, Change& change) {
  job::Requests& requests = change.requests;
  if (auto bounds = check_bounds(view, requests, entry, replicas, limits); !bounds) return bounds;
  const int first = next_ordinal(requests, entry.role);
  const int step = count_ordinals(entry);
  if (first + std::int64_t{replicas} * step > job::kFirstContinuedOrdinal) {
    return Error{Code::kConflict,
                 fmt::format("{}s: all ordinals are exhausted", to_string(entry.role))};
  }

  for (int i = 0; i < replicas; ++i) {
    entry.slots.push_back({first + i * step, 0});
    const job::ReplicaPod addressed = addressed_pod({entry.role, entry.slots.back(), &entry});
    add_address(change.answer, view.job, addressed.role, addressed.slot, view.aggregator_port);
  }
  next_ordinal(requests, entry.role) = first + replicas * step;
  entry.id = requests.next_id++;
  requests.entries.push_back(std::move(entry));
  change.changes = true;
  return ok();
}

Result<Nothing> add_role(const JobView& view, Role role, const RoleRequest& request, SysTime now,
                         const Limits& limits, const ClusterView& cluster, Change& change) {
  if (request.replicas == 0) return ok();
  if (auto has = check_template(view.job, role); !has) return has;
  job::RequestEntry entry;
  entry.attempt = view.job.status.attempt;
  entry.role = role;
  entry.requested_at = now;
  entry.cpus = request.cpus;
  entry.gpus = request.gpus;
  entry.memory = request.memory;
  if (role == Role::kLearner) {
    auto split = choose_split(view.job, request, cluster);
    if (!split) return split.error();
    entry.gpu_split = *std::move(split);
  }
  return add_entry(view, request.replicas, std::move(entry), limits, change);
}

}  // namespace

Result<Change> grow(const job::Job& job, std::span<const PodPtr> pods, const AddRequest& request,
                    SysTime now, const Limits& limits, const gang::PodGroup* group,
                    const ClusterView& cluster) {
  const JobView view{job, pods, group, cluster.aggregator_port.value_or(0)};
  Change change{normalized_requests(view), {job.meta.ns, request.coordinator, {}, {}}, false};
  if (change.requests.entries.size() >= kMergeAbove) merge_placed(view, change.requests);
  const auto collectors =
      add_role(view, Role::kCollector, request.collectors, now, limits, cluster, change);
  if (!collectors) return collectors.error();
  const auto learners =
      add_role(view, Role::kLearner, request.learners, now, limits, cluster, change);
  if (!learners) return learners.error();
  return change;
}

// ---- merging entries

namespace {

using job::Role;
// Role, ordinal, incarnation, placement number.
using PlacedSlot = std::tuple<std::string_view, int, int, std::int64_t>;

// Borrows from the entry.
auto entry_kind(const job::RequestEntry& entry) {
  return std::tuple(entry.attempt, entry.role, std::string_view(entry.cpus),
                    std::string_view(entry.gpus), std::string_view(entry.memory), entry.gpu_split);
}

std::set<PlacedSlot> placed_slots(const gang::PodGroup& group) {
  std::set<PlacedSlot> placed;
  for (const auto& gang : group.status.gangs) {
    if (!gang.planned || !gang.committed) continue;
    for (const auto& placement : gang.placements) {
      placed.emplace(placement.role, placement.slot.ordinal, placement.slot.incarnation,
                     placement.number);
    }
  }
  return placed;
}

using PodSlot = std::tuple<std::string_view, int, int>;  // role, ordinal, incarnation

// Slots whose pod was created for their current placement.
std::set<PodSlot> slots_with_pods(const JobView& view) {
  const std::set<PlacedSlot> placed = placed_slots(*view.group);
  std::set<PodSlot> slots;
  for (const auto& pod : view.pods) {
    const auto slot = gang::pod_slot(*pod);
    const auto role = slot ? job::parse_role(slot->role) : std::nullopt;
    if (!role || pod->meta.deleting || slot->pod_group_uid != view.group->meta.uid) continue;
    const auto [ordinal, incarnation] = std::pair(slot->slot.ordinal, slot->slot.incarnation);
    if (placed.count({to_string(*role), ordinal, incarnation, slot->placement}) == 0) continue;
    slots.emplace(to_string(*role), ordinal, incarnation);
  }
  return slots;
}

// The ids of entries with a replica that still waits for a placement or a pod.
std::set<std::int64_t> waiting_entries(const JobView& view) {
  const std::set<PodSlot> made = slots_with_pods(view);
  const auto has_pod = [&made](const job::ReplicaPod& pod) {
    return made.count({to_string(pod.role), pod.slot.ordinal, pod.slot.incarnation}) > 0;
  };
  std::set<std::int64_t> waiting;
  for (const Role role : {Role::kCollector, Role::kLearner}) {
    for (const auto& replica : living_replicas(view, role)) {
      if (replica.entry == nullptr) continue;
      const auto pods = job::replica_pods(replica);
      if (!std::all_of(pods.begin(), pods.end(), has_pod)) waiting.insert(replica.entry->id);
    }
  }
  return waiting;
}

}  // namespace

void merge_placed(const JobView& view, job::Requests& requests) {
  const int attempt = view.job.status.attempt;
  if (view.group == nullptr || view.group->spec.attempt != attempt) return;
  // The controller identifies a requeued gang by its entry's id, a learner by its ordinal.
  const auto& requeued = view.job.status.requeued_gangs;
  if (std::any_of(requeued.begin(), requeued.end(),
                  [](const auto& entry) { return !entry.learner; })) {
    return;
  }
  const std::set<std::int64_t> waiting = waiting_entries(view);

  std::vector<job::RequestEntry> merged;
  merged.reserve(requests.entries.size());  // the keys below borrow from its entries
  std::map<decltype(entry_kind(merged.front())), std::size_t> oldest;
  for (auto& entry : requests.entries) {
    const bool is_placed = entry.attempt == attempt && waiting.count(entry.id) == 0;
    const auto known = is_placed ? oldest.find(entry_kind(entry)) : oldest.end();
    if (known == oldest.end()) {
      merged.push_back(std::move(entry));
      if (is_placed) oldest.emplace(entry_kind(merged.back()), merged.size() - 1);
      continue;
    }
    job::RequestEntry& first = merged[known->second];
    first.slots.insert(first.slots.end(), entry.slots.begin(), entry.slots.end());
    first.requested_at = std::min(first.requested_at, entry.requested_at);  // unknown is earliest
  }
  for (const auto& [kind, at] : oldest) {
    std::sort(merged[at].slots.begin(), merged[at].slots.end());
  }
  requests.entries = std::move(merged);
}

std::size_t count_kinds(const job::Requests& requests) {
  std::set<decltype(entry_kind(requests.entries.front()))> kinds;
  for (const auto& entry : requests.entries) kinds.insert(entry_kind(entry));
  return kinds.size();
}

}  // namespace nervex::server
