// tests/sim/scheduling.h - the scheduling side of a simulated cluster: the extender's own planner,
// filter and binder over the API server in memory, with a kube-scheduler in front.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "kube/model/node.h"
#include "kube/model/pod.h"
#include "tests/support/fake_api.h"

namespace nervex::testing {

struct ExtenderProcess;

class Scheduling {
 public:
  Scheduling(FakeApi& api, const Clock& clock);
  ~Scheduling();

  void restart();  // a new process, which lists
  void see();      // its watches have caught up
  void plan();     // one pass of the planner
  // One try of kube-scheduler at every pod that waits: only a ready node with capacity whose
  // constraints allow it, then the extender's filter, then its bind, which may be held until a
  // later try. Returns how many were bound.
  int schedule();

 private:
  void try_pod(const kube::Pod& pod, const kube::NodeConstraints& constraints);
  // That the plugins allow; "" if none does.
  std::string node_for(const kube::Pod& pod, const kube::NodeConstraints& constraints) const;

  FakeApi& api_;
  const Clock& clock_;
  std::unique_ptr<ExtenderProcess> extender_;
};

}  // namespace nervex::testing
