#include "controller/observe.h"

#include <algorithm>
#include <utility>

#include "controller/attempt.h"
#include "controller/live_pods.h"
#include "controller/replacement.h"
#include "controller/requests_lost.h"

namespace nervex::controller {
namespace {

Observed from_caches(const Caches& caches, const ObserveOptions& options, const job::Job& job,
                     SysTime now) {
  Observed seen;
  seen.job = job;
  seen.pods = caches.pods.by_index(job.meta.uid);
  seen.services = caches.services.by_index(job.meta.uid);
  seen.pod_groups = caches.pod_groups.by_index(job.meta.uid);
  seen.aggregator_config = caches.aggregator_configs.get(options.aggregator_config);
  seen.server_url = options.server_url;
  seen.server_token = options.server_token;
  seen.now = now;
  return seen;
}

bool is_live_coordinator(const kube::Pod& pod, const gang::PodGroup& group) {
  return job::role_of(pod) == job::Role::kCoordinator && is_of_group(pod, group);
}

bool is_under_way(const job::Job& job) {
  return !job.meta.deleting && !is_final(job.status.phase) && job.status.start_time.has_value();
}

bool seems_gone(const Observed& seen, const gang::PodGroup* group) {
  if (group == nullptr || !is_under_way(seen.job)) return false;
  return std::none_of(seen.pods.begin(), seen.pods.end(),
                      [&](const auto& pod) { return is_live_coordinator(*pod, *group); });
}

// True if there is no PodGroup any more. One that only the cache lacks is worth another look later.
Result<bool> is_pod_group_gone(kube::Api& api, const job::Job& job) {
  const std::string name = job::pod_group_name(job, job.status.attempt);
  const auto live = kube::get_object(api, kube::kPodGroups, job.meta.ns, name);
  if (!live && live.error().code != Code::kNotFound) return live.error();
  const bool is_ours = live && owner_job_uid(kube::decode_meta(*live)) == job.meta.uid;
  if (!is_ours || kube::decode_meta(*live).deleting) return true;
  return Error{Code::kTransient, "podgroup " + name + " is not in the cache yet"};
}

// Pods that only the cache lacks are no loss.
Result<Nothing> find_vanished(kube::Api& api, Observed& seen) {
  if (is_final(seen.job.status.phase) || requests_lost(seen.job)) return ok();
  const auto vanished = vanished_pods(seen, current_attempt(seen));
  if (vanished.empty()) return ok();
  const auto live = live_pods(api, seen.job);
  if (!live) return live.error();
  for (const auto& pod : *live) {
    if (std::find(vanished.begin(), vanished.end(), pod.meta.name) == vanished.end()) continue;
    seen.pods.push_back(std::make_shared<const kube::Pod>(pod));
  }
  std::sort(seen.pods.begin(), seen.pods.end(),
            [](const auto& a, const auto& b) { return a->meta.name < b->meta.name; });
  return ok();
}

}  // namespace

Result<std::optional<Observed>> observe(kube::Api& api, Caches& caches,
                                        const ObserveOptions& options, const std::string& key,
                                        SysTime now) {
  const auto job = caches.jobs.get(key);
  if (!job) return std::optional<Observed>();
  Observed seen = from_caches(caches, options, *job, now);
  if (auto found = find_vanished(api, seen); !found) return found.error();
  const gang::PodGroup* group = current_attempt(seen).group;
  if (group == nullptr && is_under_way(*job)) {
    const auto gone = is_pod_group_gone(api, *job);
    if (!gone) return gone.error();
    seen.pod_group_is_gone = *gone;
    return std::optional(std::move(seen));
  }
  if (!seems_gone(seen, group)) return std::optional(std::move(seen));

  const std::string name = job::pod_name(*job, job::Role::kCoordinator, {});
  const auto live = kube::get_object(api, kube::kPods, job->meta.ns, name);
  if (!live && live.error().code != Code::kNotFound) return live.error();
  if (live) {
    auto pod = decode_cached_pod(kube::to_text(*live));
    if (!pod) return pod.error();
    if (owner_job_uid(pod->meta) == job->meta.uid && is_live_coordinator(*pod, *group)) {
      seen.pods.push_back(std::make_shared<const kube::Pod>(*std::move(pod)));
      return std::optional(std::move(seen));
    }
  }
  seen.coordinator_is_gone = true;
  return std::optional(std::move(seen));
}

}  // namespace nervex::controller
