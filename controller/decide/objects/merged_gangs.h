// controller/decide/objects/merged_gangs.h - which gangs of requests in a PodGroup become one?
// Pure.
//
// nervex-server merges entries of spec.requests after they are placed (server/decide/grow.h). Their
// slots then belong to one entry but still to one gang per POST, so the PodGroup would grow with
// every POST that the job ever made.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "gang/pod_group.h"
#include "job/types.h"
#include "job/wanted_slots.h"

namespace nervex::controller {

// Moves the slots of each request's gang to the oldest gang whose slots belong to the same entry,
// if
//  - both are committed and whole: the status has a placement for every slot in `gangs`, and `pods`
//    has its pod. So nothing is left to decide about them, no waiting gang grows or starts in part,
//    and a failed creation requeues no pods that ran before (creation_failures.h); and
//  - their sets are alike: same roles and parts, equal requests and constraints.
// The planner keeps such a slot's node and number, since its key is unchanged. Sets without slots
// stay in `gangs`. Until the status follows, the grown gang is not whole and no more slots are
// moved to it.
void join_merged_gangs(std::vector<gang::Gang>& gangs, const job::WantedSlots& wanted,
                       const std::set<std::pair<job::Role, job::Slot>>& pods,
                       const gang::PodGroupStatus& status);

}  // namespace nervex::controller
