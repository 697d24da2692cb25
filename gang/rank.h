// gang/rank.h - in which order are nodes offered to the pods of one set?
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gang/capacity.h"

namespace nervex::gang {

enum class NodeOrder {
  // Spares devices: nodes that have none which the pods would not use, then those that would be
  // left
  // with the least of the scarce resource, then the fullest: whole nodes stay free.
  kLeastWaste,
  // Nodes that would be left with the least of everything, as shares of the node.
  kTightest,
};

struct Candidate {
  std::size_t node = 0;
  std::int64_t times = 0;  // pods of the set that it holds, at least 1
};

// The nodes that the set may use and that have capacity for one pod or more, the best first; of
// equals the first by name. Cost: nodes x log(nodes).
std::vector<Candidate> rank_nodes(const Capacity& capacity, const SetNeed& need,
                                  std::span<const NodeView> nodes, NodeOrder by);

}  // namespace nervex::gang
