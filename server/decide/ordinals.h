// server/decide/ordinals.h - which ordinals did a job use, and which come next? Pure.
//
// A slot has 218 names. When a client names the pod of the last one as failed, the replica goes on
// under a fresh ordinal. The controller, when it has replaced a pod, goes on with names of ordinals
// that it alone gives out (status.continued); when it has none left, the next change that is
// written here lets the replica go on.
#pragma once

#include <optional>

#include "base/error.h"
#include "job/types.h"
#include "server/decide/job_view.h"

namespace nervex::server {

// spec.requests without what attempts before the status's left in it, and with counters that are
// safe to count on: above every ordinal and id that the spec, the status, the PodGroup or any pod
// has. So nothing is used twice in a job, even if spec.requests was lost in a running attempt.
// Cost: everything once.
job::Requests normalized_requests(const JobView& view);

// Puts the change in the place of an earlier one of the same slot.
void change_base(job::Requests& requests, const job::BaseChange& change);

// The slot of a requested replica of that attempt; nullptr if there is none.
job::Slot* find_slot(job::Requests& requests, job::Role role, int attempt, int ordinal);

// Gives the replica, of `requests`, a fresh ordinal, and a record of it in requests.moved. A base
// replica becomes an entry of its own: base replicas have no ordinals to spare. Returns the slot.
//   kConflict  all ordinals are used
Result<job::Slot> move_to_fresh_ordinal(job::Requests& requests, int attempt,
                                        const job::Replica& replica);

// The job with each replica that has no name left under a fresh ordinal, as
// far as there are ordinals. nullopt: there is no such replica, as in nearly every job.
std::optional<job::Job> renumber_exhausted(const JobView& view);

}  // namespace nervex::server
