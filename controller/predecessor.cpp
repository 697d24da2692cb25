#include "controller/predecessor.h"

#include <algorithm>

#include "job/names.h"

namespace nervex::controller {
namespace {

template <typename T>
bool holds(const kube::Store<T>& store, const job::Job& job, const std::string& name) {
  const auto found = store.get(job.meta.ns + "/" + name);
  return found && owner_job_key(found->meta) == job.meta.key() &&
         owner_job_uid(found->meta) != job.meta.uid;
}

}  // namespace

std::string predecessor_remains(const Caches& caches, const job::Job& job, bool wants_aggregator) {
  for (const auto role : {job::Role::kCoordinator, job::Role::kAggregator}) {
    if (role == job::Role::kAggregator && !wants_aggregator) continue;
    const std::string name = job::pod_name(job, role, {});
    if (holds(caches.pods, job, name)) return "pod " + name;
    if (holds(caches.services, job, name)) return "service " + name;
  }
  const int attempt = std::max(1, job.status.attempt);  // 0: nobody has looked at the job yet
  const std::string group = job::pod_group_name(job, attempt);
  return holds(caches.pod_groups, job, group) ? "podgroup " + group : "";
}

}  // namespace nervex::controller
