// planner/work/cycle_state.h - what does a scheduling cycle remember of the one before it?
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "planner/foreign/foreign_attempts.h"
#include "planner/recovery/healing.h"
#include "planner/report/gang_report.h"
#include "planner/work/waiting.h"
#include "queue/report.h"
#include "queue/tree.h"

namespace nervex::planner {

// The API server has permanently rejected a status of this PodGroup: it is too large, or violates
// the schema. The same decision again would only take capacity from others.
struct Rejection {
  // What is not tried again; each value includes those before it.
  enum class Extent {
    kNewGangs,       // plans for gangs that have none
    kNewPlacements,  // placements of further slots of committed gangs
    kAnyStatus,      // not even the status that reports the rejection
  };
  Extent extent = Extent::kNewGangs;
  std::int64_t generation = 0;  // of the spec that was decided on; another one is tried
  std::string message;          // the API server's, for people
  MonoTime due{};               // it is forgotten then, and the status tried again
};
using Rejections = std::map<std::string, Rejection>;  // by PodGroup UID

// Why a plan failed after it had its nodes: the object that its pods wait for, or their job.
// Another job that needs the same object would fail as well, and so would the same job, created
// again.
struct StartCause {
  std::string ns;
  std::string kind;
  std::string name;
  std::string variant{};  // of pods: the hash of their templates
  auto operator<=>(const StartCause&) const = default;
};
struct FailedStart {
  int count = 0;         // failures in a row
  SysTime plan_after{};  // PlanRefusals::plan_after of the last one
  SysTime until{};       // before this no gang with that cause preempts
};

// Of searches for workloads to preempt, and of what became of them.
struct PreemptionMemory {
  struct Search {
    SysTime again{};  // when the next one is due
    gang::PreemptionOutcome outcome = gang::PreemptionOutcome::kNotSearched;
  };
  std::map<GangKey, Search> searches{};  // what has been due for longest is next
  // Queue and time of preemptions that were stopped before any victim was marked. The status of the
  // Queue may still count them.
  std::set<std::pair<std::string, SysTime>> withdrawn{};
  std::map<StartCause, FailedStart> failed_starts{};  // preemption/failed_starts.h
  // No search starts before: after those of a cycle, or if the API server stores no victims.
  SysTime next_search{};
  std::optional<GangKey> asked{};  // a simulation: this gang alone searches, at once
};

// Of a node that is reserved.
struct NodeShare {
  kube::Resources kept;
  kube::Resources left;  // for all
};

struct ReservationMemory {
  std::map<GangKey, SysTime> again{};  // when the next search for nodes is due
  // The last search for workloads to reclaim: what it found, or why there was none, and when the
  // next one is due.
  std::map<GangKey, PreemptionMemory::Search> reclaims{};
  std::map<GangKey, SysTime> broken{};  // since when its reservation is impossible
  std::map<GangKey, std::map<std::string, NodeShare, std::less<>>> shares{};  // by node
  SysTime next_search{};           // no search starts before
  std::optional<GangKey> asked{};  // a simulation: this gang alone reserves nodes, at once
};

// In memory only: a new leader begins with an empty one. The writer of the decisions of a cycle
// corrects it where the API server did not store them.
struct CycleState {
  Reports reports{};
  HealingMemory healing{};
  ForeignMemory foreign{};
  Rejections rejections{};
  // When a status was last written for nothing but a new position, by PodGroup UID.
  std::map<std::string, SysTime> positions{};
  std::optional<SysTime> queues_reported{};                 // when CycleResult::queues was last set
  std::shared_ptr<const queue::QueueTree> reported_tree{};  // the queues then
  std::map<std::string, std::vector<SysTime>, std::less<>> reported_preemptions{};  // of the queues
  std::map<std::string, queue::Report::Head> heads{};  // of the queues then, by UID
  PreemptionMemory preemption{};
  ReservationMemory reservation{};
  // Gangs without any node that wait for capacity.
  WaitingGangs waiting{};
  // Something else waits for capacity, too: the missing part of a gang, or gangs of other
  // operators. Any gain may help it.
  bool waits_otherwise = false;
};

}  // namespace nervex::planner
