// gang/diagnose.h - which numbers explain that a set of pods did not find its places?
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gang/capacity.h"
#include "gang/explain.h"

namespace nervex::gang {

// `capacity` is what was left when `unplaced` pods of `set` found no place; `before` is what was
// free before the set's first pod, the sets that chose earlier subtracted.
// `never` is only said with a proof: capacity for the set alone, in a cluster where every node that
// it may use is empty, ready and not cordoned, is too small.
NoFit diagnose(const std::string& role, const Capacity& capacity, std::size_t set,
               const Grid& before, std::int64_t unplaced);

}  // namespace nervex::gang
