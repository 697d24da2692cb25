// cli/explain.h - how is a job, why does it wait, and what can one do? Values in, text out. Pure.
#pragma once

#include <string>

#include "cli/view.h"

namespace nervex::cli {

// Several lines for people, newline at the end: phase and reason; what waits, and why; what each
// role wants and has; the planned nodes; pod problems; the last events; what to do.
std::string explain(const JobView& view);

}  // namespace nervex::cli
