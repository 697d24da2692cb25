#include "controller/observe/live_reads.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "controller/decide/observed.h"
#include "job/names.h"
#include "kube/paged_list.h"

namespace nervex::controller {

namespace {

// Pods may have 100 kB each: then a page has 5 MB.
constexpr int kPageSize = 50;

}  // namespace

Result<Nothing> for_each_live_pod(kube::Api& api, const job::Job& job,
                                  const std::function<void(kube::Pod pod)>& on_pod) {
  const std::string path =
      kube::with_label(kube::api_path(kube::kPods, job.meta.ns), job::kJobLabel, job.meta.name);
  const auto listed =
      kube::list_in_pages(api, path, kPageSize, [&](std::string_view json) -> Result<Nothing> {
        auto pod = decode_pod(json);
        if (!pod) return pod.error();
        if (owner_job_uid(pod->meta) == job.meta.uid) on_pod(*std::move(pod));
        return ok();
      });
  if (!listed) return with_context("list the pods of nervexjob " + job.meta.key(), listed.error());
  return ok();
}

Result<std::optional<kube::Pod>> live_pod(kube::Api& api, const job::Job& job,
                                          const std::string& name) {
  const auto body = api.send({"GET", kube::api_path(kube::kPods, job.meta.ns, name), "", ""});
  if (!body) {
    if (body.error().code == Code::kNotFound) return std::optional<kube::Pod>();
    return body.error();
  }
  auto pod = decode_pod(*body);
  if (!pod) return pod.error();
  if (owner_job_uid(pod->meta) != job.meta.uid) return std::optional<kube::Pod>();
  return std::optional(*std::move(pod));
}

// -- is the job still what a removal was decided on?

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
