// server/exhausted.h - what becomes of a replica whose incarnations are exhausted? Pure.
//
// A slot has 218 names. When the last one is used, by clients that named its pod as failed or by
// the controller that replaced it, the replica goes on under a fresh ordinal. Only nervex-server
// gives out ordinals, so it does this for the controller too, with the next change that it writes.
#pragma once

#include <optional>

#include "base/error.h"
#include "job/types.h"
#include "server/units.h"

namespace nervex::server {

// Gives the unit, of `requests`, a fresh ordinal, and a record of it in requests.moved. A base
// replica becomes an entry of its own: base replicas have no ordinals to spare. Returns the slot.
//   kConflict  all ordinals are used
Result<job::Slot> move_to_fresh_ordinal(job::Requests& requests, int attempt,
                                        const job::Unit& unit);

// The job with each replica that the controller cannot replace any more under a fresh ordinal, as
// far as there are ordinals. nullopt: there is no such replica, as in nearly every job.
std::optional<job::Job> continue_exhausted(const JobView& view);

}  // namespace nervex::server
