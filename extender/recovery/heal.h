// extender/recovery/heal.h - which nodes do the missing slots of committed gangs get? Pure.
#pragma once

#include <optional>

#include "extender/cycle/group_work.h"
#include "extender/cycle/placer.h"
#include "extender/recovery/healing.h"

namespace nervex::extender {

// Before anything starts, at any priority: waiting gangs must not keep a running gang incomplete,
// which would end with all its pods at the healing deadline. Missing slots are placed on free
// capacity, then on the gang's own reserved capacity, then instead of uncommitted plans
// (yielding_plans.h). True if capacity is kept for pods that have no slot yet.
bool heal(CycleWork& work, Placer& placer);

// Moves slots that kube-scheduler has refused for longer than the bind deadline, if there is
// another node. After slots without any placement: only the scheduler's view may be the problem.
void move_refused(CycleWork& work, Ledger& ledger, const HealingOptions& healing, SysTime now,
                  std::optional<SysTime>& next_look);

}  // namespace nervex::extender
