// extender/decide/scheduling_cycle.h - which PodGroups get which new status on this snapshot? Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "extender/decide/foreign_plan.h"
#include "extender/decide/healing.h"
#include "extender/decide/view.h"
#include "extender/decide/waiting.h"
#include "placement/explain.h"

namespace nervex::extender {

struct StatusWrite {
  PodGroupPtr group;  // as it was decided on: its resourceVersion makes the write conditional
  gang::PodGroupStatus status;
};

// The explanation that a status carries.
struct LastReported {
  placement::NoFit no_fit;
  SysTime at{};  // when it was written
};

// What was last reported of each waiting gang, by PodGroup UID and gang.
using Memory = std::map<std::pair<std::string, std::string>, LastReported>;

// The API server has rejected a status of this PodGroup for good: it is too large to be stored, or
// the schema does not allow it. Deciding the same again would only take capacity from others.
struct Rejection {
  // What is not tried again; each includes those before it.
  enum class Extent {
    kNewGangs,       // plans for gangs that have none
    kNewPlacements,  // placements of further slots of committed gangs
    kAnyStatus,      // not even the status that reports the rejection
  };
  Extent extent = Extent::kNewGangs;
  std::int64_t generation = 0;  // of the spec that it was decided on; another one is tried
  std::string message;          // the API server's, for people
};
using Rejections = std::map<std::string, Rejection>;  // by PodGroup UID

struct CycleResult {
  std::vector<StatusWrite> writes;       // in the order of the queue; only what differs
  Memory memory;                         // for the next cycle; of waiting gangs only
  HealingMemory healing;                 // for the next cycle, too
  std::vector<ForeignDecision> foreign;  // of every gang of another operator
  std::optional<std::chrono::milliseconds> look_again;  // even if nothing changes
  RefusedGangs refused;          // gangs without any node that wait for capacity
  bool waits_otherwise = false;  // something else waits for it
  // They may have been refused beside what the nodes' spare capacity does not show yet: a plan of
  // another operator's gang whose pods are not seen to be nominated, or what was kept for the
  // successor of a pod.
  bool may_fit_soon = false;
  std::size_t planned = 0;  // gangs that nodes were searched for
};

// In the order of the queue (priority, queuedSince, namespace and name), in which gangs of other
// operators stand by the priority of their pods and the creation of their PodGroup:
//  1. plans that are not committed are checked; those that overlap or no longer fit lose their
//     placements, the last in the queue first;
//  2. committed gangs get places for what they have lost, whatever the priority of what waits: on
//     free capacity, then on what they have reserved themselves, then instead of plans that are not
//     committed (yielding_plans.h);
//  3. requests that take over reserved capacity are placed on it;
//  4. every gang with slots that have no placement gets all of them, or none. A gang that waits
//     holds no capacity and does not keep smaller ones behind it from starting:
//     docs/adr/2026-11-21-gang-planning.md.
// Committed gangs keep the placements of pods that are bound. Before the bind a slot gets another
// place when its node does not take the pod any more, or when kube-scheduler has refused it for
// longer than the bind deadline and there is another node. A gang that is not whole says so, and is
// given up after the healing deadline: healing.h.
// A placement that stays keeps its number. Doing the writes and asking again, on the same nodes and
// at the same time, gives none. What the API server has rejected gets no placements and says so.
// Gangs of `waiting` that may not fit are not planned again.
CycleResult run_cycle(const Snapshot& snapshot, const Memory& memory, SysTime now,
                      const Rejections& rejections = {}, const Healing& healing = {},
                      const ForeignMemory& foreign = {}, const WaitingGangs& waiting = {});

// All that the spec asks for is placed and committed, and nothing is reserved: only a new spec, or
// the loss of a pod, brings new work. `enlarged` as GroupSeen::enlarged.
bool is_settled(const gang::PodGroup& group, const std::vector<gang::EnlargedSet>& enlarged);

// -- what does a gang's status report, and when is it written again?

// An explanation whose numbers alone changed is rewritten at most this often.
inline constexpr std::chrono::milliseconds kMessageRefreshPeriod{60'000};

struct GangReport {
  std::string reason;
  std::string message;
  SysTime since{};
  std::optional<placement::NoFit> cause;      // that the message explains
  std::optional<LastReported> last_reported;  // of a gang that waits: to be given again next time
  // The message is older than the numbers; look again after this.
  std::optional<std::chrono::milliseconds> refresh_after;
};

GangReport planned_report(const gang::GangStatus* before, std::size_t pods, SysTime now);

// Not planned again yet: extender/decide/refusals.h.
GangReport paused_report(const gang::GangStatus& before, SysTime now);

// The API server does not store a plan of so many pods; `message` is its own.
GangReport rejected_report(const gang::GangStatus* before, std::size_t pods,
                           std::string_view message, SysTime now);

// `last_reported` is what this function returned when `before` was written; null: not known. `loss`
// comes before the explanation: what a gang that is healed has lost.
GangReport waiting_report(const gang::GangStatus* before, const placement::NoFit& no_fit,
                          const LastReported* last_reported, SysTime now,
                          const std::string& loss = "");

// The gang is being healed and has a place for every slot, or it is given up.
GangReport healing_report(const gang::GangStatus* before, const HealingState& state,
                          const placement::NoFit* no_fit, SysTime now);

}  // namespace nervex::extender
