// controller/decide/attempt/created_pods.h - did a placement without a pod ever have one? Pure.
//
// A pod that is missing was lost, or was never created. The status keeps up to which placement
// number pods were seen (job::Status::CreatedThrough). Beyond it this is not known, and the pod
// is created under its own name: right if it was never created, and harmless if it was, since
// workers cannot vanish before the controller has seen them (cleanup.h, the tracking finalizer).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "controller/decide/round/round.h"

namespace nervex::controller {

// What status.createdThrough has to say, from what it says already and the pods that are there or
// have ended. Empty while there is no PodGroup: the next one counts its placements from 1.
job::Status::CreatedThrough created_through(const Round& round);

// Is it worth a write of its own? Not that more pods were created: a pod that runs moves a count,
// whose write says this too, and until then it may be created again under its name. But that pods
// were taken back, which are to be created again. And a gang that is not there any more may have
// become part of another one, which says so from now on.
bool is_worth_writing(const job::Status::CreatedThrough& before,
                      const job::Status::CreatedThrough& after);

// Slots of the PodGroup's placements that have had a pod, as the status says. With a PodGroup.
std::set<gang::SlotKey> created_slots(const Round& round);

// Names of pods that are wanted and not in `seen`, but were created. Of a round that is complete
// but for `vanished` and `losses`, with a PodGroup.
std::vector<std::string> vanished_pods(const Round& round);

}  // namespace nervex::controller
