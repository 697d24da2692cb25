// server/decide/replace.h - which failed replicas does one POST replace, and with what? Pure.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "server/decide/change.h"
#include "server/decide/job_view.h"

namespace nervex::server {

// Each replica named by its pod or its address moves to the incarnation after that in the name. So
// a repeated request replaces it once:
//   - a name given twice, or two pods of one multi-GPU learner, count once; such a learner is
//     replaced as a whole and answered with its aggregator's address;
//   - a name whose replica has already moved on is answered with the current one.
// A collector listed among the learners is treated and answered as a collector.
// The answer omits names without a current replica: removed replicas, replicas requested in an
// earlier attempt, the coordinator, and the job's own aggregator.
// After the last incarnation a replica continues under another ordinal.
//   kNotFound  a name that never belonged to the job (then nothing is replaced)
//   kConflict  all ordinals are exhausted
Result<Change> replace(const JobView& view, const ReplaceRequest& request);

// Unknown pods whose names this job's pods could have. Before refusing them, check whether they
// exist.
std::vector<std::string> unknown_pods(const JobView& view, const ReplaceRequest& request);

}  // namespace nervex::server
