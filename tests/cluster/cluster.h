// tests/cluster/cluster.h - a Kubernetes cluster in memory: the API server, nodes with kubelets,
// and pods of other schedulers. Neither kube-scheduler nor our programs: a test adds those it
// needs.
//
// Nothing happens on its own: a test says which kubelet does what, and when.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/cluster/view.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_clock.h"

namespace nervex::testing {

inline constexpr const char* kNamespace = "rl";  // of all pods and PodGroups

// A pod as a user, another scheduler or a controller creates it: one container.
struct NewPod {
  std::string name;
  kube::Resources requests{};
  std::string node = "";       // already bound to it
  std::string scheduler = "";  // otherwise its scheduler
  std::vector<int> host_ports{};
  std::vector<std::string> claims{};
  std::map<std::string, std::string> annotations{};
};

class Cluster {
 public:
  FakeClock clock;
  FakeApi api{&clock};
  View view{api};  // the API server's state at the last refresh()

  // ---- nodes

  void add_node(const std::string& name, std::int64_t gpus, std::int64_t cores = 64,
                const std::string& zone = "");
  bool is_up(const std::string& node) const;
  // Sets condition Ready. `status_if_not`: False is reported by the kubelet, Unknown means that the
  // kubelet is silent.
  void set_ready(const std::string& node, bool ready, const char* status_if_not = "Unknown");
  void set_cordoned(const std::string& node, bool cordoned);
  void set_tainted(const std::string& node, bool tainted);  // NoSchedule
  void delete_node(const std::string& node);
  void repair_node(const std::string& node);  // ready, without cordon and taints

  // ---- pods. By name; the pod must exist

  void add_pod(const NewPod& pod);
  void bind_pod(const std::string& name, const std::string& node);  // as another scheduler would

  // ---- kubelets

  // Checks the resources and ports of the pods on its node. `view` must be current.
  bool admits(const PodSeen& pod) const;
  void run_pod(const std::string& name);  // running, ready and with a unique address
  void reject_pod(const std::string& name, const std::string& reason = "OutOfcpu");
  void end_pod(const std::string& name, bool well);  // its main container exits on its own
  void evict_pod(const std::string& name);

  // ---- users

  void add_aggregator_config();  // the controller's default one
  void remove_aggregator_config();

 private:
  // Merges into the pod's status. `ready`: condition Ready; other conditions stay.
  void change_status(const std::string& name, Json status, bool ready);

  int addresses_ = 0;  // assigned by kubelets
};

// A status with this condition; conditions of other writers are kept.
Json with_condition(const Json& conditions, const std::string& type, Json condition);

}  // namespace nervex::testing
