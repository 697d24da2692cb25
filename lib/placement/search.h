// placement/search.h - can a gang be placed at all? Pure.
//
// Nodes with equal free capacity form one class, as do pods of one set. The search visits classes
// from the least useful on and fills each node: in any placement, pods can be moved to a node that
// holds one more of them. It never revisits a state without a solution, and sums over the remaining
// nodes rule out most states.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/capacity.h"

namespace nervex::placement {

struct SearchResult {
  enum class Outcome {
    kPlaced,
    kImpossible,  // proven
    kGaveUp,      // used up its steps
  };
  Outcome outcome = Outcome::kGaveUp;
  // With kPlaced: by set, in the order chosen. May omit sets that fit beside any placement of the
  // others: place these last, in the order of `easy`.
  std::vector<Fill> fills;
  std::vector<std::size_t> easy;
};

// `order`: all sets, hardest to place first; must not depend on input order. Subtracts the steps it
// uses from `steps`. Cost without the steps: sets x resources x nodes x log(nodes).
SearchResult search(const Capacity& capacity, const std::vector<std::size_t>& order,
                    std::int64_t& steps);

}  // namespace nervex::placement
