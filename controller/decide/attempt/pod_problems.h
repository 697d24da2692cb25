// controller/decide/attempt/pod_problems.h - which container of the attempt's pods cannot start,
// and which pod is not bound? Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/decide/round/round.h"

namespace nervex::controller {

// Which container of the attempt's pods cannot start, of the first such pod by name: one whose
// image cannot be pulled, say. "" if there is none.
std::string cannot_start(const Attempt& attempt);

// Pods that kube-scheduler does not bind, and says why.
std::vector<const AttemptPod*> unschedulable_pods(const Round& round);
// What it says about one of `unschedulable` that is of that gang, of the coordinator if it is among
// them; "" if there is none.
std::string describe_unschedulable(const std::vector<const AttemptPod*>& unschedulable,
                                   const gang::PodGroup& group, std::string_view gang);
// How long until the first pod that is not bound counts as unschedulable; nullopt: no such pod, or
// it does already.
std::optional<std::chrono::milliseconds> time_until_late(const Round& round);

}  // namespace nervex::controller
