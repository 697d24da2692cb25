// tests/sim/scheduling.h - the scheduling side of a simulated cluster: the extender's own planner,
// filter and binder, with a kube-scheduler in front.
#pragma once

#include <functional>
#include <memory>

#include "tests/extender/kube_scheduler.h"
#include "tests/support/door.h"

namespace nervex::testing {

class Scheduling {
 public:
  explicit Scheduling(Cluster& cluster);

  // At this request the extender is killed, and started again.
  Door door;

  void restart();  // a new process, which lists
  // The extender notices that its callers have left with the next schedule().
  void kill_scheduler() { scheduler_.restart(); }
  void see();   // its watches have caught up
  void plan();  // one pass of the planner
  // One try of kube-scheduler at every pod that waits. What it does not let to a node gets
  // PodScheduled=False. Returns how many were bound.
  int schedule();
  int restarts() const { return restarts_; }

 private:
  void in_extender(const std::function<void()>& work);

  Cluster& cluster_;
  int restarts_ = 0;
  std::unique_ptr<ExtenderProcess> extender_;
  KubeScheduler scheduler_;
};

}  // namespace nervex::testing
