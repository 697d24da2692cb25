// tests/planner/gang/one_cycle.h - where does a cycle place the base gang of one PodGroup?
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "planner/scheduling_cycle.h"

namespace nervex::testing {

inline const SysTime kCycleTime{std::chrono::seconds(1000)};

inline planner::GroupSeen seen(gang::PodGroup group) {
  return {std::make_shared<const gang::PodGroup>(std::move(group)), false, {}};
}

// "b1 b2", or why it waits; "-": nothing is written.
inline std::string outcome(const std::vector<placement::NodeView>& nodes,
                           const gang::PodGroup& group) {
  const planner::CycleResult result = planner::run_cycle({nodes, {seen(group)}}, {}, kCycleTime);
  if (result.writes.empty()) return "-";
  const gang::GangStatus& gang = result.writes[0].status.gangs[0];
  if (!gang.planned) return gang.message;
  std::string text;
  for (const auto& placement : gang.placements) {
    text += (text.empty() ? "" : " ") + placement.node;
  }
  return text;
}

}  // namespace nervex::testing
