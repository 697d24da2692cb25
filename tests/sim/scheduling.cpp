#include "tests/sim/scheduling.h"

#include "base/log.h"

namespace nervex::testing {

Scheduling::Scheduling(Cluster& cluster)
    : door(cluster.api), cluster_(cluster), scheduler_(cluster, extender_, {}) {
  set_log_level(LogLevel::kError);
  scheduler_.in_extender = [this](const auto& work) { in_extender(work); };
  scheduler_.look = [this] { cluster_.view.refresh(); };
  restart();
}

void Scheduling::restart() {
  extender_ = std::make_unique<ExtenderProcess>(door, cluster_.api, cluster_.clock);
  extender_->list(cluster_.api.resource_version());
  ++restarts_;
}

void Scheduling::in_extender(const std::function<void()>& work) {
  try {
    work();
  } catch (const Killed&) {
    restart();
  }
}

void Scheduling::see() { extender_->deliver(cluster_.api.resource_version()); }

void Scheduling::plan() {
  in_extender([this] { extender_->planner.schedule_once(); });
}

int Scheduling::schedule() {
  cluster_.view.refresh();
  int bound = 0;
  for (const std::string& uid : scheduler_.waiting()) {
    scheduler_.try_pod(uid);
    bound += scheduler_.finish_held();
    see();
  }
  extender_->held.notice_callers();
  return bound + scheduler_.finish_held();  // the one that is bound last waited for what was seen
}

}  // namespace nervex::testing
