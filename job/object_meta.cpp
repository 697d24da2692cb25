#include "job/object_meta.h"

#include "job/names.h"

namespace nervex::job {
namespace {

Json strings_of(const Json& from, const char* part) {
  const Json* at = kube::find(from, {"metadata", part});
  return at != nullptr && at->is_object() ? *at : Json::object();
}

}  // namespace

Json object_meta(const Job& job, Role role, const std::string& name, const Json& from) {
  Json labels = strings_of(from, "labels");
  labels[std::string(kGroupLabel)] = kGroupLabelValue;
  labels[std::string(kJobLabel)] = job.meta.name;
  labels[std::string(kControllerLabel)] = kControllerLabelValue;
  labels[std::string(kRoleLabel)] = to_string(role);
  labels[std::string(kPodNameLabel)] = name;
  return {{"name", name},
          {"namespace", job.meta.ns},
          {"labels", std::move(labels)},
          {"annotations", strings_of(from, "annotations")},
          {"ownerReferences",
           Json::array({kube::encode_controller_ref(
               {std::string(kApiVersion), std::string(kKind), job.meta.name, job.meta.uid})})}};
}

}  // namespace nervex::job
