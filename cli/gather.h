// cli/gather.h - what does the API server know about one job?
#pragma once

#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "kube/api.h"
#include "view/job_snapshot.h"

namespace nervex::cli {

// Five reads with the user's own rights. It needs none of our programs, so it works while they are
// down. kNotFound if there is no such job. What the caller may not read besides it (events,
// pods, the plan) is left out and listed in `left_out`, one sentence each.
Result<view::JobSnapshot> gather(kube::Api& api, const std::string& ns, const std::string& name,
                                 SysTime now, std::vector<std::string>& left_out);

}  // namespace nervex::cli
