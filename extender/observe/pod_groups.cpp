#include "extender/observe/pod_groups.h"

#include <fmt/format.h>

namespace nervex::extender {

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
