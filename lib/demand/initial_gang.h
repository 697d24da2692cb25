// demand/initial_gang.h - which pods does a job start with? Its gang before any object of it
// exists. The controller writes it to the PodGroup of a new attempt; admission and simulations plan
// it without a PodGroup. Pure.
#pragma once

#include "demand/reserved_capacity.h"
#include "gang/pod_group.h"
#include "job/pod_manifest.h"
#include "job/types.h"
#include "job/wanted_slots.h"

namespace nervex::demand {

// The base gang: coordinator, aggregator (if `slots` have one), base replicas, and the
// capacity reserved beside them. Excludes requests and roles without a template. `slots`: of the
// job. Cost: slots, plus one rendered template per role.
gang::Gang make_initial_gang(const job::Job& job, const job::WantedSlots& slots,
                             const job::PodContext& context);

// Adds sets that only reserve capacity to the base gang: for a role without base replicas, and for
// aggregators if multi-GPU learners may be requested.
void add_reserving_sets(gang::Gang& base, const job::Job& job, const Reservation& reservation,
                        const job::PodContext& context);

}  // namespace nervex::demand
