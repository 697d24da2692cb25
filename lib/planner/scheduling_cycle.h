// planner/scheduling_cycle.h - which PodGroups get which new status from this snapshot?
// Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "planner/facts/cycle_facts.h"
#include "planner/facts/snapshot.h"
#include "planner/new_status.h"
#include "planner/work/cycle_state.h"
#include "queue/report.h"

namespace nervex::planner {

struct CycleResult {
  std::vector<StatusWrite> writes;                      // in queue order; only changed statuses
  std::vector<ForeignDecision> foreign;                 // every gang of other operators
  std::vector<queue::Report> queues;                    // of all queues; once a minute
  std::optional<std::chrono::milliseconds> look_again;  // even if nothing changes
  std::size_t planned = 0;                              // gangs that were planned in this cycle
  // namespace/name of PodGroups with preempted gangs that were not requeued in time.
  std::set<std::string> neglected;
  CycleState state;  // for the next cycle, if all is stored
};

// The steps are numbered in the source. Plans that are there keep their capacity by rank
// (queue/order.h); waiting gangs start in the order of queue/backlog.h. A waiting gang keeps no
// capacity from the gangs behind it (docs/adr/2026-11-21-gang-planning.md), unless nodes are
// reserved for it (reservation/reserve.h), it keeps a share of a limit (steps/limit_shares.h), or
// it is preempting (preemption/preempt.h). Why a gang waits is mostly GangPlan::no_fit, which
// new_status.h turns into text; docs/architecture.md says in which order to read. Committed gangs
// keep the placements of bound pods. Before the bind, a slot is moved when its node no longer
// accepts the pod, or when kube-scheduler has refused it for longer than the bind deadline and
// there is another node. An incomplete gang reports it, and is released after the healing deadline:
// recovery/healing.h. After the writes, the same call on the same nodes at the same time returns no
// writes. A PodGroup whose status the API server has rejected gets no placements and reports it.
// Gangs of CycleState::waiting that still cannot fit are not planned again. After an exception the
// memories of preemption and reservation in `state` may be empty, as those of a new leader are.
CycleResult run_cycle(const Snapshot& snapshot, CycleState&& state, SysTime now,
                      const CycleOptions& options = {});

}  // namespace nervex::planner
