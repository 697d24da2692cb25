// controller/disruption.h - was a pod stopped by the cluster rather than by what ran in it?
#pragma once

#include <optional>
#include <string_view>

#include "kube/model/pod.h"

namespace nervex::controller {

// The reason for condition Requeued: Evicted, Preempted, NodeLost, Rejected ... nullopt: nobody but
// the pod's own program, or a person, is to blame. Judges pods that have failed, are being deleted
// or are gone; a mark on a pod that goes on running means nothing yet, so do not ask about those.
std::optional<std::string_view> disruption_of(const kube::Pod& pod);

}  // namespace nervex::controller
