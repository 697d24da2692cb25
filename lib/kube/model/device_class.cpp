#include "kube/model/device_class.h"

#include <algorithm>

#include "kube/model/json.h"

namespace nervex::kube {

Result<DeviceClass> decode_device_class(std::string_view json) {
  const auto object = parse_json(json);
  if (!object) return with_context("deviceclass", object.error());
  Meta all = decode_meta(*object);
  if (all.name.empty()) return Error{Code::kInvalid, "deviceclass: metadata.name is missing"};
  DeviceClass device_class;
  device_class.meta.name = std::move(all.name);
  device_class.meta.uid = std::move(all.uid);
  device_class.meta.resource_version = std::move(all.resource_version);
  device_class.extended_resource = string_at(*object, {"spec", "extendedResourceName"});
  return device_class;
}

std::vector<std::string> backed_resources(
    const std::vector<std::shared_ptr<const DeviceClass>>& classes) {
  std::vector<std::string> resources;
  for (const auto& one : classes) {
    resources.push_back(std::string(kDeviceClassPrefix) + one->meta.name);
    if (!one->extended_resource.empty()) resources.push_back(one->extended_resource.str());
  }
  std::sort(resources.begin(), resources.end());
  resources.erase(std::unique(resources.begin(), resources.end()), resources.end());
  return resources;
}

Resources with_delegated(const Resources& allocatable, const std::vector<std::string>& resources) {
  Resources all = allocatable;
  for (const std::string& resource : resources) {
    if (all.get(resource) == 0) all.set(resource, kDelegated);
  }
  return all;
}

}  // namespace nervex::kube
