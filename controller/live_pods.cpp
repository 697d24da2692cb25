#include "controller/live_pods.h"

#include <fmt/format.h>

#include <utility>

#include "controller/caches.h"
#include "job/names.h"

namespace nervex::controller {

Result<std::vector<kube::Pod>> live_pods(kube::Api& api, const job::Job& job) {
  const std::string path =
      fmt::format("{}?labelSelector={}%3D{}", kube::api_path(kube::kPods, job.meta.ns),
                  job::kJobLabel, kube::percent_encode(job.meta.name));
  const auto body = api.send({"GET", path, "", ""});
  if (!body) return with_context("list the pods of nervexjob " + job.meta.key(), body.error());
  const auto list = kube::parse_json(*body);
  if (!list) return with_context("list the pods of nervexjob " + job.meta.key(), list.error());
  std::vector<kube::Pod> pods;
  for (const auto& item : kube::array_at(*list, {"items"})) {
    auto pod = decode_cached_pod(kube::to_text(item));
    if (!pod) return pod.error();
    if (owner_job_uid(pod->meta) == job.meta.uid) pods.push_back(*std::move(pod));
  }
  return pods;
}

}  // namespace nervex::controller
