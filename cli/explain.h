// cli/explain.h - how does a terminal show a job, why it waits, and what one can do? Pure.
#pragma once

#include <string>

#include "view/job_view.h"

namespace nervex::cli {

// Several lines, newline at the end: phase and reason; what waits, why, and until when; reserved
// capacity; what each role wants and has; the planned nodes; pod problems; the last events; what
// to do. Of long lists the first or last entries.
std::string explain(const view::JobView& job);

}  // namespace nervex::cli
