// placement/capacity.h - how many pods of each set does each node hold? What plans are made with,
// in plain numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gang/pod_group.h"
#include "placement/cluster.h"

namespace nervex::placement {

// Amounts of the resources that a gang asks for, by the index of Capacity::resources.
using Amounts = std::vector<std::int64_t>;
using AmountsView = std::span<const std::int64_t>;

// At most so many of the slots that a call is to place from this set go to this node: the caller
// subtracts those that are there already. Of several limits for one set and node the least counts.
struct NodeLimit {
  std::string set;  // gang::MemberSet::name
  std::string node;
  int at_most = 0;
  bool operator==(const NodeLimit&) const = default;
};

struct SetNeed {
  Amounts each;                                // of one pod
  std::int64_t wanted = 0;                     // slots
  std::size_t scarce = 0;                      // the resource that decides which node fits best
  std::shared_ptr<const Verdicts> verdicts{};  // by node
  Amounts at_most{};                           // by node, pods of the set; empty: no limits

  std::int64_t limit_on(std::size_t node) const {
    return at_most.empty() ? wanted : std::min(wanted, at_most[node]);
  }
};

// One row of amounts per node, in one piece: planning copies it.
class Grid {
 public:
  Grid() = default;
  Grid(std::size_t rows, std::size_t columns) : columns_(columns), cells_(rows * columns, 0) {}
  AmountsView row(std::size_t i) const { return {cells_.data() + i * columns_, columns_}; }
  std::int64_t* edit(std::size_t i) { return cells_.data() + i * columns_; }

 private:
  std::size_t columns_ = 0;
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

// So many pods of a set go to a node.
struct Fill {
  std::size_t set = 0;
  std::size_t node = 0;
  std::int64_t count = 0;
};

struct Capacity {
  // As it is now; or as if all nodes were empty, ready and not cordoned, without taints and without
  // limits: what no order of events can exceed while the nodes stay as large as they are.
  enum class When { kNow, kEmptyCluster };

  const Cluster* cluster = nullptr;
  When when = When::kNow;
  std::vector<std::string> resources;  // sorted
  std::vector<bool> device;            // by resource
  std::vector<std::ptrdiff_t> column;  // of the cluster, by resource; -1: none has it or implicit
  std::vector<SetNeed> sets;           // as given
  Grid free;                           // by node
  std::vector<OtherDevices> other_devices;  // by node; empty: no node has others
  std::vector<Domains> domains;             // mostly none

  std::size_t nodes() const { return cluster->size(); }
  bool may_use(const SetNeed& need, std::size_t node) const {
    return when == When::kNow ? need.verdicts->fits[node] == kube::NodeFit::kAllowed
                              : bool{need.verdicts->selected[node]};
  }
  // What an empty node has of that resource.
  std::int64_t allocatable(std::size_t node, std::size_t resource) const;
  // Pods of the set that the node holds beside what was taken; 0 where it may not be used.
  std::int64_t times_on(const SetNeed& need, std::size_t node) const;
  bool shares_domains(const SetNeed& need) const;

  // Takes pods of the set from the node, and from those that share with it. Negative `times` give
  // it back.
  void take(const Fill& fill) { take(fill.node, sets[fill.set], fill.count); }
  void take(std::size_t node, const SetNeed& need, std::int64_t times);
};

// Cost: (sets + resources) x nodes. `cluster` is borrowed.
Capacity measure_capacity(std::span<const gang::MemberSet> members, const Cluster& cluster,
                          std::span<const NodeLimit> limits);
// The same gang in the empty cluster.
Capacity when_empty(const Capacity& capacity);

// How many pods of the set fit beside nothing of its gang, at most as many as are wanted on each
// node. Never too few: it is used for proofs. May be too many for pods that keep apart by two
// labels.
std::int64_t most_alone(const Capacity& capacity, const SetNeed& need);

// How many pods of `each` fit in `amounts`, at most `limit`.
inline std::int64_t times_in(const Amounts& each, AmountsView amounts, std::int64_t limit) {
  std::int64_t times = limit;
  for (std::size_t i = 0; i < each.size(); ++i) {
    if (each[i] <= 0) continue;
    if (amounts[i] < each[i]) return 0;
    // Divisions are slow; mostly one resource decides.
    std::int64_t product = 0;
    if (!__builtin_mul_overflow(times, each[i], &product) && product <= amounts[i]) continue;
    times = amounts[i] / each[i];
  }
  return std::max<std::int64_t>(0, times);
}

// Extended resources, which come in whole pieces: "nvidia.com/gpu".
inline bool is_device(std::string_view resource) {
  return resource.find('/') != std::string_view::npos && !kube::is_implicit(resource);
}

}  // namespace nervex::placement
