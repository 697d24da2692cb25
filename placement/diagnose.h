// placement/diagnose.h - what keeps a set of a gang from being placed as a whole?
#pragma once

#include <cstdint>
#include <string>

#include "placement/capacity.h"
#include "placement/explain.h"

namespace nervex::placement {

// The numbers that explain why `unplaced` pods of a set have no node: `capacity` is what was left
// after the others of the set, `before` what was free before the set's first pod, with the sets
// that chose earlier subtracted. NeverFits is the answer only with a proof: the set alone does not
// fit the empty cluster.
NoFit diagnose(const std::string& role, const Capacity& capacity, std::size_t set,
               const Grid& before, std::int64_t unplaced);

}  // namespace nervex::placement
