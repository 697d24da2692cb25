// kube/model/pod_need.h - what do a pod's containers request, before the sum? Private to
// kube/model: pod_requests() fills it from a DOM, decode_pod() from a scan, and both share the
// arithmetic.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/model/quantity.h"
#include "kube/model/resources.h"

namespace nervex::kube {

// As written: a request of zero counts as a request, so the limit does not replace it.
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

// The result of pod_requests().
Resources total_requests(const PodNeed& need);

// kMilli for cpu, kOne for the rest.
Scale resource_scale(std::string_view resource);

}  // namespace nervex::kube
