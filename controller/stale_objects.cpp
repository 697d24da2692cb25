#include "controller/stale_objects.h"

#include <fmt/format.h>

#include "controller/reasons.h"

namespace nervex::controller {
namespace {

bool is_stale(const kube::Pod& pod, const Attempt& attempt) {
  return attempt.group == nullptr || !is_of_group(pod, *attempt.group);
}

bool is_stale(const gang::PodGroup& group, const Attempt& attempt) {
  return attempt.group == nullptr || group.meta.uid != attempt.group->meta.uid;
}

template <typename T>
std::vector<Target> stale_among(const Ptrs<T>& objects, const Attempt& attempt) {
  std::vector<Target> targets;
  for (const auto& object : objects) {
    if (object->meta.deleting || !is_stale(*object, attempt)) continue;
    targets.push_back({object->meta.name, object->meta.uid});
  }
  return targets;
}

std::vector<Target> all_of(const Ptrs<Service>& services) {
  std::vector<Target> targets;
  for (const auto& service : services) {
    if (!service->meta.deleting) targets.push_back({service->meta.name, service->meta.uid});
  }
  return targets;
}

std::string deleted_text(std::size_t count) {
  return fmt::format("deleted {} {} of an attempt that is over", count,
                     count == 1 ? "pod" : "pods");
}

}  // namespace

Actions delete_stale_objects(const Observed& seen, const Attempt& attempt) {
  Actions actions;
  std::vector<Target> pods = stale_among(seen.pods, attempt);
  const std::size_t count = pods.size();
  if (count > 0) actions.push_back(DeletePods{std::move(pods)});
  if (attempt.group == nullptr) {
    std::vector<Target> services = all_of(seen.services);
    if (!services.empty()) actions.push_back(DeleteServices{std::move(services)});
  }
  std::vector<Target> groups = stale_among(seen.pod_groups, attempt);
  if (!groups.empty()) actions.push_back(DeletePodGroups{std::move(groups)});
  if (count > 0) actions.push_back(normal_event(kSuccessfulDelete, deleted_text(count)));
  return actions;
}

}  // namespace nervex::controller
