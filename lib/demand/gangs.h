// demand/gangs.h - which gangs does a job have, and how are they and their sets named? Pure.
//
// Names are made here and parsed nowhere: what a gang is stands in its fields.
#pragma once

#include <cstdint>
#include <string>

#include "gang/pod_group.h"
#include "job/types.h"

namespace nervex::demand {

// Gangs without sets.
gang::Gang base_gang();
// Base replicas that are added to a committed base gang, from this ordinal on: "base-collector-4".
gang::Gang added_replicas_gang(job::Role role, int first_ordinal);
gang::Gang request_gang(std::int64_t id);

std::string request_gang_name(std::int64_t id);  // "request-7"

// The gang's set of a role: "collector", "base-collector-4", "request-7-learner",
// "request-7-ddp-learner-1". `part`: MemberSet::part.
std::string set_name(const gang::Gang& gang, job::Role role, int part);

// Kind, numbers, and names agree as above. False: changed by a user. `set`: of the gang.
bool is_consistent(const gang::Gang& gang, const gang::MemberSet& set);

}  // namespace nervex::demand
