// demand/member_set.h - which resources and constraints does a set of a role's pods have? Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gang/pod_group.h"
#include "job/pod_manifest.h"
#include "job/types.h"
#include "job/wanted_slots.h"

namespace nervex::demand {

// A set without slots for pods like `slot`: requests and constraints of the current templates.
gang::MemberSet make_member_set(const job::Job& job, std::string name, std::string gang,
                                const job::WantedSlot& slot, const job::PodContext& context);
// The same for the job's initial gang, whose sets are named after their roles.
gang::MemberSet make_base_set(const job::Job& job, const job::WantedSlot& slot,
                              const job::PodContext& context);

// The base gang's set of that role; null: no such set.
gang::MemberSet* find_base_set(std::vector<gang::MemberSet>& sets, job::Role role);

// The gang keeps running while pods of that role are replaced: the job's own aggregator. The
// aggregator of a multi-GPU learner is part of that learner.
bool heals_alone(std::string_view gang, job::Role role);

// The templates for such a pod exist. A multi-GPU learner needs the aggregator's and the learners'
// templates.
bool has_templates(const job::Job& job, const job::WantedSlot& slot,
                   const job::PodContext& context);

}  // namespace nervex::demand
