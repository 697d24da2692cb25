// server/decide/replace.h - which replicas does one POST to failed replace, and by which? Pure.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "server/decide/change.h"
#include "server/decide/job_view.h"

namespace nervex::server {

// Each replica that is named, by its pod or its address, moves to its next incarnation: the one
// after that in the name. So it happens once however often it is asked for:
//   - a name given twice, or two pods of one multi-GPU learner, count once; such a learner is
//     replaced as a whole and answered by its aggregator's address;
//   - a name whose replica has moved on already is answered with the one that is there now.
// A collector among the learners is a collector all the same, and the answer lists it as one.
// Left out of the answer, since nothing stands for them: replicas that were removed, or that were
// requested in an attempt before this one, the coordinator, and the job's own aggregator.
// Beyond the last incarnation a replica goes on under an ordinal of its own.
//   kNotFound  a name that never belonged to the job (nothing at all is replaced then)
//   kConflict  all ordinals are exhausted
Result<Change> replace(const JobView& view, const ReplaceRequest& request);

// Pods that are unknown, but have names that this job's pods could have: before those are refused,
// it is worth a look whether they exist.
std::vector<std::string> unknown_pods(const JobView& view, const ReplaceRequest& request);

}  // namespace nervex::server
