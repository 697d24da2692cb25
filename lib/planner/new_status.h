// planner/new_status.h - which status does a PodGroup get from a scheduling cycle? Pure.
#pragma once

#include <cstddef>
#include <optional>

#include "planner/facts/cycle_facts.h"
#include "planner/facts/next_look.h"
#include "planner/work/cycle_state.h"
#include "planner/work/group_work.h"

namespace nervex::planner {

struct StatusWrite {
  gang::PodGroupPtr group;  // as decided on: its resourceVersion makes the write conditional
  gang::PodGroupStatus status;
};

// What the decisions about all PodGroups of a cycle have in common.
struct StatusContext {
  const CycleFacts& facts;
  const CycleState& state;  // of the cycle before
  std::size_t waiting = 0;  // gangs: refresh_period() of next_look.h
  CycleState& next;         // gets what the next cycle has to know about the PodGroups
  NextLook& next_look;      // when a decision changes by time alone
};

// After the PodGroup's gangs got what they can get in this cycle; nullopt: the status has all of it
// already. An unchanged placement keeps its number.
std::optional<StatusWrite> decide_status(const GroupWork& work, const StatusContext& context);

}  // namespace nervex::planner
