// placement/search.h - is there any way to place a gang? Pure.
//
// Nodes with equal free capacity are one class, and so are pods of one set. The search goes through
// the classes, the least useful first, and fills each node as far as it goes: from any placement,
// pods can be moved to a node that holds one more of them. A state that leads nowhere is not
// entered again, and sums over the remaining nodes prove most states hopeless.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/capacity.h"

namespace nervex::placement {

struct SearchResult {
  enum class Outcome {
    kPlaced,
    kImpossible,  // proven
    kGaveUp,      // out of steps
  };
  Outcome outcome = Outcome::kGaveUp;
  // Of kPlaced; by set as they were chosen. Sets that fit beside any placement of the others
  // may be missing: place them last, in the order of `easy`.
  std::vector<Fill> fills;
  std::vector<std::size_t> easy;
};

// `order`: all sets, the hardest to place first; independent of the order of the input. Subtracts
// what it uses from `steps`. Cost without the steps: sets x resources x nodes x log(nodes).
SearchResult search(const Capacity& capacity, const std::vector<std::size_t>& order,
                    std::int64_t& steps);

}  // namespace nervex::placement
