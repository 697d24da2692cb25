// kube/model/pod_need.h - what do the containers of a pod ask for, before it is added up?
//
// Private to kube/model: pod_requests() fills it from a DOM, decode_pod() from a scan, and the
// arithmetic is written once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/model/quantity.h"
#include "kube/model/resources.h"

namespace nervex::kube {

// As written: a request of zero is a request, and keeps the limit from standing in for it.
struct ContainerNeed {
  std::vector<ResourceAmount> requests;
  std::vector<ResourceAmount> limits;
  std::vector<std::string> host_ports;  // names of resources
  bool is_sidecar = false;              // an init container with restartPolicy Always
};

struct PodNeed {
  std::vector<ContainerNeed> containers;
  std::vector<ContainerNeed> init_containers;
  std::vector<ResourceAmount> overhead;
  ContainerNeed pod_level;  // spec.resources (Kubernetes 1.34)
};

// What pod_requests() promises.
Resources total_of(const PodNeed& need);

// kMilli for cpu, kOne for the rest.
Scale scale_of(std::string_view resource);

}  // namespace nervex::kube
