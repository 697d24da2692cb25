// cli/jobs/explain.h - how does a terminal show a job, why it waits, and what helps? Pure.
#pragma once

#include <string>

#include "view/job_view.h"

namespace nervex::cli {

// Several lines with a final newline: phase and reason; what waits, why, and until when; reserved
// capacity; wanted and existing pods of each role; planned nodes; pod problems; last events;
// advice. Of long lists only the first or last entries.
std::string explain(const view::JobView& job);

// One line without the job's name: "waits: the whole gang: learner: 1 of 3 does not fit: ...",
// "starts", "runs", "succeeded"; with the first problem of a pod, if the job does not wait.
std::string state_line(const view::JobView& job);

// "2026-11-21T16:03:12Z, in 2h, at the latest", or why that is not known.
std::string latest_start(const view::NodeReservation& reservation, SysTime now);

}  // namespace nervex::cli
