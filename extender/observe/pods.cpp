#include "extender/observe/pods.h"

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

}  // namespace nervex::extender
