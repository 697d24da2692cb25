// controller/decide/attempt/activity.h - since when is the attempt active, how long was the job
// active in total, and has its gang started? Pure.
//
// A job is active while its gang starts or runs: from the first bind of an attempt's pod until the
// attempt ends. The status records it, so a restart of the controller loses nothing, and the write
// that ends an attempt adds its time. If the controller was down meanwhile, the pods show when each
// was bound, by the API server's clock.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "controller/decide/round/round.h"
#include "job/types.h"

namespace nervex::controller {

// In whole seconds, never in the future, even if another leader's clock was ahead. nullopt: the job
// waits.
std::optional<SysTime> active_since(const Round& round);

// Total of all attempts since the job was created or resumed.
std::chrono::seconds active_time(const Round& round);

// Slots of the base gang whose pod has never run. A finished pod has run.
struct NotStarted {
  int slots = 0;
  int of_slots = 0;  // slots of the base gang
};
NotStarted not_started(const Round& round);
// All of them have run at some time.
bool has_gang_started(const Round& round);

// Sets status.activeSince and gangStartedTime of an attempt that goes on.
void report_activity(const Round& round, job::Status& status);
// The attempt is over: its time is added to status.activeSeconds.
void end_activity(const Round& round, job::Status& status);

}  // namespace nervex::controller
