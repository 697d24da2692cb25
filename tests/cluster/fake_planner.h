// tests/cluster/fake_planner.h - the plans of a planner with unlimited capacity.
#pragma once

#include <string_view>

#include "gang/pod_group.h"

namespace nervex::testing {

// Like the planner: a slot keeps its placement, one without gets the next number.
gang::GangStatus plan_gang_on(const gang::PodGroup& group, std::string_view gang,
                              std::string_view node, std::int64_t& number);

// Plans all gangs of the spec, and removes others.
void plan_all(gang::PodGroup& group, std::string_view node);

// Commits the base gang with its plan, if the PodGroup asks for direct placement.
void commit_directly(gang::PodGroup& group);

// Commits the planned gangs, as before the bind of their first pod.
void commit_planned(gang::PodGroup& group);

}  // namespace nervex::testing
