// planner/preemption/failed_starts.h - how long do gangs preempt nothing because a start has
// failed? Pure.
//
// If a plan fails, the workloads that were preempted for it have ended in vain. Only pods can show
// some causes: claims that are made or bound for a pod, a plug-in of kube-scheduler. So after a
// failed start no gang with the same cause preempts for a while, which doubles with each failure in
// a row. The pause belongs to the cause in its namespace, not to the PodGroup: a job that is
// deleted and created again has the same pause, and a job with another cause has none. It ends when
// a gang with that cause has started, or when the cause is known to be over (refusals.h).
//
// In memory: the statuses of the gangs that wait tell a new leader the rest.
#pragma once

#include "base/clock.h"
#include "planner/facts/cycle_facts.h"
#include "planner/facts/snapshot.h"
#include "planner/work/cycle_state.h"
#include "planner/work/group_work.h"

namespace nervex::planner {

// Remembers failures that the statuses of waiting gangs tell, and sets GangWork::preempts_after.
void note_failed_starts(const CycleFacts& facts, CycleWork& work, PreemptionMemory& memory);

}  // namespace nervex::planner
