// controller/predecessor.h - what is left of a deleted job that had this one's name?
#pragma once

#include <string>

#include "controller/caches.h"
#include "job/types.h"

namespace nervex::controller {

// Who deletes a job and creates it again does so while the first one's pods are still on their way
// out: they are given their grace period, and the garbage collector takes its time. Till then the
// names belong to them. Returns the first object, "pod dqn-coordinator", that has a name which the
// job's attempt needs at its start and is owned by another job of the same name; "" if there is
// none. Workers' names are never the same. Each of the object's events brings the job up again, for
// owner_job_key() goes by name. Cost: at most five look-ups. Thread-safe.
std::string predecessor_remains(const Caches& caches, const job::Job& job, bool wants_aggregator);

}  // namespace nervex::controller
