#include "queue/workload.h"

#include <limits>
#include <utility>

namespace nervex::queue {
namespace {

// Saturates as kube::Resources do. Skips implicit resources: they belong to nodes, not queues.
void add(kube::Resources& total, const kube::Resources& each, std::int64_t times) {
  for (const auto& [name, amount] : each.amounts()) {
    if (kube::is_implicit(name)) continue;
    std::int64_t product = 0;
    if (__builtin_mul_overflow(amount, times, &product)) {
      product = std::numeric_limits<std::int64_t>::max();
    }
    total += kube::Resources{{name, product}};
  }
}

Workload::State state_in(const gang::PodGroupStatus& status, std::string_view name) {
  const gang::GangStatus* gang = gang::find_gang(status, name);
  if (gang == nullptr) return Workload::State::kWaiting;
  if (gang->committed) return Workload::State::kRunning;
  return gang->planned ? Workload::State::kPlanned : Workload::State::kWaiting;
}

}  // namespace

Workload make_workload(const gang::PodGroup& group, std::size_t index) {
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
  for (const gang::MemberSet& set : gang.members) {
    const auto pods = static_cast<std::int64_t>(set.slots.size()) + set.reserved_pods;
    add(workload.requests, set.shape.requests, pods);
  }
  return workload;
}

std::vector<Workload> list_workloads(const gang::PodGroup& group) {
  std::vector<Workload> workloads;
  workloads.reserve(group.spec.gangs.size());
  for (std::size_t i = 0; i < group.spec.gangs.size(); ++i) {
    workloads.push_back(make_workload(group, i));
  }
  return workloads;
}

Workload make_workload(const kube::ForeignPodGroup& group, int priority, kube::Resources requests,
                       Workload::State state) {
  return {group.meta.uid, std::nullopt,       group.meta.ns.str(), group.meta.name,
          priority,       group.meta.created, std::move(requests), state};
}

}  // namespace nervex::queue
