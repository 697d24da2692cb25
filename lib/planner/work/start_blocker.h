// planner/work/start_blocker.h - what would keep a waiting gang from starting even if it had
// capacity? Pure.
//
// Preemption and reservations of nodes ask this alone: nothing ends and no node is reserved for a
// gang that is known not to start, or whose check (gang::StartCheck) has not been finished. Without
// a check nothing is known: an older controller or CustomResourceDefinition does not have the
// field, and a gang must not wait without end for an answer that no program gives.
//
// What only pods can show (claims that are made or bound for a pod) does not count here: a failed
// start only makes the next preemption wait (preemption/failed_starts.h).
#pragma once

#include <optional>

#include "base/clock.h"
#include "gang/pod_group.h"
#include "planner/facts/next_look.h"
#include "planner/work/group_work.h"

namespace nervex::planner {

// nullopt: nothing is known. A blocker without a kind: the check is not finished.
std::optional<gang::StartBlocker> find_start_blocker(const GroupWork& group, const GangWork& gang);

// A resource claim of its pods does not exist: kube-scheduler would keep them back without a word,
// so the gang is not planned, and loses a plan that it has. nullopt: nothing is known.
std::optional<gang::NotAdmitted> find_missing_claim(const GroupWork& group, const GangWork& gang);

// Sets GangWork::note of the gangs that are blocked, where others could end or nodes be reserved. A
// check that is not finished is named only after a while, since that takes a moment for each job;
// `next_look`: then.
void note_start_blockers(CycleWork& work, SysTime now, NextLook& next_look);

// Before this the gang ends nothing, since a start has failed: its own, or one with the same cause.
std::optional<SysTime> find_failure_pause(const GroupWork& group, const GangWork& gang,
                                          SysTime now);

}  // namespace nervex::planner
