// extender/decide/direct_placement.h - may a gang be committed with its plan, so that its pods are
// created with their nodes? Pure.
//
// Such pods meet neither kube-scheduler nor a bind: their creation is the bind, and by then the
// gang has to be committed. The controller asks for it where all that decides on the pods' nodes is
// in their shapes (PodGroupSpec::direct_placement), and creates them only when it has seen the
// commit. docs/adr/2026-11-23-direct-placement.md.
#pragma once

#include <string_view>

#include "extender/decide/gang_work.h"
#include "gang/pod_group.h"

namespace nervex::extender {

// Of a gang that has a place for every slot. False, and its first bind commits it as ever: nobody
// asked, it is not the base gang or has only pods that are bound last, or there is something that
// the planner does not know: claims, or what kube-scheduler has refused its last plan for.
bool may_commit_when_planned(const GangWork& work);

// The status of such a gang, with its placements.
void commit_directly(gang::GangStatus& gang);

// `after` commits the gang so, and `before` does not. (A gang that takes over slots of a committed
// one is committed with what that one has: there is nothing to check.)
bool is_committed_directly(const gang::PodGroupStatus& before, const gang::GangStatus& after);

}  // namespace nervex::extender
