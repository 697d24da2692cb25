// controller/decide/attempt/activity.h - since when has the attempt its place, how long was the job
// active in all, and has its gang started? Pure.
//
// A job is active while its gang starts or runs: from when the first pod of an attempt was bound
// until the attempt ends. The status has it, so that a restart of the controller loses nothing, and
// the write that ends an attempt adds its time. What the controller did not see itself, because it
// was away, pods tell: the API server notes when each was bound.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "controller/decide/round/round.h"
#include "job/types.h"

namespace nervex::controller {

// In whole seconds, and never in the future, also if another leader's clock was ahead. nullopt:
// the job waits.
std::optional<SysTime> active_since(const Round& round);

// Of all attempts since the job was created or resumed.
std::chrono::seconds active_time(const Round& round);

// Which slots of the base gang have no pod that has begun to run? A pod that has finished has.
struct NotStarted {
  int slots = 0;
  int of_slots = 0;  // that the base gang has
};
NotStarted not_started(const Round& round);
// All of them have begun, now or before.
bool has_gang_started(const Round& round);

// Sets status.activeSince and gangStartedTime of an attempt that goes on.
void report_activity(const Round& round, job::Status& status);
// The attempt is over: its time is added to status.activeSeconds.
void end_activity(const Round& round, job::Status& status);

}  // namespace nervex::controller
