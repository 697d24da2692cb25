// job/ports.h - which ports do a pod's main container and its service have? Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "job/pod_manifest.h"
#include "job/slots.h"
#include "job/types.h"

namespace nervex::job {

inline constexpr int kMasterPort = 10'314;  // where the pods of a multi-GPU learner meet
inline constexpr std::string_view kMasterPortName = "master-port";
inline constexpr int kMaxPort = 65'535;

struct Port {
  std::string name;
  int number = 0;
  bool operator==(const Port&) const = default;
};

// The main port. A ddp-learner also has the master port and one port for each of its GPUs:
// gpu-port-<r> with number main port + r, where r is the GPU's rank within the learner (global rank
// 0 uses the main port). No number appears twice, and none is above kMaxPort, which Kubernetes
// would refuse: ports omitted for this reason fail check_gpu_ports() first.
std::vector<Port> make_ports(const Job& job, Role role, Slot slot, const RequestEntry* entry,
                             const PodContext& context);

// The port numbers of a ddp-learner's GPUs, by global rank.
std::vector<int> make_gpu_ports(int main_port, const DdpPlace& place);

// Whether a learner with that split can have a port for every GPU beside the first pod's master
// port. kInvalid names the rank and what it conflicts with.
Result<Nothing> check_gpu_ports(int main_port, const std::vector<int>& gpu_split);

// The number of the nervex-port that declare_ports() adds to the main container of such a pod; 0:
// the container declares its own.
int added_main_port(const Json& pod_spec, Role role);

// Declares the ports on the main container of a pod. Keeps the user's ports, except those with one
// of our names. The same number may appear under two names.
void declare_ports(Json& container, const std::vector<Port>& ports);

}  // namespace nervex::job
