// cli/roles.h - how many pods does each role want, and how many has it? Pure.
#pragma once

#include "cli/text.h"
#include "cli/view.h"

namespace nervex::cli {

// A heading and one row per role that the job has: wanted, placed (in the plan), running,
// succeeded, failed. Wanted comes from the PodGroup; without one, from the job's base replicas and
// requests.
Rows role_rows(const JobView& view);

}  // namespace nervex::cli
