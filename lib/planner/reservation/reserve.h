// planner/reservation/reserve.h - which waiting gangs get nodes reserved, and which take
// nodes back that are reserved for them? Pure.
//
// The first gang in the order of service that has waited long for capacity, and that an empty
// cluster could hold, gets the nodes on which it starts first if nothing else does: those of its
// plan without what ends soonest. Its status names them, so a new leader goes on with them. Nodes
// have one reservation; a gang that is served earlier gets them from one that is served later.
// Where jobs without a deadline are in the way it is a guess what ends soonest, and nodes are
// chosen again after a while.
#pragma once

#include <optional>

#include "planner/facts/cycle_facts.h"
#include "planner/facts/next_look.h"
#include "planner/preemption/preempting.h"
#include "planner/steps/placer.h"
#include "planner/steps/start_waiting.h"
#include "planner/work/cycle_state.h"
#include "planner/work/group_work.h"
#include "queue/reservation.h"

namespace nervex::planner {

// After start_waiting(), which returned `queues`. At most one search in one cycle, which is bounded
// as those for preemption are, then a pause; those for what to take back come first, then the gangs
// take turns. If nodes were reserved, Placer::reserved() knows it.
void keep_reservations(const CycleFacts& facts, CycleWork& work, Placer& placer,
                       const QueueState& queues, ReservationMemory& memory, NextLook& next_look);

}  // namespace nervex::planner
