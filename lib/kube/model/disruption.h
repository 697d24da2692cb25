// kube/model/disruption.h - was a pod stopped by the cluster rather than by its own program?
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kube/model/pod.h"

namespace nervex::kube {

// Also reasons of condition Requeued.
inline constexpr std::string_view kEvicted = "Evicted";
inline constexpr std::string_view kPreempted = "Preempted";
inline constexpr std::string_view kNodeLost = "NodeLost";          // deleted or unreachable
inline constexpr std::string_view kNodeTainted = "NodeTainted";    // NoExecute
inline constexpr std::string_view kNodeShutdown = "NodeShutdown";  // a graceful one
inline constexpr std::string_view kRejected = "Rejected";          // by the kubelet, before it ran
inline constexpr std::string_view kDisrupted = "Disrupted";        // by what set DisruptionTarget

// The reason for condition Requeued: Evicted, Preempted, NodeLost, Rejected ... nullopt: caused by
// the pod's own program or by a person. Call it only for pods that have failed, are being deleted
// or were deleted; a mark on a running pod means nothing yet.
std::optional<std::string_view> classify_disruption(const Pod& pod);

// The pod finished because of its node, not because of its program: evicted, preempted, rejected by
// its kubelet, or shut down with its node. The controller creates a replacement.
bool was_taken_away(const Pod& pod);
// Why, in the words of its status ("OutOfcpu"); "": it was not.
std::string explain_disruption(const Pod& pod);

}  // namespace nervex::kube
