// planner/reserved_nodes/tenants.h - who uses these nodes, and until when? Pure.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "planner/facts/cycle_facts.h"
#include "planner/facts/snapshot.h"
#include "planner/work/ending.h"
#include "planner/work/group_work.h"
#include "planner/work/running_gangs.h"
#include "queue/reservation.h"
#include "queue/workload.h"

namespace nervex::planner {

using NodeNames = std::unordered_set<std::string_view>;
using NodeAmounts = std::map<std::string, kube::Resources, std::less<>>;  // by node

// A gang that runs on some of the nodes, is planned there or preempts there, or a pod that is being
// deleted.
struct NodeTenant {
  queue::Workload workload{};
  std::string_view job{};  // UID of its PodGroup
  std::optional<SysTime> latest_end{};
  std::optional<SysTime> promised_end{};
  bool is_ending = false;    // by itself or for another gang
  bool is_late = false;      // a pod that is being deleted, but takes long, or is stuck
  SysTime pod_end{};         // of a pod that is being deleted
  bool is_starting = false;  // it is not committed yet, or heals: it is not ended now
  GangWork* plan = nullptr;  // it is planned, and neither committed nor preempting
  NodeAmounts use{};         // of these nodes

  // On any of these nodes, which are keys of a set or a map.
  template <typename Nodes>
  bool is_on(const Nodes& nodes) const {
    return std::any_of(use.begin(), use.end(),
                       [&](const auto& one) { return nodes.count(one.first) > 0; });
  }
  queue::Tenant terms() const { return {&workload, latest_end, promised_end, job}; }
};

// When the job has ended, as known when it was planned; nullopt: unknown, or without bound.
std::optional<SysTime> find_promised_end(const gang::PodGroup& group);

// A workload of that running gang.
queue::Tenant make_tenant(const RunningGang& gang, const queue::Workload& workload);

// The gang preempts for its reservation: may the victim be reclaimed still? `reclaiming_queues`:
// queue::find_reclaiming_queues() of its queue.
bool is_still_reclaimable(const std::vector<std::string_view>& reclaiming_queues,
                          const GroupWork& group, const GangWork& gang, const GroupWork& victim,
                          const GangWork& victim_gang);

// Borrows its arguments, as the tenants do. Cost: the placements of all gangs.
std::vector<NodeTenant> list_tenants(const CycleFacts& facts, CycleWork& work, const Ending& ending,
                                     const NodeNames& nodes);

}  // namespace nervex::planner
