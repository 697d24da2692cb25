// gang/capacity.h - how many pods of each set does each node hold? Plain numbers, so planning is
// cheap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gang/plan.h"
#include "kube/model/node.h"

namespace nervex::gang {

// Amounts of the resources that a gang asks for, by the index of Capacity::resources.
using Amounts = std::vector<std::int64_t>;
using AmountsView = std::span<const std::int64_t>;

struct SetNeed {
  Amounts each;                     // of one pod
  std::int64_t wanted = 0;          // slots
  std::size_t scarce = 0;           // the resource that decides which node is the best fit
  std::vector<kube::NodeFit> fits;  // by node
  Amounts at_most;                  // by node, pods of the set; empty: no limits
  Amounts score;                    // by node: kube::preference(); empty: none is preferred

  std::int64_t limit_on(std::size_t node) const {
    return at_most.empty() ? wanted : std::min(wanted, at_most[node]);
  }
};

// One row of amounts per node, in one piece: planning copies it.
class Grid {
 public:
  explicit Grid(std::size_t columns) : columns_(columns) {}
  void add_row(const Amounts& row) { cells_.insert(cells_.end(), row.begin(), row.end()); }
  AmountsView row(std::size_t i) const { return {cells_.data() + i * columns_, columns_}; }
  void set(std::size_t i, std::size_t column, std::int64_t amount) {
    cells_[i * columns_ + column] = amount;
  }
  void take(std::size_t i, const Amounts& amounts, std::int64_t times) {
    for (std::size_t r = 0; r < columns_; ++r) cells_[i * columns_ + r] -= times * amounts[r];
  }

 private:
  std::size_t columns_;
  std::vector<std::int64_t> cells_;
};

struct OtherDevices {  // of kinds that the gang does not ask for
  std::int64_t free = 0;
  bool has = false;  // free or not
};

// The nodes with one value of a label share what they have of one resource, which is one: of pods
// that keep apart by zone, one in each. A node without the label shares with no other, though
// kube-scheduler would allow more there.
struct Domains {
  std::size_t resource = 0;                     // by index
  std::vector<std::vector<std::size_t>> nodes;  // of each domain
  std::vector<std::size_t> domain;              // by node
};

struct Capacity {
  std::vector<std::string> resources;       // sorted
  std::vector<bool> device;                 // by resource
  std::vector<SetNeed> sets;                // as given
  Grid free;                                // by node as given
  Grid empty;                               // allocatable
  std::vector<OtherDevices> other_devices;  // by node
  std::vector<Domains> domains;             // mostly none

  // Takes pods of the set from the node, and from those that share with it.
  void take(std::size_t node, const SetNeed& need, std::int64_t times);
};

// Cost: (sets + resources) x nodes.
Capacity measure_capacity(std::span<const MemberSet> members, std::span<const NodeView> nodes,
                          std::span<const NodeLimit> limits);

// The numbers that explain why `unplaced` pods of a set have no node: `capacity` is what was left
// after the others of the set, `before` what was free before the set's first pod, with the sets
// that chose earlier subtracted. `never` is only set with a proof: capacity for the set alone, in
// a cluster where every node that it may use is empty, ready, not cordoned and not avoided, is too
// small.
NoFit diagnose(const std::string& role, const Capacity& capacity, std::size_t set,
               const Grid& before, std::int64_t unplaced);

// How many pods of `each` fit in `amounts`, at most `limit`.
std::int64_t times_in(const Amounts& each, AmountsView amounts, std::int64_t limit);

// Extended resources, which come in whole pieces: "nvidia.com/gpu".
inline bool is_device(std::string_view resource) {
  return resource.find('/') != std::string_view::npos && !kube::is_implicit(resource);
}

}  // namespace nervex::gang
