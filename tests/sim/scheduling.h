// tests/sim/scheduling.h - the scheduling side of a simulated cluster: the extender's own planner,
// filter and binder behind a kube-scheduler.
#pragma once

#include <functional>
#include <memory>

#include "tests/extender/kube_scheduler.h"
#include "tests/support/door.h"

namespace nervex::testing {

class Scheduling {
 public:
  explicit Scheduling(Cluster& cluster);

  // A fault in a request kills the extender, which is then restarted.
  Door door;

  void restart();  // a new process that lists first
  // The extender notices in the next schedule() that its callers have left.
  void kill_scheduler() { scheduler_.restart(); }
  void see();   // its watches catch up
  void plan();  // one scheduling cycle
  // kube-scheduler tries every waiting pod once. A refused pod gets PodScheduled=False. Returns the
  // number of bound pods.
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
