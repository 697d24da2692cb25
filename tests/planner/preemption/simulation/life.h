// tests/planner/preemption/simulation/life.h - a random life of gangs that preempt each
// other: users, the controller, kubelets, another scheduler, and leaders that end or come late.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/planner/leaders.h"
#include "tests/planner/preemption/simulation/rules.h"

namespace nervex::testing {

// What a faulty leader does.
enum class PreemptionFault {
  kNone,
  kMarksBeforeStored,
  kPlansAtOnce,
  kMarksUncounted,
  kChecksWithoutClasses,  // what it has started, it judges without the classes of nodes
  kLendsTwice,            // a terminating pod, and its slot as given back by a victim
  kForgetsMarks,          // those of gangs that were not requeued in time
};

class PreemptionLife {
 public:
  PreemptionLife(unsigned seed, PreemptionFault fault);

  // One event.
  void step();
  // No more events: leaders and controllers work until nothing is to be done.
  void come_to_rest();

  const std::vector<std::string>& broken() const { return rules_.broken; }
  const std::map<std::string, int>& happened() const { return rules_.happened; }

 private:
  void note(const char* what) { ++rules_.happened[what]; }
  unsigned below(unsigned count) { return testing::below(rng_, count); }
  gang::PodGroup* pick();

  // ---- users, and what happens to their pods
  void add_job();
  void end_a_job();
  void change_a_job();
  void add_request();
  void evict_a_gang();
  void let_another_scheduler();

  // ---- the controller, and kubelets. `all`: they do what they can
  void control(bool all);
  void end_pods(bool all);

  // ---- leaders
  void run_leader(bool ends);
  void write_as_old_leader();
  planner::Snapshot distort(const StoredCluster& cluster) const;
  void expire();
  void store(const planner::StatusWrite& write);
  void commit_plans();

  std::mt19937 rng_;
  const PreemptionFault fault_;
  const bool uses_classes_;
  const bool uses_cpu_;
  StoredCluster cluster_;
  PreemptionRules rules_{cluster_};
  Leaders leaders_{rng_};
  std::vector<gang::PodGroup> old_;  // as an old leader has seen them
  SysTime away_until_{};             // the controller
  SysTime now_{std::chrono::seconds(10'000)};
  int next_job_ = 0;
};

}  // namespace nervex::testing
