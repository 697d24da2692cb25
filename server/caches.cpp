#include "server/caches.h"

#include "gang/slot.h"
#include "job/counts.h"
#include "job/names.h"

namespace nervex::server {
namespace {

kube::ReflectorOptions own_pods() {
  kube::ReflectorOptions options;
  options.path = kube::api_path(kube::kPods);
  options.path.append("?labelSelector=").append(job::kGroupLabel).append("%3D");
  options.path.append(job::kGroupLabelValue);
  return options;
}

kube::ReflectorOptions all(const kube::ResourceKind& kind) {
  kube::ReflectorOptions options;
  options.path = kube::api_path(kind);
  return options;
}

const kube::PodFilter& kept() {
  static const kube::PodFilter filter = [] {
    kube::PodFilter kept = job::pod_filter();
    for (auto& key : gang::slot_annotation_keys()) kept.annotation_keys.push_back(std::move(key));
    return kept;
  }();
  return filter;
}

}  // namespace

Result<kube::Pod> decode_own_pod(std::string_view text) { return kube::decode_pod(text, kept()); }

Result<job::Job> decode_job_text(std::string_view text) {
  const auto json = kube::parse_json(text);
  if (!json) return json.error();
  return job::decode_job(*json);
}

Result<gang::PodGroup> decode_group_text(std::string_view text) {
  const auto json = kube::parse_json(text);
  if (!json) return json.error();
  return gang::decode_pod_group(*json);
}

Caches::Caches(kube::Api& api, Stores& stores)
    : pods_(api, own_pods(), kube::sink_into<kube::Pod>(stores.pods, decode_own_pod, nullptr)),
      jobs_(api, all(kube::kNervexJobs),
            kube::sink_into<job::Job>(stores.jobs, decode_job_text, nullptr)),
      groups_(api, all(kube::kPodGroups),
              kube::sink_into<gang::PodGroup>(stores.groups, decode_group_text, nullptr)) {}

void Caches::start() {
  pods_.start();
  jobs_.start();
  groups_.start();
}

std::string Caches::not_ready() const {
  for (const auto& reason : {pods_.not_synced("pods"), jobs_.not_synced("nervexjobs"),
                             groups_.not_synced("podgroups")}) {
    if (!reason.empty()) return reason;
  }
  return "";
}

}  // namespace nervex::server
