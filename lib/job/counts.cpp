#include "job/counts.h"

#include <algorithm>

#include "job/names.h"

namespace nervex::job {
namespace {

// An end that the kubelet or the cluster imposed does not show what the program returned.
bool was_stopped(const kube::Pod& pod) { return !pod.reason.empty() || pod.disruption_target; }

// The container had ended by itself before the pod's deletion was requested.
bool ended_before_deletion(const kube::Pod& pod) {
  const kube::ContainerState* main = main_state(pod);
  return main != nullptr && main->ended_before_deletion;
}

PodState finished_state(const kube::Pod& pod) {
  if (pod.phase == kube::PodPhase::kSucceeded) return PodState::kSucceeded;
  const kube::ContainerState* main = main_state(pod);
  const bool is_good = main != nullptr && main->terminated && main->exit_code == 0;
  return is_good && !was_stopped(pod) ? PodState::kSucceeded : PodState::kFailed;
}

RoleCounts* find_role_counts(Counts& counts, Role role) {
  switch (role) {
    case Role::kCoordinator:
      return &counts.coordinator;
    case Role::kAggregator:
      return &counts.aggregator;
    case Role::kCollector:
      return &counts.collector;
    case Role::kLearner:
    case Role::kDdpLearner:
      return &counts.learner;
  }
  return nullptr;
}

}  // namespace

// The kubelet sorts container statuses by name, so the first one is only a guess: pods whose main
// container is not called nervex-container carry its name as an annotation.
const kube::ContainerState* main_state(const kube::Pod& pod) {
  const std::string& annotated = kube::annotation(pod.meta, kMainContainerAnnotation);
  const std::string_view name = annotated.empty() ? kMainContainer : annotated;
  for (const auto& state : pod.containers) {
    if (state.name == name) return &state;
  }
  return pod.containers.empty() ? nullptr : &pod.containers.front();
}

PodState pod_state(const kube::Pod& pod) {
  if (pod.meta.deleting && !ended_before_deletion(pod)) return PodState::kTerminating;
  if (pod.is_finished()) return finished_state(pod);
  const kube::ContainerState* main = main_state(pod);
  if (main != nullptr && main->terminated) {
    return main->exit_code == 0 ? PodState::kSucceeded : PodState::kFailed;
  }
  return pod.phase == kube::PodPhase::kRunning ? PodState::kRunning : PodState::kPending;
}

std::optional<Role> pod_role(const kube::Pod& pod) {
  return parse_role(kube::label(pod.meta, kRoleLabel));
}

Counts count(std::span<const kube::Pod* const> pods) {
  Counts counts;
  for (const kube::Pod* pod : pods) {
    const auto role = pod_role(*pod);
    if (!role) continue;
    RoleCounts& of_role = *find_role_counts(counts, *role);
    const PodState state = pod_state(*pod);
    if (state == PodState::kRunning) ++of_role.active;
    if (state == PodState::kSucceeded) ++of_role.succeeded;
    if (state == PodState::kFailed) ++of_role.failed;
    if (state == PodState::kRunning && pod->ready) ++counts.ready;
  }
  return counts;
}

kube::PodFilter pod_filter() {
  kube::PodFilter filter;
  filter.label_keys.emplace_back(kRoleLabel);  // other labels are not read, and cost memory
  filter.annotation_keys.emplace_back(kMainContainerAnnotation);
  filter.finalizer = kTrackingFinalizer;
  filter.detail_label = kGroupLabel;
  return filter;
}

}  // namespace nervex::job
