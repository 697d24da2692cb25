#include "extender/observe/live_objects.h"

#include <fmt/format.h>

#include "gang/slot.h"
#include "kube/model/foreign_pod_group.h"

namespace nervex::extender {

const kube::PodFilter& pod_filter() {
  static const kube::PodFilter kFilter = [] {
    kube::PodFilter filter = kube::with_foreign_groups(gang::with_slot_annotations({}));
    filter.spec_scheduler = gang::kSchedulerName;
    filter.keeps_all_labels = true;  // MatchingPods
    return filter;
  }();
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

Result<gang::PodGroup> read_pod_group(kube::Api& api, const gang::PodGroup& known) {
  const auto object = kube::get_object(api, kube::kPodGroups, known.meta.ns, known.meta.name);
  if (!object) return object.error();
  auto group = gang::decode_pod_group(*object);
  if (group && group->meta.uid != known.meta.uid) {
    return Error{Code::kNotFound,
                 fmt::format("podgroup {}: uid {} was deleted", known.meta.key(), known.meta.uid)};
  }
  return group;
}

Result<gang::PodGroup> write_status(kube::Api& api, const gang::PodGroup& base,
                                    const gang::PodGroupStatus& status) {
  Json patch{
      {"metadata", {{"uid", base.meta.uid}, {"resourceVersion", base.meta.resource_version}}},
      {"status", gang::encode_status(status)}};
  // A merge patch keeps fields that it does not name.
  if (status.avoid.empty() && !base.status.avoid.empty()) patch["status"]["avoid"] = nullptr;
  if (status.enlarged.empty() && !base.status.enlarged.empty()) {
    patch["status"]["enlarged"] = nullptr;
  }
  const auto object =
      kube::merge_patch(api, kube::kPodGroups, base.meta.ns, base.meta.name, patch, "status");
  if (!object) return object.error();
  auto group = gang::decode_pod_group(*object);
  if (!group) return Error{Code::kTransient, group.error().message};  // stored, but not readable
  return group;
}

}  // namespace nervex::extender
