// kube/model/device_class.h - which extended resources can kube-scheduler allocate from devices of
// a DeviceClass (KEP-5004, DRAExtendedResource)?
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kube/model/meta.h"
#include "kube/model/node.h"
#include "kube/model/shared.h"

namespace nervex::kube {

struct DeviceClass {               // resource.k8s.io/v1
  Meta meta;                       // only name, uid and resourceVersion
  SharedString extended_resource;  // spec.extendedResourceName; empty: none
  bool operator==(const DeviceClass&) const = default;
};

// kInvalid: not JSON, or metadata.name is missing.
Result<DeviceClass> decode_device_class(std::string_view json);

// Each class backs this resource, followed by its name.
inline constexpr std::string_view kDeviceClassPrefix = "deviceclass.resource.kubernetes.io/";

// The extended resources that these classes back, by the name that they state and by their own;
// sorted. A pod that requests one gets devices on any node that does not list it.
std::vector<std::string> backed_resources(
    const std::vector<std::shared_ptr<const DeviceClass>>& classes);

// -- in the view of a planner, which does not know the devices

// What a node has of a backed resource that it does not list: more than any pods request, and far
// enough from the limits of int64 for sums over nodes.
inline constexpr std::int64_t kDelegated = std::int64_t{1} << 50;
// This amount of a node is not counted here, but left to kube-scheduler.
inline bool is_delegated(std::int64_t allocatable) { return allocatable > kDelegated / 2; }

// The allocatable resources of a node with kDelegated of each of `resources` that it does not list.
// As kube-scheduler 1.36 (NodeResourcesFit, shouldDelegateResourceToDRA): a node that lists it, as
// with a device plugin, has as much as it lists.
Resources with_delegated(const Resources& allocatable, const std::vector<std::string>& resources);

}  // namespace nervex::kube
