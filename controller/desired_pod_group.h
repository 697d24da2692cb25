// controller/desired_pod_group.h - what should the PodGroup of the attempt say? What the job wants.
#pragma once

#include <string>
#include <vector>

#include "controller/actions.h"
#include "controller/attempt.h"
#include "controller/wanted.h"
#include "gang/pod_group.h"
#include "job/pod_manifest.h"
#include "job/types.h"

namespace nervex::controller {

// Does the job get an aggregator from the start, given whether an AggregatorConfig exists?
bool wants_aggregator(const job::Spec& spec, bool config_exists);
// The job must not start before an AggregatorConfig exists.
bool waits_for_aggregator(const job::Spec& spec, bool config_exists);

// The spec that the attempt's PodGroup should have, or should be made with if there is none. `seen`
// with the status that this round writes (ended, replaced). Equal to the one it has if there is
// nothing to do; whatever else stands there (somebody edited it) is put right.
//
// A slot stays in the set that it is in, which keeps its requests and constraints however the
// templates have changed: its pods may run. New slots go
//  - of coordinator, aggregator and base replicas into the base gang's sets, named after their
//  roles,
//    while that gang is not committed;
//  - of base replicas that are added later into a gang of their own, "base-collector-<first
//  ordinal>";
//  - of a request entry into its gang "request-<id>": one set, or of multi-GPU learners one for the
//    aggregators and one per item of the GPU split.
// Gangs that back off (requeued_gangs.h) have no slots in it.
// Gangs of requests that nervex-server has merged become one once they are placed (merged_gangs.h).
// Slots that have finished and whose pods are gone are left out, and so are sets without slots.
// While what was requested is lost (requests_lost.h) nothing is taken out for want of a request.
gang::PodGroupSpec desired_spec(const Observed& seen, const Attempt& attempt,
                                const job::PodContext& context);

// The whole PodGroup of an attempt that has none.
Json pod_group_manifest(const Observed& seen, const Attempt& attempt,
                        const job::PodContext& context);

// The one write that the PodGroup needs, if it needs any: it is made, or its spec is changed.
Actions group_steps(const Observed& seen, const Attempt& attempt);

}  // namespace nervex::controller
