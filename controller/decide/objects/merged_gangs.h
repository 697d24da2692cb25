// controller/decide/objects/merged_gangs.h - which gangs of requests in a PodGroup become one?
// Pure.
//
// nervex-server merges entries of spec.requests that are placed (server/decide/grow.h). Their
// slots are then of one entry and still in a gang for each POST, so that the PodGroup would grow
// with every POST that the job ever made.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "gang/pod_group.h"
#include "job/types.h"
#include "job/wanted_slots.h"

namespace nervex::controller {

// Moves the slots of each gang of a request to the oldest gang whose slots are of the same entry,
// if
//  - both are committed and whole: the status has a place for every slot that `sets` names, and
//    `pods` has its pod, so that nothing is left to decide about them, no gang that waits grows or
//    starts in part, and a pod whose creation fails takes back none that ran before
//    (creation_failures.h); and
//  - their sets are alike: same roles and parts, equal requests and constraints.
// The planner keeps such a slot's node and number, since its key is what it was. Sets that are left
// without slots stay in `sets`. Until the status follows, the grown gang is not whole: nothing more
// is moved to it.
void join_merged_gangs(std::vector<gang::MemberSet>& sets, const job::WantedSlots& wanted,
                       const std::set<std::pair<job::Role, job::Slot>>& pods,
                       const gang::PodGroupStatus& status);

}  // namespace nervex::controller
