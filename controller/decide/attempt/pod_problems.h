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

// The container that cannot start, for example because its image cannot be pulled, of the first
// such pod of the attempt by name. "" if there is none.
std::string cannot_start(const Attempt& attempt);

// Pods that kube-scheduler reports as unschedulable.
std::vector<const AttemptPod*> unschedulable_pods(const Round& round);
// Its message about one pod of that gang among `unschedulable`, the coordinator if possible; "" if
// there is none.
std::string describe_unschedulable(const std::vector<const AttemptPod*>& unschedulable,
                                   const gang::PodGroup& group, std::string_view gang);
// Until the first unbound pod counts as unschedulable; nullopt: no such pod, or it does already.
std::optional<std::chrono::milliseconds> time_until_late(const Round& round);

}  // namespace nervex::controller
