// gang/plan.h - where do the pods of one gang go? Pure: no I/O, clock, locks or logging.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "gang/explain.h"
#include "gang/pod_group.h"
#include "kube/model/node.h"

namespace nervex::gang {

struct NodeView {  // one node, as of the caller's snapshot
  std::shared_ptr<const kube::Node> node;
  kube::Resources
      free;  // allocatable - occupying pods - reserved capacity; below zero: overcommitted
};

struct Assignment {  // as Placement, without its number
  std::string role;
  SlotId slot;
  std::string node;
  bool operator==(const Assignment&) const = default;
};

using Plan = std::variant<std::vector<Assignment>, NoFit>;

// Places every slot of `members`, which are the sets of one gang, or none. Capacity for
// MemberSet::reserved_pods is not planned yet.
//
// Sets choose largest request first (GPUs, then cpu, then name); the order of the input does not
// matter. Nodes that would be left with the least of the scarce resource are filled first, so that
// whole nodes stay free and pods without GPUs keep away from nodes that have them.
// Guarantees: no node gets more than its `free`; each slot is named once.
// Not an optimal packer: may answer NoFit for a gang that an exhaustive search could place.
// Cost: sets x nodes x log(nodes).
[[nodiscard]] Plan plan_gang(std::span<const MemberSet> members, std::span<const NodeView> nodes);

}  // namespace nervex::gang
