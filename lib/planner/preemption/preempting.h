// planner/preemption/preempting.h - what becomes of the gangs that are preempting? Pure.
//
// Such a gang has placements and victims in its status (preempt.h). With each look it
//   starts       its nodes have capacity for it, and its queue is within its limit: victims that
//                are not marked yet run on. If none was marked, it waits again, and starts if its
//                queue lets it
//   goes on      they will have it when what is ending has ended. Its victims are marked Preempted
//                as soon as the status of its Queue counts the preemption, if today's queues allow
//                it still
//   waits again  otherwise: others took its nodes, it changed, its job ends, or before any victim
//                is marked it turns out that it cannot start (start_blocker.h). A preemption that
//                was stopped before any victim was marked counts for nothing, and the gang pauses
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "planner/facts/cycle_facts.h"
#include "planner/facts/next_look.h"
#include "planner/facts/snapshot.h"
#include "planner/steps/placer.h"
#include "planner/steps/start_waiting.h"
#include "planner/work/cycle_state.h"
#include "planner/work/group_work.h"
#include "queue/preemption.h"

namespace nervex::planner {

// As far as its PodGroup says; null: it was deleted. kRuns or kGone.
VictimState judge_victim(const gang::PodGroup* group, const gang::Victim& victim);

// The gang, which has named its victims, gets these nodes.
void begin_preempting(GroupWork& group, GangWork& gang, std::vector<PlacedSlot> placed,
                      const queue::QueueTree& tree, queue::QueueIndex queue, Placer& placer);

// What the nodes will have for uncommitted plans when preempting gangs have got theirs; nullopt: no
// gang is preempting. `ledger`: without any plan.
std::optional<Ledger> keep_for_preempting(const CycleFacts& facts, const CycleWork& work,
                                          const Ledger& ledger);

// After healing, which comes first, and before anything starts. False: no gang is preempting.
// Reservations reclaim in all modes.
bool continue_preemptions(const CycleFacts& facts, CycleWork& work, Placer& placer,
                          NextLook& next_look);

// Changes what is remembered of withdrawn preemptions.
PreemptionTimes collect_preemption_times(const CycleFacts& facts, const CycleWork& work,
                                         PreemptionMemory& memory);
// Why the gang may not preempt yet, even if a search would find victims, and since when it may;
// nullopt: it may now. `queue`: its queue's name.
std::optional<PreemptionMemory::Search> find_preemption_pause(const GroupWork& group,
                                                              const GangWork& gang,
                                                              std::string_view queue,
                                                              const PreemptionTimes& times,
                                                              SysTime now);

}  // namespace nervex::planner
