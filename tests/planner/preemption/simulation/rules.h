// tests/planner/preemption/simulation/rules.h - what may leaders write while gangs preempt
// each other? Judged by the stored objects alone.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/planner/stored_cluster.h"

namespace nervex::testing {

// Borrows the cluster.
class PreemptionRules {
 public:
  explicit PreemptionRules(const StoredCluster& cluster) : cluster_(cluster) {}

  void begin_cycle() { named_.clear(); }
  // Before the status is stored.
  void judge(const gang::PodGroup& group, const gang::PodGroupStatus& after, SysTime now);
  // When all that is to end has ended, the gangs that named victims in this cycle fit beside the
  // rest.
  void check_victims_are_enough();
  // Nothing has happened for long.
  void check_rest();
  void fail(std::string why) { broken.push_back(std::move(why)); }

  // The leader decided on an old state: what it writes may be based on what was true then.
  bool is_leader_old = false;
  // Nothing happens any more, and what has ended for others has come again.
  bool is_at_rest = false;
  std::vector<std::string> broken;
  std::map<std::string, int> happened;

 private:
  void judge_mark(const gang::PodGroup& group, const gang::GangStatus& gang, SysTime now);
  bool are_marks_old(SysTime now) const;
  bool ends(const gang::PodGroup& group, const gang::GangStatus& gang) const;

  const StoredCluster& cluster_;
  std::set<std::pair<std::string, std::string>> named_;   // PodGroup UID and gang, in this cycle
  std::set<std::pair<std::string, std::int64_t>> ended_;  // PodGroup UID, first placement
};

}  // namespace nervex::testing
