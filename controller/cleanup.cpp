#include "controller/cleanup.h"

#include <fmt/format.h>

#include "controller/reasons.h"
#include "controller/tracked_pods.h"
#include "job/counts.h"

namespace nervex::controller {
namespace {

bool must_go(const kube::Pod& pod, job::CleanPodPolicy policy) {
  switch (policy) {
    case job::CleanPodPolicy::kAll:
      return true;
    case job::CleanPodPolicy::kNone:
      return false;
    case job::CleanPodPolicy::kRunning: {
      const job::PodState state = job::state_of(pod);
      return state == job::PodState::kPending || state == job::PodState::kRunning;
    }
  }
  return false;
}

template <typename T>
std::vector<Target> living(const Ptrs<T>& objects) {
  std::vector<Target> targets;
  for (const auto& object : objects) {
    if (!object->meta.deleting) targets.push_back({object->meta.name, object->meta.uid});
  }
  return targets;
}

}  // namespace

Actions clean_up(const Observed& seen) {
  Actions actions;
  std::vector<Target> groups = living(seen.pod_groups);
  if (!groups.empty()) actions.push_back(DeletePodGroups{std::move(groups)});

  std::vector<Target> pods;
  for (const auto& pod : seen.pods) {
    if (pod->meta.deleting || !must_go(*pod, seen.job.spec.clean_pod_policy)) continue;
    pods.push_back({pod->meta.name, pod->meta.uid});
  }
  std::vector<Target> released = pods_to_release_at_end(seen, pods);
  const std::size_t count = pods.size();
  if (!released.empty()) actions.push_back(ReleasePods{std::move(released)});
  if (count > 0) actions.push_back(DeletePods{std::move(pods)});

  std::vector<Target> services = living(seen.services);
  if (!services.empty()) actions.push_back(DeleteServices{std::move(services)});
  if (count > 0) {
    actions.push_back(normal_event(
        kSuccessfulDelete,
        fmt::format("deleted {} {} of the ended job", count, count == 1 ? "pod" : "pods")));
  }
  return actions;
}

}  // namespace nervex::controller
