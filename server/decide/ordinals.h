// server/decide/ordinals.h - which ordinals has a job used, and which come next? Pure.
//
// A slot has 218 names. When a client reports the pod of the last one as failed, the replica moves
// to a fresh ordinal. When the controller replaces that pod, it uses names of ordinals that only it
// assigns (status.continued); when none are left, the next change written here moves the replica.
#pragma once

#include <optional>

#include "base/error.h"
#include "job/types.h"
#include "server/decide/job_view.h"

namespace nervex::server {

// spec.requests without entries of attempts before the status's, and with safe counters: above
// every ordinal and id in the spec, the status, the PodGroup and all pods. So nothing is reused in
// a job, even if spec.requests was lost in a running attempt. Cost: everything once.
job::Requests normalized_requests(const JobView& view);

// Adds the change, or replaces an earlier one of the same slot.
void change_base(job::Requests& requests, const job::BaseChange& change);

// The slot of a requested replica of that attempt; nullptr: none.
job::Slot* find_slot(job::Requests& requests, job::Role role, int attempt, int ordinal);

// Moves the replica in `requests` to a fresh ordinal and records that in requests.moved. A base
// replica becomes an entry of its own, because base replicas have no spare ordinals. Returns the
// slot. kConflict: all ordinals are used.
Result<job::Slot> move_to_fresh_ordinal(job::Requests& requests, int attempt,
                                        const job::Replica& replica);

// The job with a fresh ordinal for each replica without a name left, as far as there are ordinals.
// nullopt: no such replica, as in nearly every job.
std::optional<job::Job> renumber_exhausted(const JobView& view);

}  // namespace nervex::server
