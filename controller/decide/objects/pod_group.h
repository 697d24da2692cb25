// controller/decide/objects/pod_group.h - what should the PodGroup of the attempt contain?
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "controller/decide/actions.h"
#include "controller/decide/round/round.h"
#include "gang/pod_group.h"
#include "job/pod_manifest.h"
#include "job/types.h"

namespace nervex::controller {

// The spec that the attempt's PodGroup should have, or should be created with. Equal to the
// existing one if there is nothing to do; a user's edits are corrected.
//
// demand/initial_gang.h makes the gang of a job that has not started. From then on a slot stays in
// its set, which keeps its requests and constraints even if the templates change: its pods may run.
// New slots go
//  - of coordinator, aggregator and base replicas into the base gang's sets, named after their
//    roles, while that gang is not committed;
//  - of base replicas that are added later into a gang of kind AddedReplicas, queued since then;
//  - of a request entry into its gang of kind Request, queued since its POST: one set, or of
//  multi-GPU learners one for
//    the aggregators and one per item of the GPU split.
// A gang that only the status has is being released. Gangs that back off (creation_failures.h) are
// not in it, nor slots that have not begun if Round::exceeds_pod_limit. Capacity for
// reservedReplicas is reserved beside the base replicas: demand/reserved_capacity.h. Gangs of
// requests that nervex-server has merged become one once they are placed: merged_gangs.h. Finished
// slots without a pod are left out, as are sets without slots, except those that reserve or
// reserved capacity. While requests are lost (attempt.h) no slot is removed because its request is
// missing.
gang::PodGroupSpec desired_spec(const Round& round, const job::PodContext& context);

// The whole PodGroup of an attempt that has none. `spec`: desired_spec().
Json pod_group_manifest(const Round& round, const gang::PodGroupSpec& spec);

// Pods that a PodGroup asks for, reserved capacity included.
std::int64_t count_pods(const gang::PodGroupSpec& spec);
// Round::exceeds_pod_limit. Cost: that of desired_spec() if the limit is near.
bool finds_no_space(const Round& round);
// The next look at a PodGroup that gets no pods: no event says that others have ended.
std::optional<std::chrono::milliseconds> time_until_pod_limit(const Round& round);

// The one write that the PodGroup needs, if any: its creation or a change of its spec.
Actions group_steps(const Round& round);

}  // namespace nervex::controller
