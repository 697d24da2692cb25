// planner/gang/direct_placement.h - may a gang be committed with its plan, so that its pods
// are created with their nodes? Pure.
//
// Such pods meet neither kube-scheduler nor a bind: their creation is the bind, so the gang has to
// be committed first. The controller asks for it when the pods' shapes contain everything that
// decides on their nodes (PodGroupSpec::direct_placement), and creates them only after it has seen
// the commit. docs/adr/2026-11-23-direct-placement.md.
#pragma once

#include <string_view>

#include "gang/pod_group.h"
#include "planner/gang/gang_work.h"

namespace nervex::planner {

// For a gang with a placement for every slot. False (its first bind then commits it) if direct
// placement was not requested, the gang is not the base gang or has only pods that are bound last,
// or kube-scheduler knows more than the planner: claims, devices of a DeviceClass, or the reason it
// refused the last plan.
bool may_commit_when_planned(const GangWork& work);

// Sets the status of such a gang; it has its placements.
void commit_directly(gang::GangStatus& gang);

// `after` commits the gang directly, and `before` does not. (A gang that takes over slots of a
// committed one is committed with that one's placements: there is nothing to check.)
bool is_committed_directly(const gang::PodGroupStatus& before, const gang::GangStatus& after);

}  // namespace nervex::planner
