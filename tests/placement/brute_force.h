// tests/placement/brute_force.h - is there any placement of a gang at all? Tries every node for
// every pod, and knows nothing of how the planner counts.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "gang/pod_group.h"
#include "placement/cluster.h"

namespace nervex::testing {

class BruteForce {
 public:
  using Counts = std::vector<std::vector<int>>;  // pods by set and node

  BruteForce(const std::vector<gang::MemberSet>& members,
             const std::vector<placement::NodeView>& nodes)
      : members_(members), count_(members.size(), std::vector<int>(nodes.size(), 0)) {
    for (const placement::NodeView& view : nodes) free_.push_back(view.free);
  }
  // `may_place`: one more pod of the set on the node. `is_good`: with all pods placed.
  bool fits(const std::function<bool(std::size_t set, std::size_t node)>& may_place,
            const std::function<bool()>& is_good) {
    return place(0, 0, 0, may_place, is_good);
  }

  const std::vector<kube::Resources>& free() const { return free_; }
  const Counts& count() const { return count_; }

 private:
  bool place(std::size_t set, std::size_t slot, std::size_t first_node,
             const std::function<bool(std::size_t, std::size_t)>& may_place,
             const std::function<bool()>& is_good) {
    if (set == members_.size()) return is_good();
    const gang::MemberSet& member = members_[set];
    if (slot == member.slots.size()) return place(set + 1, 0, 0, may_place, is_good);
    for (std::size_t i = first_node; i < free_.size(); ++i) {  // pods of a set are alike
      if (!member.shape.requests.fits_in(free_[i]) || !may_place(set, i)) continue;
      free_[i] -= member.shape.requests;
      ++count_[set][i];
      const bool fits = place(set, slot + 1, i, may_place, is_good);
      --count_[set][i];
      free_[i] += member.shape.requests;
      if (fits) return true;
    }
    return false;
  }

  const std::vector<gang::MemberSet>& members_;
  std::vector<kube::Resources> free_;
  Counts count_;
};

}  // namespace nervex::testing
