#include "controller/observe/confirm.h"

#include <algorithm>
#include <utility>

namespace nervex::controller {

namespace {

bool is_removal(const Action& action) {
  if (const auto* patch = std::get_if<PatchPodGroup>(&action)) return patch->removes_slots;
  return std::holds_alternative<DeletePods>(action);
}

// Spec and status are all that decisions depend on. A label that somebody changed means nothing.
bool is_same(const job::Job& live, const job::Job& job) {
  return live.meta.uid == job.meta.uid && live.meta.generation == job.meta.generation &&
         live.meta.deleting == job.meta.deleting && live.status == job.status;
}

}  // namespace

Result<Nothing> confirm_removals(kube::Api& api, Caches& caches, const job::Job& job,
                                 const Actions& actions) {
  if (is_final(job.status.phase) || std::none_of(actions.begin(), actions.end(), is_removal)) {
    return ok();
  }
  const std::string key = job.meta.key();
  const auto object = kube::get_object(api, kube::kNervexJobs, job.meta.ns, job.meta.name);
  if (!object) {
    if (object.error().code != Code::kNotFound) return object.error();
    return Error{Code::kTransient, "nervexjob " + key + " was deleted, and the cache has it still"};
  }
  auto live = job::decode_job(*object);
  if (!live) return live.error();
  if (live->meta.resource_version == job.meta.resource_version || is_same(*live, job)) return ok();
  caches.jobs.update(key, *std::move(live));
  return Error{Code::kTransient, "nervexjob " + key +
                                     " is newer than the cache: nothing of it is "
                                     "removed before the next look"};
}

}  // namespace nervex::controller
