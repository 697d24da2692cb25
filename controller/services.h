// controller/services.h - which services are in the way, and which are missing? One per pod. Pure.
#pragma once

#include <vector>

#include "controller/actions.h"
#include "controller/attempt.h"
#include "controller/wanted.h"

namespace nervex::controller {

// Those without a pod, those whose spec is not ours any more (it is made again), and those of
// `superseded` pods, which are deleted next: a service that is left tells replacement.h that its
// pod was lost. The coordinator's is made before its pod.
std::vector<Target> services_in_the_way(const Observed& seen, const Attempt& attempt,
                                        const WantedSlots& slots,
                                        const std::vector<Target>& superseded);

// Of pods that are there and stay: one that was deleted comes back.
CreateServices missing_services(const Observed& seen, const Attempt& attempt,
                                const WantedSlots& slots, const std::vector<Target>& leaving);

}  // namespace nervex::controller
