// controller/parallel.h - how are many writes made at once without a flood of failures?
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "base/error.h"

namespace nervex::controller {

// Calls `write(i)` for 0..count-1 in rounds of 1, 2, 4 ... calls, at most `limit` of them at a
// time, and begins no further round after one with a failure: what is wrong for all (a quota, a
// missing right) costs one call. The first error by index, or nullopt. `write` must be thread-safe
// if `limit` is above 1; threads live within a round.
std::optional<Error> slow_start(std::size_t count, std::size_t limit,
                                const std::function<Result<Nothing>(std::size_t)>& write);

}  // namespace nervex::controller
