#include "controller/observe/live_pods.h"

#include <fmt/format.h>

#include <utility>

#include "controller/decide/objects.h"
#include "controller/observe/caches.h"
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

}  // namespace nervex::controller
