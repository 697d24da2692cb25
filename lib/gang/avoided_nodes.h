// gang/avoided_nodes.h - which nodes do new plans of a PodGroup avoid, and for how long? Pure.
//
// The extender notes what kube-scheduler and kubelets refused in the PodGroup's status. The
// controller hands it to the job's next attempt, whose PodGroup has it in its spec.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "gang/pod_group.h"

namespace nervex::gang {

inline constexpr std::size_t kMostAvoided = 500;

// Records one more refusal of the set on the node, by kube-scheduler or its kubelet: for one
// minute, doubling up to ten, new placements put at most `at_most` pods of the set there. Keeps at
// most kMostAvoided nodes.
void avoid_node(std::vector<AvoidedNode>& avoid, std::string_view set, std::string_view node,
                int at_most, SysTime now);

bool is_in_force(const AvoidedNode& avoided, SysTime now);

// How often pods of the set were refused on the node; 0: never.
int times_refused(const std::vector<AvoidedNode>& avoid, std::string_view set,
                  std::string_view node);

// The PodGroup's status.avoid, and what the job's earlier attempts had learned (spec.avoid).
std::vector<AvoidedNode> avoided_nodes(const PodGroup& group, SysTime now);

// Removes entries that expired long ago.
std::vector<AvoidedNode> still_of_use(std::vector<AvoidedNode> avoid, SysTime now);

}  // namespace nervex::gang
