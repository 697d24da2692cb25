// job/environment.h - which variables does a pod of a job find in its containers? (contract §2)
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "job/pod_manifest.h"
#include "job/types.h"

namespace nervex::job {

using Environment = std::vector<std::pair<std::string, std::string>>;

// The variables of every regular container of this pod, in the order they are written.
// `entry`: that the replica was requested with; null for the others.
Environment environment_of(const Job& job, Role role, Slot slot, const RequestEntry* entry,
                           const PodContext& context);

// Appends them to `container`. The user's entries of the same names are dropped: ours are last, and
// a name that stands twice would be for tools to guess about.
void append_environment(Json& container, const Environment& environment);

}  // namespace nervex::job
