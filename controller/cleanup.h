// controller/cleanup.h - what is left to be removed of a job that has ended?
#pragma once

#include "controller/actions.h"
#include "controller/observed.h"

namespace nervex::controller {

// The PodGroup first, so that nothing of the job is bound any more; then pods by cleanPodPolicy;
// then every service. Nothing else ever happens to a job in its final phase.
Actions clean_up(const Observed& seen);

}  // namespace nervex::controller
