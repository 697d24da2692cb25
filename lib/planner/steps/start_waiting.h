// planner/steps/start_waiting.h - which waiting gangs start in this cycle, in the order of their
// queues? Pure.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "planner/facts/cycle_facts.h"
#include "planner/facts/next_look.h"
#include "planner/steps/placer.h"
#include "planner/work/group_work.h"
#include "queue/facts.h"
#include "queue/reservation.h"
#include "queue/usage.h"
#include "queue/workload.h"

namespace nervex::planner {

// A gang of this suite that had its turn and got no nodes, or that a limit of its queue holds.
struct RefusedTurn {
  GroupWork* group = nullptr;
  GangWork* gang = nullptr;
  std::size_t workload = 0;  // into QueueState::waiting
};

// When each queue has preempted in the last minutes, ascending, by its name: as the status of the
// Queues says, and the gangs that are preempting, without what was withdrawn.
using PreemptionTimes = std::map<std::string, std::vector<SysTime>, std::less<>>;

// What waits and what is used at the end of a cycle.
struct QueueState {
  std::vector<queue::Workload> waiting;  // those that did not start, with the names of their queues
  queue::Usage usage;
  kube::Resources capacity;          // of the cluster; empty if there are no queues
  std::vector<RefusedTurn> refused;  // in the order of their turns, those that a limit holds last
  PreemptionTimes preemptions{};     // collect_preemption_times(); empty where nothing preempts
};

// Gives every gang that fits now all its placements, and the others none, in the order of
// queue/backlog.h; what committed gangs lack comes first. What a PodGroup is to reserve, and has
// lost, is reserved again after the gangs that are served before its own. The gangs that wait are
// tried once more after the last one got its placements, so that their explanations count the final
// free capacity.
// If nodes may be reserved, a gang that has waited long keeps its share of its queue's limit
// (limit_shares.h).
QueueState start_waiting(const CycleFacts& facts, CycleWork& work, Placer& placer,
                         NextLook& next_look);

// Why the gang waits, if no more than that keeps it from starting: it may be planned, its namespace
// has quota for it, and it does not take over capacity that its job has reserved. Null: more does.
const gang::NoFit* find_shortage(const RefusedTurn& turn, const Placer& placer);

}  // namespace nervex::planner
