// extender/cycle/preempt.h - which waiting gang gets nodes that others still use, and what becomes
// of those? Pure.
//
// In this order, each step in the cycle after the one before it was stored:
//   1. the gang's status names nodes and victims: reason Preempting. It is not planned yet.
//   2. the status of each victim says Preempted: the controller requeues it.
//   3. when the nodes have capacity for the gang, its status names no victims any more: it is
//      planned.
// A gang whose nodes were taken by others after all victims had ended waits again, and so does one
// that was changed. Victims that are not marked by then run on.
#pragma once

#include <optional>

#include "extender/cycle/cycle_state.h"
#include "extender/cycle/group_work.h"
#include "extender/cycle/placer.h"
#include "extender/cycle/start_waiting.h"
#include "queue/preemption.h"

namespace nervex::extender {

// As far as its PodGroup says; null: it was deleted. kRuns or kGone.
VictimState judge_victim(const gang::PodGroup* group, const gang::Victim& victim);

// Steps 2 and 3, for all gangs that are preempting. Before uncommitted plans are checked: those
// that overlap give way.
void continue_preemptions(CycleWork& work, Placer& placer, SysTime now,
                          std::optional<SysTime>& next_look);

// Step 1: at most one gang of each queue, and few searches in one cycle. After start_waiting(),
// which returned `queues`. `memory` is changed to what the next cycle has to know. Cost if nothing
// that waits may preempt: what waits.
void start_preemptions(const Snapshot& snapshot, CycleWork& work, Placer& placer,
                       const QueueState& queues, queue::PreemptionMode mode,
                       PreemptionMemory& memory, SysTime now, std::optional<SysTime>& next_look);

}  // namespace nervex::extender
