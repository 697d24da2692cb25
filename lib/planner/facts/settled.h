// planner/facts/settled.h - is there anything left to decide about a PodGroup? Pure.
#pragma once

#include <vector>

#include "gang/pod_group.h"

namespace nervex::planner {

// All that the spec wants is placed and committed, and nothing is reserved: only a new spec or the
// loss of a pod brings new work. `enlarged` as in GroupSeen::enlarged.
bool is_settled(const gang::PodGroup& group, const std::vector<gang::EnlargedSet>& enlarged);

// It has capacity without a pod, or asks for it. Such capacity needs checks: its nodes may be lost.
bool reserves_capacity(const gang::PodGroup& group);

}  // namespace nervex::planner
