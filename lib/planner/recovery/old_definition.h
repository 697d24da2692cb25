// planner/recovery/old_definition.h - which parts of a status does an old CustomResourceDefinition
// drop? Pure.
//
// The API server drops fields that its definition does not have, and reports no error. What relies
// on such a field has to pause, and the log says what to apply.
#pragma once

#include <string>
#include <string_view>

#include "gang/pod_group.h"

namespace nervex::planner {

inline constexpr std::string_view kPodGroupDefinition = "podgroups.nervex.sensetime.com";
inline constexpr std::string_view kQueueDefinition = "queues.nervex.sensetime.com";

// Why fields were dropped, and what to do: for logs and messages.
std::string describe_old_definition(std::string_view definition);

// A gang is to preempt, and its stored status names no victims.
bool has_lost_victims(const gang::PodGroupStatus& decided, const gang::PodGroupStatus& stored);
// The same for nodes that are to be reserved, or for a field of the reservation.
bool has_lost_reservation(const gang::PodGroupStatus& decided, const gang::PodGroupStatus& stored);

}  // namespace nervex::planner
