#include "extender/observe/pods.h"

#include <utility>

#include "gang/slot.h"
#include "kube/model/foreign_pod_group.h"

namespace nervex::extender {

const kube::PodFilter& pod_filter() {
  static const kube::PodFilter kFilter = kube::with_foreign_groups(gang::with_slot_annotations({}));
  return kFilter;
}

Result<kube::Pod> read_pod(kube::Api& api, const std::string& ns, const std::string& name,
                           const std::string& uid) {
  const auto body = api.send({"GET", kube::api_path(kube::kPods, ns, name), "", ""});
  if (!body) return body.error();
  auto pod = kube::decode_pod(*body, pod_filter());
  if (pod && pod->meta.uid != uid) {
    return Error{Code::kNotFound, "the pod was deleted and created again since"};
  }
  return pod;
}

void UnwatchedPods::add(PodPtr pod) {
  const std::lock_guard lock(mutex_);
  if (by_uid_.size() >= kMost) by_uid_.clear();
  std::string uid = pod->meta.uid;
  by_uid_.insert_or_assign(std::move(uid), std::move(pod));
}

PodPtr UnwatchedPods::take(const std::string& uid) {
  const std::lock_guard lock(mutex_);
  auto found = by_uid_.extract(uid);
  return found ? std::move(found.mapped()) : nullptr;
}

}  // namespace nervex::extender
