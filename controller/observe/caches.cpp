#include "controller/observe/caches.h"

#include "gang/slot.h"
#include "job/counts.h"

namespace nervex::controller {

namespace {

template <typename T>
std::string by_job(const T& object) {
  return owner_job_uid(object.meta);
}

kube::PodFilter pod_filter() {
  kube::PodFilter filter = job::pod_filter();
  for (auto& key : gang::slot_annotation_keys()) filter.annotation_keys.push_back(std::move(key));
  return filter;
}

// Pods whose job is gone have to be found, too.
std::string by_job_key(const kube::Pod& pod) {
  std::string key = owner_job_key(pod.meta);
  return key.empty() && pod.has_finalizer ? orphans_key(pod.meta.ns) : key;
}

}  // namespace

Caches::Caches()
    : pods(by_job_key), services(by_job<Service>), pod_groups(by_job<gang::PodGroup>) {}

Result<job::Job> decode_cached_job(std::string_view json) {
  const auto object = kube::parse_json(json);
  if (!object) return object.error();
  return job::decode_job(*object);
}

Result<kube::Pod> decode_cached_pod(std::string_view json) {
  static const kube::PodFilter kFilter = pod_filter();
  return kube::decode_pod(json, kFilter);
}

Result<gang::PodGroup> decode_cached_pod_group(std::string_view json) {
  const auto object = kube::parse_json(json);
  if (!object) return object.error();
  return gang::decode_pod_group(*object);
}

}  // namespace nervex::controller
