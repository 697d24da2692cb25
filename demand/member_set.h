// demand/member_set.h - which resources and constraints has a set of a role's pods? Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gang/pod_group.h"
#include "job/pod_manifest.h"
#include "job/types.h"
#include "job/wanted_slots.h"

namespace nervex::demand {

// A set without slots of the pods that `slot` is one of: their requests and constraints as the
// templates are now.
gang::MemberSet make_member_set(const job::Job& job, std::string name, std::string gang,
                                const job::WantedSlot& slot, const job::PodContext& context);
// The same in the gang that the job starts with: its sets have the names of their roles.
gang::MemberSet make_base_set(const job::Job& job, const job::WantedSlot& slot,
                              const job::PodContext& context);

// The base gang's set of that role; null: there is none.
gang::MemberSet* find_base_set(std::vector<gang::MemberSet>& sets, job::Role role);

// The gang runs on without the pods of that role while they are replaced: the job's own aggregator.
// The aggregator of a multi-GPU learner is a part of that learner.
bool heals_alone(std::string_view gang, job::Role role);

// The templates that such a pod is made from exist. A multi-GPU learner needs those of its
// aggregator and of its learners.
bool has_templates(const job::Job& job, const job::WantedSlot& slot,
                   const job::PodContext& context);

}  // namespace nervex::demand
