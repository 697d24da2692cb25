#include "controller/tracked_pods.h"

#include <algorithm>

namespace nervex::controller {
namespace {

template <typename Matches>
std::vector<Target> tracked(const Ptrs<kube::Pod>& pods, Matches matches) {
  std::vector<Target> targets;
  for (const auto& pod : pods) {
    if (pod->has_finalizer && matches(*pod)) targets.push_back({pod->meta.name, pod->meta.uid});
  }
  return targets;
}

bool is_among(const kube::Pod& pod, const std::vector<Target>& targets) {
  return std::any_of(targets.begin(), targets.end(),
                     [&](const Target& target) { return target.uid == pod.meta.uid; });
}

}  // namespace

std::vector<Target> pods_to_release(const Observed& seen) {
  return tracked(seen.pods, [](const kube::Pod& pod) { return pod.meta.deleting; });
}

std::vector<Target> pods_to_release_at_end(const Observed& seen,
                                           const std::vector<Target>& to_delete) {
  return tracked(seen.pods, [&](const kube::Pod& pod) {
    return pod.meta.deleting || !is_among(pod, to_delete);
  });
}

std::vector<Target> orphans_to_release(const Ptrs<kube::Pod>& pods, const std::string& job_uid) {
  return tracked(pods, [&](const kube::Pod& pod) {
    const std::string owner = owner_job_uid(pod.meta);
    return owner.empty() || (pod.meta.deleting && owner != job_uid);
  });
}

}  // namespace nervex::controller
