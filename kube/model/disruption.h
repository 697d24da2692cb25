// kube/model/disruption.h - was a pod stopped by the cluster rather than by what ran in it?
#pragma once

#include <optional>
#include <string_view>

#include "kube/model/pod.h"

namespace nervex::kube {

// Reasons of condition Requeued, too.
inline constexpr std::string_view kEvicted = "Evicted";
inline constexpr std::string_view kPreempted = "Preempted";
inline constexpr std::string_view kNodeLost = "NodeLost";          // gone, or not heard of
inline constexpr std::string_view kNodeTainted = "NodeTainted";    // NoExecute
inline constexpr std::string_view kNodeShutdown = "NodeShutdown";  // a graceful one
inline constexpr std::string_view kRejected = "Rejected";          // by the kubelet, before it ran
inline constexpr std::string_view kDisrupted = "Disrupted";        // by who set DisruptionTarget

// The reason for condition Requeued: Evicted, Preempted, NodeLost, Rejected ... nullopt: nobody but
// the pod's own program, or a person, is to blame. Judges pods that have failed, are being deleted
// or were deleted; a mark on a pod that goes on running means nothing yet, so do not ask about
// those.
std::optional<std::string_view> disruption_of(const Pod& pod);

// The pod has finished because of where it was, not because of what it did: evicted, preempted,
// rejected by its kubelet, shut down with its node. The controller makes another one in its place.
bool was_taken_away(const Pod& pod);

}  // namespace nervex::kube
