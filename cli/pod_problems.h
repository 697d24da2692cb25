// cli/pod_problems.h - which pods of the job are in trouble, in whose words? Pure.
#pragma once

#include "cli/text.h"
#include "cli/view.h"

namespace nervex::cli {

// One row per pod that failed, cannot start or cannot be bound: name and why. At most 8, then a row
// that says how many more there are.
Rows problem_rows(const JobView& view);

}  // namespace nervex::cli
