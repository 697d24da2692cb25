// controller/decide/live_checks.h - what must be read from the API server before this round may
// decide, since a stale cache would look the same? Pure; observe.h reads it.
#pragma once

#include <string>
#include <vector>

#include "controller/decide/round.h"

namespace nervex::controller {

// In this order; the first that shows the attempt's end makes the others unnecessary.
struct LiveChecks {
  bool pod_group = false;             // the attempt ran, and its PodGroup seems to be deleted
  bool coordinator = false;           // the attempt ran, and its coordinator seems to be deleted
  std::vector<std::string> vanished;  // pods that would be replaced
  bool stale_objects = false;         // something would be deleted as left over
  bool operator==(const LiveChecks&) const = default;
};

// None for a job that has not begun, or has ended. Nearly always all are empty.
LiveChecks live_checks(const Round& round);

// Is it the coordinator's pod of that PodGroup's attempt?
bool is_coordinator_of(const kube::Pod& pod, const gang::PodGroup& group);

}  // namespace nervex::controller
