// extender/cycle/new_status.h - which status does a PodGroup get from a scheduling cycle? Pure.
#pragma once

#include <optional>

#include "extender/cycle/cycle_state.h"
#include "extender/cycle/group_work.h"

namespace nervex::extender {

struct StatusWrite {
  PodGroupPtr group;  // as decided on: its resourceVersion makes the write conditional
  gang::PodGroupStatus status;
};

// After the PodGroup's gangs got what they can get in this cycle; nullopt: the status has all of it
// already. `next` gets what the next cycle has to know about the PodGroup, `next_look` when it
// changes by time alone. An unchanged placement keeps its number.
std::optional<StatusWrite> decide_status(const GroupWork& work, const CycleState& state,
                                         const HealingOptions& healing, SysTime now,
                                         CycleState& next, std::optional<SysTime>& next_look);

}  // namespace nervex::extender
