// controller/decide/live_checks.h - what must be read from the API server before a round may
// decide, because a stale cache would look the same? observe.h reads it. Pure.
#pragma once

#include <string>
#include <vector>

#include "controller/decide/round/round.h"

namespace nervex::controller {

// In this order; if one shows that the attempt has ended, the rest is skipped.
struct LiveChecks {
  bool pod_group = false;             // the attempt ran, and its PodGroup seems deleted
  bool coordinator = false;           // the attempt ran, and its coordinator seems deleted
  std::vector<std::string> vanished;  // pods that would be replaced
  bool stale_objects = false;         // something would be deleted as stale
  bool released = false;              // a gang that the extender has released would be requeued
  bool operator==(const LiveChecks&) const = default;
};

// None for a job that has not begun, has ended or is being deleted. Usually empty.
LiveChecks live_checks(const Round& round);

}  // namespace nervex::controller
