// planner/preemption/preempt.h - which waiting gang gets nodes that others still use? Pure.
//
// In this order, each step in a cycle after the one before it was stored:
//   1. the gang's status names nodes and victims: reason Preempting. It is not planned yet.
//   2. the status of its Queue counts the preemption.
//   3. the status of each victim says Preempted: the controller requeues it.
//   4. when the nodes have capacity for the gang, its status names no victims any more: it is
//      planned.
// Steps 2 to 4: preempting.h.
//
// Victims are chosen in Starter::find_victims(): from the candidates of work/running_gangs.h, those
// that queue::find_preemptible() allows, and of these the cheapest few without which the gang fits,
// by queue::search_victims(). Victims on nodes that are reserved for a gang:
// reservation/reserve.h.
#pragma once

#include <optional>

#include "planner/facts/cycle_facts.h"
#include "planner/facts/next_look.h"
#include "planner/preemption/preempting.h"
#include "planner/steps/placer.h"
#include "planner/steps/start_waiting.h"
#include "planner/work/cycle_state.h"
#include "planner/work/group_work.h"
#include "queue/preemption.h"

namespace nervex::planner {

// Step 1: at most one gang in one cycle and one of each queue at a time. Searches are few in one
// cycle, and the gangs that wait take turns. After start_waiting(), which returned `queues`.
// If nodes were reserved in this cycle, a later one searches, which follows at once. `memory` is
// changed to what the next cycle has to know. Cost if nothing that waits may preempt: what waits.
void start_preemptions(const CycleFacts& facts, CycleWork& work, Placer& placer,
                       const QueueState& queues, PreemptionMemory& memory, NextLook& next_look);

}  // namespace nervex::planner
