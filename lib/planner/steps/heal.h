// planner/steps/heal.h - which nodes do the missing slots of committed gangs get? Pure.
#pragma once

#include <optional>

#include "planner/facts/cycle_facts.h"
#include "planner/facts/next_look.h"
#include "planner/recovery/healing.h"
#include "planner/steps/class_limits.h"
#include "planner/steps/placer.h"
#include "planner/work/group_work.h"
#include "queue/facts.h"

namespace nervex::planner {

// Before anything starts, at any priority: waiting gangs must not keep a running gang incomplete,
// which would end with all its pods at the healing deadline. Missing slots are placed on free
// capacity, then on the gang's own reserved capacity, then instead of uncommitted plans
// (yielding_plans.h). A slot that fits only nodes of classes that the queue may not use waits as
// one for which there is no capacity. Gangs of other operators get the pods that they lack to have
// minMember. True if capacity is kept for pods that have no slot yet.
bool heal(CycleWork& work, Placer& placer, const queue::Facts& facts, ClassLimits& limits);

// Moves slots that kube-scheduler has refused for longer than the bind deadline, if there is
// another node. After slots without any placement: only the scheduler's view may be the problem.
void move_refused(CycleWork& work, Placer& placer, ClassLimits& limits, const CycleFacts& facts,
                  NextLook& next_look);

}  // namespace nervex::planner
