// controller/decide/attempt/previous_attempt.h - does a pod of an earlier attempt keep this one
// from starting? Pure.
//
// The pods of an attempt that is over are deleted, and the next one's PodGroup is made meanwhile,
// so that its gang keeps its turn. But a name or a slot that an earlier pod holds gets no pod, and
// a gang that lacks one does not start: a pod that takes long to end would keep the capacity of the
// whole gang unused.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "controller/decide/round/round.h"

namespace nervex::controller {

// An earlier attempt's pod that has the coordinator's name, or the name or slot of another pod that
// the gang starts with, and is not asked to go yet, or will stay for long: its grace period ends in
// more than a minute, or should have ended half a minute ago. Null: there is none. Then no PodGroup
// is made.
const kube::Pod* pod_in_the_way(const Round& round);

// Of one that was asked to go: why the attempt has no PodGroup, and what helps. "" if there is
// none.
std::string previous_attempt_terminating(const Round& round);

// Why the first attempt waits for a deleted job of the same name (Observed::predecessor), and what
// helps.
std::string previous_job_terminating(const Observed& seen);

// There is a PodGroup, and a pod that was asked to go turns out to be in its way: none of its pods
// was bound, and it is to go until that one has.
bool is_made_in_vain(const Round& round);

// Until time alone changes any of this.
std::optional<std::chrono::milliseconds> time_until_in_the_way(const Round& round);

}  // namespace nervex::controller
