// tests/sim/scheduling.h - the scheduling side of a simulated cluster: the extender's own planner,
// filter and binder over the API server in memory, with a kube-scheduler in front.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "kube/model/node.h"
#include "kube/model/pod.h"
#include "tests/support/door.h"
#include "tests/support/fake_api.h"

namespace nervex::testing {

struct ExtenderProcess;

class Scheduling {
 public:
  Scheduling(FakeApi& api, const Clock& clock);
  ~Scheduling();

  // At this request the extender is killed, and started again.
  Door door;

  void restart();  // a new process, which lists
  void
  kill_scheduler();  // the extender notices that its callers have left with the next schedule()
  void see();        // its watches have caught up
  void plan();       // one pass of the planner
  // One try of kube-scheduler at every pod that waits: only a ready node with capacity whose
  // constraints allow it, then the extender's filter, then its bind, which may be held until a
  // later try. What it does not let to a node gets PodScheduled=False. Returns how many were bound.
  int schedule();
  int restarts() const { return restarts_; }

 private:
  void try_pod(const kube::Pod& pod, const kube::NodeConstraints& constraints);
  void refuse(const kube::Pod& pod);
  void in_extender(const std::function<void()>& work);
  // That the plugins allow; "" if none does.
  std::string node_for(const kube::Pod& pod, const kube::NodeConstraints& constraints) const;

  FakeApi& api_;
  const Clock& clock_;
  int restarts_ = 0;
  std::unique_ptr<ExtenderProcess> extender_;
};

}  // namespace nervex::testing
