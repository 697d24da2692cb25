// controller/decide/attempt/created_pods.h - did a placement without a pod ever have one? Pure.
//
// A missing pod was lost, or was never created. The status records up to which placement number
// pods were seen (job::Status::CreatedThrough). Above it the pod is created under its own name:
// correct if it was never created, and harmless if it was, since workers cannot vanish before the
// controller has seen them (cleanup.h, the tracking finalizer).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "controller/decide/round/round.h"

namespace nervex::controller {

// The new status.createdThrough, from the stored one and the pods that exist or have ended. Empty
// without a PodGroup: the next one counts its placements from 1.
job::Status::CreatedThrough created_through(const Round& round);

// Is the change worth a write of its own? Newly created pods are not: a running pod changes a
// count, and that write includes this, and until then the pod may be created again under its name.
// Deleted pods that are to be created again are worth it. So is a gang that has become part of
// another one, which reports its pods from now on.
bool is_worth_writing(const job::Status::CreatedThrough& before,
                      const job::Status::CreatedThrough& after);

// Slots of the PodGroup's placements that have had a pod, by the status. Needs a PodGroup.
std::set<gang::SlotKey> created_slots(const Round& round);

// Names of wanted pods that were created but are not in `seen`. The round is complete except for
// `vanished` and `losses`, and has a PodGroup.
std::vector<std::string> vanished_pods(const Round& round);

}  // namespace nervex::controller
