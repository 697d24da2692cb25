#include "kube/pod_condition.h"

#include <algorithm>
#include <utility>

#include "kube/model/json.h"
#include "kube/model/meta.h"

namespace nervex::kube {

Result<Nothing> set_pod_condition(Api& api, const PodKey& pod, Json condition) {
  const auto live = get_object(api, kPods, pod.ns, pod.name);
  if (!live) return live.error().code == Code::kNotFound ? ok() : live.error();
  const Meta meta = decode_meta(*live);
  if (meta.uid != pod.uid) return ok();
  // They are one list to a merge patch.
  Json conditions = array_at(*live, {"status", "conditions"});
  if (!conditions.is_array()) conditions = Json::array();
  const auto has_its_type = [&](const Json& one) {
    return string_at(one, {"type"}) == string_at(condition, {"type"});
  };
  conditions.erase(std::remove_if(conditions.begin(), conditions.end(), has_its_type),
                   conditions.end());
  conditions.push_back(std::move(condition));
  const Json patch{{"metadata", {{"uid", meta.uid}, {"resourceVersion", meta.resource_version}}},
                   {"status", {{"conditions", std::move(conditions)}}}};
  const auto written = merge_patch(api, kPods, pod.ns, pod.name, patch, "status");
  if (!written && written.error().code != Code::kNotFound) return written.error();
  return ok();
}

}  // namespace nervex::kube
