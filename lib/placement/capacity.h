// placement/capacity.h - how many pods of each set does each node hold? The planner's input, as
// plain integers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gang/pod_group.h"
#include "kube/model/device_class.h"
#include "placement/cluster.h"

namespace nervex::placement {

// More than any gang requests, and far enough from the limits of int64 for sums.
inline constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max() / 4;

// Amounts of the resources that a gang asks for, by the index of Capacity::resources.
using Amounts = std::vector<std::int64_t>;
using AmountsView = std::span<const std::int64_t>;

// Upper bound on the slots of this set that one call may place on this node; the caller subtracts
// slots already there. Of several limits for one set and node the lowest applies.
struct NodeLimit {
  std::string set;  // gang::MemberSet::name
  std::string node;
  int at_most = 0;
  bool operator==(const NodeLimit&) const = default;
};

// Upper bound on what the pods of one call together request of a resource on all nodes with one
// value of a label: quotas and limits of node classes.
struct GroupLimit {
  std::string label;
  std::string resource;
  std::map<std::string, std::int64_t, std::less<>> most;  // by value of the label
  // No other node may be used for pods that request the resource. False: others have no bound.
  bool closes_others = false;
  bool operator==(const GroupLimit&) const = default;
};

// A topology spread constraint for the pods of one call: where a pod of `sets` is placed there are
// in the end at most `max_skew` more pods that request the counter (kube::is_counter()) than in the
// domain with the fewest.
struct DomainBounds {
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::string counter;
  std::span<const std::size_t> domain;  // by node; kNone: pods there do not count. Borrowed
  std::vector<std::int64_t> count;      // by domain: pods there now
  // By domain: pods of `sets` of the call that may get there; below zero: too many are there now.
  std::vector<std::int64_t> most;
  int max_skew = 1;
  bool has_empty_domain = false;  // the domain with the fewest is none of these, and is empty
  bool bounds_all = false;        // `most` is for all pods that request the counter
  // gang::MemberSet::name: these have the constraint, and use nodes of domains only.
  std::vector<std::string> sets;
};

// On which nodes may a set be placed, as if its nodeSelector said so, and which of them come first?
struct NodeChoice {
  std::string set;                  // gang::MemberSet::name
  std::vector<bool> allowed;        // by node
  std::vector<std::int64_t> score;  // by node: added to Verdicts::score; empty: all are equal
};

// PlanLimits bound one plan beside the capacity of the nodes. Borrows its parts. Limits for unknown
// sets or nodes are ignored.
struct PlanLimits {
  PlanLimits() = default;
  PlanLimits(std::span<const NodeLimit> on_nodes,  // NOLINT: implicit, as the one below
             std::span<const GroupLimit> on_groups = {},
             std::span<const DomainBounds> on_domains = {})
      : nodes(on_nodes), groups(on_groups), domains(on_domains) {}
  PlanLimits(const std::vector<NodeLimit>& on_nodes) : nodes(on_nodes) {}  // NOLINT

  std::span<const NodeLimit> nodes{};
  // A gang that fits without them may get no place for them: NoFit does not say so.
  std::span<const GroupLimit> groups{};
  // The same.
  std::span<const DomainBounds> domains{};
  std::span<const NodeChoice> choices{};  // at most one for each set
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

// Nodes with the same value of a label share a resource: one unit for pods that keep apart by zone,
// so that they get one node in each zone, or what a GroupLimit allows. A node without the label
// shares with no other node, though kube-scheduler would allow more there.
struct Domains {
  std::size_t resource = 0;                     // by index
  std::vector<std::vector<std::size_t>> nodes;  // of each domain
  std::vector<std::size_t> domain;              // by node
  // This domain has no bound: what its nodes share need not be counted. None: out of range.
  std::size_t unbounded = static_cast<std::size_t>(-1);
  struct Skew {
    std::vector<std::int64_t> count;  // by domain: pods there now
    std::vector<std::int64_t> most;   // by domain: free before any pod is placed
    std::int64_t max_skew = 1;
    bool has_empty_domain = false;
    // The next Domains of Capacity show where pods that have the constraint are: not all that have
    // it request its counter, or others do, too.
    bool has_places = false;
  };
  std::optional<Skew> skew{};  // of DomainBounds
};

// `count` pods of a set go to a node.
struct Fill {
  std::size_t set = 0;
  std::size_t node = 0;
  std::int64_t count = 0;
};

struct Capacity {
  // kNow: the current state. kEmptyCluster: all nodes empty, ready, not cordoned, without taints
  // and limits. This is an upper bound as long as node sizes do not change.
  enum class When { kNow, kEmptyCluster };

  const Cluster* cluster = nullptr;
  bool delegates = false;  // Cluster::delegates()
  When when = When::kNow;
  // Sorted. The last ones stand for group limits and domain bounds; an empty cluster has no bound
  // of them.
  std::vector<std::string> resources;
  std::size_t group_limits = 0;        // of both
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
  // Amount of that resource on an empty node.
  std::int64_t allocatable(std::size_t node, std::size_t resource) const;
  // The node leaves the resource to kube-scheduler: how much it has says nothing.
  bool is_delegated(std::size_t node, std::size_t resource) const {
    return delegates && column[resource] >= 0 &&
           kube::is_delegated(cluster->allocatable_row(node)[column[resource]]);
  }
  // How many more pods of the set the node holds; 0 if the node may not be used.
  std::int64_t times_on(const SetNeed& need, std::size_t node) const;
  bool shares_domains(const SetNeed& need) const;
  // Domains::skew of domains[i]: how many more pods other domains need, so that no domain with pods
  // of the gang has too many. `read_free`: of a domain, by index and number. 0: none, or there is
  // no constraint.
  template <typename Free>
  std::int64_t lacking_for_skew(std::size_t i, const Free& read_free) const;

  // Takes capacity for pods from their nodes and from nodes that share with these, or gives it
  // back. Cost: fills, and once the nodes of their domains.
  enum class Direction { kTake, kGiveBack };
  void take(std::span<const Fill> fills, Direction direction = Direction::kTake);
};

// Cost: (sets + resources) x nodes. `cluster` is borrowed.
Capacity measure_capacity(std::span<const gang::MemberSet> members, const Cluster& cluster,
                          const PlanLimits& limits);
// The same gang in the empty cluster.
Capacity when_empty(const Capacity& capacity);

// How many pods of the set fit without the rest of its gang; each node counts at most the wanted
// number. Never too low, since proofs use it. May be too high for pods that keep apart by two
// labels.
std::int64_t most_alone(const Capacity& capacity, const SetNeed& need);

template <typename Free>
std::int64_t Capacity::lacking_for_skew(std::size_t i, const Free& read_free) const {
  const Domains& shared = domains[i];
  if (!shared.skew) return 0;
  const Domains::Skew& skew = *shared.skew;
  const auto count = [&](std::size_t d) { return skew.count[d] + skew.most[d] - read_free(i, d); };
  std::int64_t highest = 0;
  for (std::size_t d = 0; d < skew.count.size(); ++d) {
    const bool has_pods =
        skew.has_places ? read_free(i + 1, d) < kUnbounded : read_free(i, d) < skew.most[d];
    if (has_pods) highest = std::max(highest, count(d));
  }
  const std::int64_t fewest = highest - skew.max_skew;
  if (fewest <= 0) return 0;
  if (skew.has_empty_domain) return fewest;
  std::int64_t lacking = 0;
  for (std::size_t d = 0; d < skew.count.size(); ++d) {
    lacking += std::max<std::int64_t>(0, fewest - count(d));
  }
  return lacking;
}

// How many pods of `each` fit in `amounts`, at most `limit`.
inline std::int64_t times_in(const Amounts& each, AmountsView amounts, std::int64_t limit) {
  std::int64_t times = limit;
  for (std::size_t i = 0; i < each.size(); ++i) {
    if (each[i] <= 0) continue;
    if (amounts[i] < each[i]) return 0;
    // Divisions are slow; usually one resource decides.
    std::int64_t product = 0;
    if (!__builtin_mul_overflow(times, each[i], &product) && product <= amounts[i]) continue;
    times = amounts[i] / each[i];
  }
  return std::max<std::int64_t>(0, times);
}

// Extended resources, which are allocated in whole units: "nvidia.com/gpu".
inline bool is_device(std::string_view resource) {
  return resource.find('/') != std::string_view::npos && !kube::is_implicit(resource);
}

}  // namespace nervex::placement
