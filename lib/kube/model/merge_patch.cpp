#include "kube/model/merge_patch.h"

namespace nervex::kube {

Json merge_patch_between(const Json& before, const Json& after) {
  Json patch = Json::object();
  for (const auto& [key, value] : after.items()) {
    const auto old = before.find(key);
    if (old == before.end() || *old != value) patch[key] = value;
  }
  for (const auto& [key, value] : before.items()) {
    if (!after.contains(key)) patch[key] = nullptr;
  }
  return patch;
}

}  // namespace nervex::kube
