// server/ordinals.h - from what does the next write of spec.requests go on? Pure.
#pragma once

#include "job/types.h"
#include "server/units.h"

namespace nervex::server {

// The part of `requests` that belongs to the role: the next free ordinal. A collector's are counted
// apart; all other roles' belong to learners.
int& next_ordinal(job::Requests& requests, job::Role role);
int next_ordinal(const job::Requests& requests, job::Role role);

// spec.requests without what attempts before the status's left in it, and with counters that are
// safe to count on: above every ordinal and id that the spec, the status, the PodGroup or any pod
// has. So nothing is used twice in a job, even if spec.requests was lost in a running attempt.
// Cost: everything once.
job::Requests sound_requests(const JobView& view);

}  // namespace nervex::server
