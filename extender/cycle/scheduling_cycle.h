// extender/cycle/scheduling_cycle.h - which PodGroups get which new status from this snapshot?
// Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "extender/cycle/foreign_plan.h"
#include "extender/cycle/snapshot.h"
#include "extender/cycle/waiting.h"
#include "extender/recovery/healing.h"
#include "placement/explain.h"

namespace nervex::extender {

struct StatusWrite {
  PodGroupPtr group;  // as decided on: its resourceVersion makes the write conditional
  gang::PodGroupStatus status;
};

// The explanation that a status carries.
struct LastReported {
  placement::NoFit no_fit;
  SysTime at{};  // when it was written
};

// The last report of each waiting gang, by PodGroup UID and gang.
using Memory = std::map<std::pair<std::string, std::string>, LastReported>;

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
};
using Rejections = std::map<std::string, Rejection>;  // by PodGroup UID

struct CycleResult {
  std::vector<StatusWrite> writes;                      // in queue order; only changed statuses
  Memory memory;                                        // for the next cycle; only waiting gangs
  HealingMemory healing;                                // for the next cycle
  std::vector<ForeignDecision> foreign;                 // every gang of other operators
  std::optional<std::chrono::milliseconds> look_again;  // even if nothing changes
  RefusedGangs refused;          // gangs without any node, waiting for capacity
  bool waits_otherwise = false;  // something else waits for capacity
  // They may have been refused because of capacity that the nodes still show as spare: a plan of
  // another operator's gang whose nominations were not seen yet, or capacity kept for the successor
  // of a pod.
  bool may_fit_soon = false;
  std::size_t planned = 0;  // gangs that were planned in this cycle
};

// In queue order (priority, queuedSince, namespace and name); gangs of other operators are ordered
// by the priority of their pods and the creation of their PodGroup:
//  1. uncommitted plans are checked; those that overlap or no longer fit lose their placements, the
//     last in the queue first;
//  2. committed gangs get new places for lost ones, before waiting gangs of any priority: on free
//     capacity, then on their own reserved capacity, then instead of uncommitted plans
//     (yielding_plans.h);
//  3. requests that take over reserved capacity are placed on it;
//  4. each gang with unplaced slots gets all of them, or none. A waiting gang holds no capacity and
//     does not keep smaller gangs behind it from starting: docs/adr/2026-11-21-gang-planning.md.
// Committed gangs keep the placements of bound pods. Before the bind, a slot is moved when its node
// no longer accepts the pod, or when kube-scheduler has refused it for longer than the bind
// deadline and there is another node. An incomplete gang reports it, and is released after the
// healing deadline: healing.h.
// An unchanged placement keeps its number. After the writes, the same call on the same nodes at the
// same time returns no writes. A PodGroup whose status the API server has rejected gets no
// placements and reports it. Gangs of `waiting` that still cannot fit are not planned again.
CycleResult run_cycle(const Snapshot& snapshot, const Memory& memory, SysTime now,
                      const Rejections& rejections = {}, const Healing& healing = {},
                      const ForeignMemory& foreign = {}, const WaitingGangs& waiting = {});

// All that the spec wants is placed and committed, and nothing is reserved: only a new spec or the
// loss of a pod brings new work. `enlarged` as in GroupSeen::enlarged.
bool is_settled(const gang::PodGroup& group, const std::vector<gang::EnlargedSet>& enlarged);

// -- what does a gang's status report, and when is it written again?

// An explanation is rewritten at most this often if only its numbers changed.
inline constexpr std::chrono::milliseconds kMessageRefreshPeriod{60'000};

struct GangReport {
  std::string reason;
  std::string message;
  SysTime since{};
  std::optional<placement::NoFit> cause;      // explained by the message
  std::optional<LastReported> last_reported;  // of a waiting gang: pass it in again next time
  // The numbers have changed since the message; look again after this.
  std::optional<std::chrono::milliseconds> refresh_after;
};

GangReport planned_report(const gang::GangStatus* before, std::size_t pods, SysTime now);

// Not planned again yet (refusals.h).
GangReport paused_report(const gang::GangStatus& before, SysTime now);

// The API server rejects a plan of this many pods; `message` is the API server's.
GangReport rejected_report(const gang::GangStatus* before, std::size_t pods,
                           std::string_view message, SysTime now);

// `last_reported` is what this function returned when `before` was written; null: unknown. `loss`
// is put before the explanation: what a healing gang has lost.
GangReport waiting_report(const gang::GangStatus* before, const placement::NoFit& no_fit,
                          const LastReported* last_reported, SysTime now,
                          const std::string& loss = "");

// The gang is being healed and every slot has a placement, or it is released.
GangReport healing_report(const gang::GangStatus* before, const HealingState& state,
                          const placement::NoFit* no_fit, SysTime now);

}  // namespace nervex::extender
