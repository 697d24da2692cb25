#include "controller/observe/caches.h"

#include "gang/slot.h"
#include "job/counts.h"

namespace nervex::controller {

namespace {

template <typename T>
std::string by_job(const T& object) {
  return owner_job_uid(object.meta);
}

// Pods whose job is gone have to be found, too.
std::string by_job_key(const kube::Pod& pod) {
  std::string key = owner_job_key(pod.meta);
  return key.empty() && pod.has_finalizer ? orphans_key(pod.meta.ns) : key;
}

}  // namespace

Caches::Caches()
    : pods(by_job_key), services(by_job<Service>), pod_groups(by_job<gang::PodGroup>) {}

Result<kube::Pod> decode_pod(std::string_view json) {
  static const kube::PodFilter kFilter = gang::with_slot_annotations(job::pod_filter());
  return kube::decode_pod(json, kFilter);
}

}  // namespace nervex::controller
