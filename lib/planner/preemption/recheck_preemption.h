// planner/preemption/recheck_preemption.h - do today's queues still allow a preemption that
// was started? Pure.
//
// Asked before the first victim is marked. It uses the facts with which victims are chosen
// (preempt.cpp), so that a preemption which was just started passes.
#pragma once

#include <vector>

#include "planner/facts/cycle_facts.h"
#include "planner/work/group_work.h"
#include "queue/preemption.h"

namespace nervex::planner {

// May these victims, of those that the gang names, end for it? Requires that the gang is not
// assumed, and that the other gangs which preempt are: queues count the nodes of those as used.
// Cost: running gangs.
bool is_still_allowed(const CycleFacts& facts, CycleWork& work, const GroupWork& group,
                      const GangWork& gang, std::vector<const gang::Victim*> victims,
                      const Ledger& ledger);

// The same for victims that end for its reservation: may it start when they have ended? By today's
// queues alone; whether they may end is asked of each (is_still_reclaimable()).
bool may_start_without(const CycleFacts& facts, CycleWork& work, const GroupWork& group,
                       const GangWork& gang, const std::vector<const gang::Victim*>& victims,
                       const Ledger& ledger);

// Its placements take a queue above its limit now: its victims may have to end for the limit alone,
// with nodes that are free. Other gangs that preempt do not count, since they have not started.
bool exceeds_limit(const CycleFacts& facts, CycleWork& work, const GroupWork& group,
                   const GangWork& gang, const Ledger& ledger);

}  // namespace nervex::planner
