// controller/decide/attempt/previous_attempt.h - does a pod of an earlier attempt keep this one
// from starting? Pure.
//
// The pods of an ended attempt are deleted, and the next PodGroup is created meanwhile, so that its
// gang keeps its place in the queue. But a pod cannot be created while an earlier pod has its name
// or slot, and an incomplete gang does not start: a pod that takes long to end would keep the
// capacity of the whole gang unused.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "controller/decide/round/round.h"

namespace nervex::controller {

// An earlier attempt's pod with the name of the coordinator, or the name or slot of another pod
// that the gang starts with, that is not being deleted yet or will stay for long: its grace period
// ends in more than a minute, or ended half a minute ago. No PodGroup is created then. Null: none.
const kube::Pod* pod_in_the_way(const Round& round);

// If that pod is being deleted: why the attempt has no PodGroup, and what helps. "" otherwise.
std::string previous_attempt_terminating(const Round& round);

// Why the first attempt waits for a deleted job of the same name (Observed::predecessor), and what
// helps.
std::string previous_job_terminating(const Observed& seen);

// A terminating pod blocks an existing PodGroup without bound pods: the PodGroup is to be deleted
// until that pod has ended.
bool is_made_in_vain(const Round& round);

// Until time alone changes any of these answers.
std::optional<std::chrono::milliseconds> time_until_in_the_way(const Round& round);

}  // namespace nervex::controller
