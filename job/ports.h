// job/ports.h - which ports does a pod serve, on its main container and its service? Pure.
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

// The main port; of a ddp-learner also one for each of its GPUs, gpu-port-<r> with number main port
// + r, r being the GPU's rank among all of the learner (global rank 0 is at the main port), and the
// master port. No number stands twice and none is above kMaxPort, which Kubernetes would refuse:
// what is left out then, check_gpu_ports() has refused before.
std::vector<Port> ports_of(const Job& job, Role role, Slot slot, const RequestEntry* entry,
                           const PodContext& context);

// The numbers at which a ddp-learner's GPUs are reached, by global rank.
std::vector<int> gpu_ports_of(int main_port, const DdpPlace& place);

// Whether a learner with that split can have a port for every GPU beside the master port, which is
// the first pod's. kInvalid says which rank is in the way of what.
Result<Nothing> check_gpu_ports(int main_port, const std::vector<int>& gpu_split);

// The number at which declare_ports() adds nervex-port to the main container of such a pod; 0: the
// container declares its own.
int added_main_port(const Json& pod_spec, Role role);

// Declares them on the main container of a pod. Ports of the user's stay, but for those with one of
// our names; the same number may stand there under two names.
void declare_ports(Json& container, const std::vector<Port>& ports);

}  // namespace nervex::job
