// controller/decide/objects/pod_group.h - what should the PodGroup of the attempt say? What the job
// wants.
#pragma once

#include "controller/decide/actions.h"
#include "controller/decide/round/round.h"
#include "gang/pod_group.h"
#include "job/pod_manifest.h"
#include "job/types.h"

namespace nervex::controller {

// The spec that the attempt's PodGroup should have, or should be made with if there is none. Equal
// to the one it has if there is nothing to do; what a user edited there is corrected.
//
// The gang of a job that has not started is made by demand/initial_gang.h. From then on a slot
// stays in the set that it is in, which keeps its requests and constraints however the templates
// have changed: its pods may run. New slots go
//  - of coordinator, aggregator and base replicas into the base gang's sets, named after their
//    roles, while that gang is not committed;
//  - of base replicas that are added later into a gang of their own,
//    "base-collector-<first ordinal>";
//  - of a request entry into its gang "request-<id>": one set, or of multi-GPU learners one for the
//    aggregators and one per item of the GPU split.
// Gangs that back off (creation_failures.h) have no slots in it.
// Capacity for reservedReplicas is reserved beside the base replicas: demand/reserved_capacity.h.
// Gangs of requests that nervex-server has merged become one once they are placed: merged_gangs.h.
// Slots that have finished and whose pods are gone are left out, and so are sets without slots, but
// for those that reserve capacity, or did.
// While what was requested is lost (attempt.h) nothing is taken out for want of a request.
gang::PodGroupSpec desired_spec(const Round& round, const job::PodContext& context);

// The whole PodGroup of an attempt that has none.
Json pod_group_manifest(const Round& round, const job::PodContext& context);

// The one write that the PodGroup needs, if it needs any: it is made, or its spec is changed.
Actions group_steps(const Round& round);

}  // namespace nervex::controller
