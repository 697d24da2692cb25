// demand/member_set.h - which resources and constraints does a set of a role's pods have? Pure.
#pragma once

#include "gang/pod_group.h"
#include "job/pod_manifest.h"
#include "job/types.h"
#include "job/wanted_slots.h"

namespace nervex::demand {

// A set of `gang` without slots for pods like `slot`: requests and constraints of the current
// templates.
gang::MemberSet make_member_set(const job::Job& job, const gang::Gang& gang,
                                const job::WantedSlot& slot, const job::PodContext& context);

// The topology spread constraints of a role's pods, and the counters of those constraints of the
// job that count them. Cost if no template has constraints: none.
void set_topology_spread(const job::Job& job, job::Role role, bool is_requested,
                         const job::PodContext& context, gang::PodShape& shape);

// The first set of that role; null: no such set.
gang::MemberSet* find_role_set(gang::Gang& gang, job::Role role);

// The gang keeps running while pods of that role are replaced: the job's own aggregator. The
// aggregator of a multi-GPU learner is part of that learner.
bool heals_alone(gang::GangKind gang, job::Role role);

// The templates for such a pod exist. A multi-GPU learner needs the aggregator's and the learners'
// templates.
bool has_templates(const job::Job& job, const job::WantedSlot& slot,
                   const job::PodContext& context);

}  // namespace nervex::demand
