// tests/cluster/fake_planner.h - plans of a planner that has capacity for everything.
#pragma once

#include <string_view>

#include "gang/pod_group.h"

namespace nervex::testing {

// As the planner does it: a slot keeps its place, one without gets the next number.
gang::GangStatus plan_gang_on(const gang::PodGroup& group, std::string_view gang,
                              std::string_view node, std::int64_t& number);

// All gangs of the spec, and none that is not in it any more.
void plan_all(gang::PodGroup& group, std::string_view node);

// The base gang, if the PodGroup asks for direct placement: it is committed with its plan.
void commit_directly(gang::PodGroup& group);

// The gangs that are planned, as before the bind of their first pod.
void commit_planned(gang::PodGroup& group);

}  // namespace nervex::testing
