// kube/model/objects.h - how are the objects of the caches passed around? Immutable and shared.
#pragma once

#include <memory>

#include "kube/model/device_class.h"
#include "kube/model/foreign_pod_group.h"
#include "kube/model/node.h"
#include "kube/model/pod.h"

namespace nervex::kube {

using NodePtr = std::shared_ptr<const Node>;
using PodPtr = std::shared_ptr<const Pod>;
using DeviceClassPtr = std::shared_ptr<const DeviceClass>;
using ForeignGroupPtr = std::shared_ptr<const ForeignPodGroup>;

}  // namespace nervex::kube
