// controller/decide/make_round.h - gathers the facts of one round. Pure.
#pragma once

#include "controller/decide/round/round.h"

namespace nervex::controller {

// `seen` must outlive the round. Cost: slots + pods + placements, each with log.
Round make_round(const Observed& seen);
// The same for an attempt that is given rather than searched for in `seen`.
Round make_round(const Observed& seen, Attempt attempt);

}  // namespace nervex::controller
