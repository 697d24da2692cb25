// planner/report/gang_report.h - what does a gang's status report, and when is it written again?
// Pure.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "gang/no_fit.h"
#include "gang/pod_group.h"

namespace nervex::planner {

struct HealingState;

// The explanation that a waiting gang's status carries, as the values that it was made from.
struct LastReported {
  gang::NoFit no_fit;
  SysTime at{};  // when it was written
  // What a gang has lost that is being healed, and until when it is.
  std::optional<gang::HealingCause> healing_cause{};
  std::optional<SysTime> healing_deadline{};
  std::string note{};      // WaitingExtra::note
  std::string refusals{};  // PlanRefusals::message
  std::string message{};   // made from the values above; empty: not made yet
};

// The last report of each waiting gang, by PodGroup UID and gang.
using Reports = std::map<std::pair<std::string, std::string>, LastReported>;

struct GangReport {
  std::string reason;
  std::string message;
  SysTime since{};
  std::optional<gang::NoFit> cause;           // explained by the message
  std::optional<LastReported> last_reported;  // of a waiting gang: pass it in again next time
  // The numbers have changed since the message; look again after this.
  std::optional<std::chrono::milliseconds> refresh_after;
  bool is_unchanged = false;  // the status has exactly this message already
};

// `note`: what else is said of its start; may be empty.
GangReport planned_report(const gang::GangStatus* before, std::size_t pods, SysTime now,
                          const std::string& note = "");

// Not planned again yet (recovery/refusals.h).
GangReport paused_report(const gang::GangStatus& before, SysTime now);

// The API server rejects a plan of this many pods; `message` is the API server's.
GangReport rejected_report(const gang::GangStatus* before, std::size_t pods,
                           std::string_view message, SysTime now);

// `last_reported` is what this function returned when `before` was written; null: unknown.
// An explanation is rewritten at most once in `refresh_period` if only its numbers changed, or,
// where so many wait that this is longer than a minute, one shortage took the place of another.
// `extra`: what else is said of it.
struct WaitingExtra {
  const HealingState* healing = nullptr;  // of a gang that is being healed
  std::string note{};                     // why it would not start, or does not preempt
};
GangReport waiting_report(const gang::GangStatus* before, const gang::NoFit& no_fit,
                          const LastReported* last_reported, SysTime now,
                          std::chrono::milliseconds refresh_period, const WaitingExtra& extra = {});

// It gets its nodes when `victims` have ended. `may_need_fewer`: not all were tried for sparing.
GangReport preempting_report(const gang::GangStatus* before,
                             const std::vector<gang::Victim>& victims, bool may_need_fewer,
                             SysTime now);

// A committed gang that ends for another one.
GangReport preempted_report(const gang::GangStatus* before, std::string_view message, SysTime now);

// A committed gang whose queue is drained.
GangReport drained_report(const gang::GangStatus* before, std::string_view queue, SysTime now);

// The gang is being healed and every slot has a placement, or it is released.
GangReport healing_report(const gang::GangStatus* before, const HealingState& state,
                          const gang::NoFit* no_fit, SysTime now);

}  // namespace nervex::planner
