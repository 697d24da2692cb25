#include "queue/workload.h"

#include <algorithm>
#include <map>
#include <utility>

namespace nervex::queue {
namespace {

Workload::State state_in(const gang::PodGroupStatus& status, std::string_view name) {
  const gang::GangStatus* gang = gang::find_gang(status, name);
  if (gang == nullptr) return Workload::State::kWaiting;
  if (gang->committed) return Workload::State::kRunning;
  return gang->planned ? Workload::State::kPlanned : Workload::State::kWaiting;
}

std::optional<std::chrono::seconds> run_limit(const gang::PodGroupSpec& spec,
                                              std::optional<std::int64_t> max_runtime_seconds) {
  std::optional<std::int64_t> limit = spec.active_deadline_seconds;
  if (max_runtime_seconds) {
    const std::int64_t left =
        *max_runtime_seconds - std::min(spec.active_seconds, *max_runtime_seconds);
    if (!limit || left < *limit) limit = left;
  }
  if (!limit || *limit > kLongestLimit.count()) return std::nullopt;
  return std::chrono::seconds(*limit);
}

std::optional<std::chrono::seconds> grace_of(const gang::PodGroupSpec& spec) {
  if (!spec.grace_seconds || *spec.grace_seconds > kLongestLimit.count()) return std::nullopt;
  return std::chrono::seconds(*spec.grace_seconds);
}

// Counts these slots as slot_use.h has it. The workload has counted them as planned.
void add_other_uses(Workload& workload, const gang::Gang& gang, const OtherUses& uses) {
  for (const OtherUse& use : uses) {
    if (use.gang != static_cast<std::size_t>(workload.position)) continue;
    const kube::Resources& planned = gang.members[use.set].shape.requests;
    kube::Resources difference;
    add_requests(difference, count_slot(planned, &use));
    add_requests(difference, planned, -1);
    workload.requests += difference;
  }
}

}  // namespace

bool gains_enough(const Workload& workload, SysTime start) {
  const bool has_bound = workload.kind != gang::GangKind::kBase && workload.job_end;
  return !has_bound || start + kShortestGain <= *workload.job_end;
}

std::optional<std::chrono::seconds> longest_run(const gang::PodGroupSpec& spec,
                                                std::optional<std::int64_t> max_runtime_seconds) {
  const auto limit = run_limit(spec, max_runtime_seconds);
  const auto grace = grace_of(spec);
  if (!limit || !grace) return std::nullopt;
  return *limit + *grace;
}

std::optional<SysTime> latest_end(const Workload& workload) {
  if (!workload.job_started_at || !workload.longest_run) return std::nullopt;
  return *workload.job_started_at + *workload.longest_run;
}

std::optional<SysTime> latest_end(const Workload& workload, SysTime start) {
  if (!workload.longest_run) return std::nullopt;
  return workload.job_started_at.value_or(start) + *workload.longest_run;
}

void count_classes(Workload& workload, const gang::PodGroup& group, const OtherUses* uses,
                   const FindClass& find_class) {
  workload.class_requests.clear();
  const gang::Gang& gang = group.spec.gangs[static_cast<std::size_t>(workload.position)];
  const gang::GangStatus* status = gang::find_gang(group.status, gang.name);
  if (status == nullptr) return;
  std::map<gang::SlotKey, std::string_view> nodes;
  for (const gang::Placement& placement : status->placements) {
    nodes.emplace(gang::SlotKey(placement.role, placement.slot), placement.node);
  }
  for (const gang::MemberSet& set : gang.members) {
    for (const gang::SlotId slot : set.slots) {
      const auto node = nodes.find(gang::SlotKey(set.role, slot));
      const OtherUse* use = find_use(uses, set.role, slot);
      if (node == nodes.end() && use == nullptr) continue;
      count_slot(workload.class_requests, set.shape.requests, use,
                 node == nodes.end() ? std::string_view() : node->second, find_class);
    }
    for (const gang::ReservedCapacity& reserved : status->reserved) {
      if (reserved.set != set.name) continue;
      add_requests(workload.class_requests, find_class(reserved.node), set.shape.requests,
                   reserved.count);
    }
  }
}

Workload make_workload(const gang::PodGroup& group, std::size_t index, const OtherUses* uses) {
  const gang::Gang& gang = group.spec.gangs[index];
  Workload workload{group.meta.uid + "/" + gang.name,
                    gang.kind,
                    group.meta.ns.str(),
                    group.meta.name,
                    group.spec.priority,
                    gang.queued_since.value_or(group.spec.queued_since),
                    {},
                    state_in(group.status, gang.name)};
  workload.queue = group.status.queue.name;
  workload.user = group.spec.user;
  workload.position = static_cast<int>(index);
  if (workload.state == Workload::State::kRunning) {
    workload.started_at = gang::find_gang(group.status, gang.name)->started_at;
  }
  workload.never_preempts = group.spec.never_preempts;
  workload.is_preemptible = group.spec.preemptible;
  workload.longest_run = longest_run(group.spec, group.status.queue.max_runtime_seconds);
  if (const gang::GangStatus* base = gang::find_gang(group.status, gang::kBaseGang)) {
    if (base->committed) workload.job_started_at = base->started_at;
  }
  const auto limit = run_limit(group.spec, group.status.queue.max_runtime_seconds);
  if (workload.job_started_at && limit) workload.job_end = *workload.job_started_at + *limit;
  workload.grace = grace_of(group.spec);
  for (const gang::MemberSet& set : gang.members) {
    const auto pods = static_cast<std::int64_t>(set.slots.size()) + set.reserved_pods;
    add_requests(workload.requests, set.shape.requests, pods);
  }
  if (uses != nullptr) add_other_uses(workload, gang, *uses);
  return workload;
}

std::vector<Workload> list_workloads(const gang::PodGroup& group, const OtherUses* uses) {
  std::vector<Workload> workloads;
  workloads.reserve(group.spec.gangs.size());
  for (std::size_t i = 0; i < group.spec.gangs.size(); ++i) {
    workloads.push_back(make_workload(group, i, uses));
  }
  return workloads;
}

Workload make_workload(const kube::ForeignPodGroup& group, int priority, kube::Resources requests,
                       Workload::State state) {
  return {group.meta.uid, std::nullopt,       group.meta.ns.str(), group.meta.name,
          priority,       group.meta.created, std::move(requests), state};
}

}  // namespace nervex::queue
