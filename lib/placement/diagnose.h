// placement/diagnose.h - why can a set of a gang not be placed as a whole?
#pragma once

#include <cstdint>
#include <string>

#include "gang/no_fit.h"
#include "placement/capacity.h"

namespace nervex::placement {

// Explains why `unplaced` pods of a set have no node. `capacity`: what was left after the other
// pods of the set. `before`: what was free before the set's first pod, less the sets placed
// earlier. The answer is NeverFits only with a proof: the set alone does not fit the empty cluster.
gang::NoFit diagnose(const std::string& role, const Capacity& capacity, std::size_t set,
                     const Grid& before, std::int64_t unplaced);

}  // namespace nervex::placement
