// demand/run_limits.h - for how long may a job keep its nodes, and may they be taken back? Pure.
#pragma once

#include "gang/pod_group.h"
#include "job/pod_manifest.h"
#include "job/types.h"

namespace nervex::demand {

// Sets `preemptible`, `active_seconds`, `active_deadline_seconds` (what that time leaves) and
// `grace_seconds` (the longest of the job's templates; none if its pods stay).
void set_run_limits(const job::Job& job, const job::PodContext& context, gang::PodGroupSpec& spec);

}  // namespace nervex::demand
