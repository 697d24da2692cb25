// cli/jobs/gather.h - what does the API server know about one job?
#pragma once

#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "kube/api.h"
#include "view/job_snapshot.h"

namespace nervex::cli {

// Five reads with the user's own rights, six if nodes are reserved for the job. Works without our
// programs, even while they are down. kNotFound if there is no such job. Other objects that the
// caller may not read (events, pods, the plan) are listed in `left_out`, one sentence each.
Result<view::JobSnapshot> gather(kube::Api& api, const std::string& ns, const std::string& name,
                                 SysTime now, std::vector<std::string>& left_out);

}  // namespace nervex::cli
