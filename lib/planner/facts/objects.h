// planner/facts/objects.h - how are the objects of the caches passed around? Immutable and shared.
#pragma once

#include <memory>

#include "gang/pod_group.h"
#include "kube/model/device_class.h"
#include "kube/model/foreign_pod_group.h"
#include "kube/model/node.h"
#include "kube/model/pod.h"

namespace nervex::extender {

using NodePtr = std::shared_ptr<const kube::Node>;
using PodPtr = std::shared_ptr<const kube::Pod>;
using PodGroupPtr = std::shared_ptr<const gang::PodGroup>;
using DeviceClassPtr = std::shared_ptr<const kube::DeviceClass>;
using ForeignGroupPtr = std::shared_ptr<const kube::ForeignPodGroup>;

}  // namespace nervex::extender
