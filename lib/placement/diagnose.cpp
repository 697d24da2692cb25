#include "placement/diagnose.h"

#include <algorithm>
#include <tuple>

namespace nervex::placement {
namespace {

using kube::NodeFit;

// The resources of an empty node.
void read_empty_row(const Capacity& capacity, std::size_t node, Amounts& row) {
  const std::int64_t* all = capacity.cluster->allocatable_row(node);
  row.clear();
  for (const std::ptrdiff_t column : capacity.column) {
    row.push_back(column >= 0 ? all[column] : capacity.allocatable(node, row.size()));
  }
}

// For each resource, the number of nodes where it prevents one more pod of the set: in the current
// state, or after the set alone has filled the empty nodes.
std::vector<std::int64_t> count_lacking(const Capacity& capacity, const SetNeed& need,
                                        bool when_empty) {
  std::vector<std::int64_t> lacking(need.each.size(), 0);
  Amounts row;
  for (std::size_t i = 0; i < capacity.nodes(); ++i) {
    if (when_empty ? !need.verdicts->selected[i] : !capacity.may_use(need, i)) continue;
    if (when_empty) {
      read_empty_row(capacity, i, row);
      const std::int64_t times = times_in(need.each, row, need.wanted);
      for (std::size_t r = 0; r < row.size(); ++r) row[r] -= times * need.each[r];
    }
    const AmountsView left = when_empty ? AmountsView(row) : capacity.free.row(i);
    for (std::size_t r = 0; r < lacking.size(); ++r) lacking[r] += left[r] < need.each[r] ? 1 : 0;
  }
  return lacking;
}

// The resource that prevents one more pod on most nodes. Ties: a device, then the scarce resource,
// then the first by name.
std::size_t bottleneck(const Capacity& capacity, const SetNeed& need, bool when_empty) {
  const auto lacking = count_lacking(capacity, need, when_empty);
  std::size_t best = need.scarce;
  std::tuple<std::int64_t, bool, bool> best_rank;
  for (std::size_t r = 0; r < need.each.size(); ++r) {
    if (need.each[r] <= 0) continue;
    const std::tuple rank(lacking[r], bool{capacity.device[r]}, r == need.scarce);
    if (rank > best_rank) std::tie(best, best_rank) = std::tie(r, rank);
  }
  return best;
}

void count_unusable(NodeFit fit, gang::NodeCounts& out) {
  switch (fit) {
    case NodeFit::kAllowed:
      break;
    case NodeFit::kNotReady:
      ++out.not_ready;
      break;
    case NodeFit::kUnschedulable:
      ++out.cordoned;
      break;
    case NodeFit::kTainted:
      ++out.tainted;
      break;
    case NodeFit::kNotSelected:
      ++out.not_selected;
      break;
    case NodeFit::kVolumeElsewhere:
      ++out.volume_elsewhere;
      break;
  }
}

}  // namespace

gang::NoFit diagnose(const std::string& role, const Capacity& capacity, std::size_t set,
                     const Grid& before, std::int64_t unplaced) {
  const SetNeed& need = capacity.sets[set];
  gang::UnplacedSet out;
  out.role = role;
  out.wanted = static_cast<int>(need.wanted);
  out.unplaced = static_cast<int>(unplaced);
  gang::NodeCounts& nodes = out.nodes;
  const auto& fits = need.verdicts->fits;
  Amounts row;
  for (std::size_t i = 0; i < capacity.nodes(); ++i) {
    if (fits[i] != NodeFit::kAllowed) {
      count_unusable(fits[i], nodes);
      continue;
    }
    const std::int64_t now = times_in(need.each, before.row(i), need.wanted);
    const std::int64_t limit = need.limit_on(i);
    if (now > 0) {
      if (now > limit) ++nodes.avoided;
      if (limit > 0) ++nodes.free;
      continue;
    }
    read_empty_row(capacity, i, row);
    ++(times_in(need.each, row, 1) > 0 ? nodes.full : nodes.too_small);
  }
  if (nodes.free + nodes.full + nodes.too_small + nodes.avoided == 0) {
    return gang::NoNodeAllowed{std::move(out)};
  }
  const Capacity empty = when_empty(capacity);
  const std::int64_t most = std::min(need.wanted, most_alone(empty, empty.sets[set]));
  const bool is_never = most < need.wanted;
  if (is_never) out.unplaced = static_cast<int>(need.wanted - most);
  const std::size_t scarce = bottleneck(capacity, need, is_never);
  gang::ResourceNeed scarce_need{capacity.resources[scarce], need.each[scarce]};
  if (!is_never) return gang::InsufficientCapacity{std::move(out), std::move(scarce_need)};
  std::int64_t largest = 0;
  for (std::size_t i = 0; i < capacity.nodes(); ++i) {
    if (!need.verdicts->selected[i]) continue;
    // A delegated amount is enough, and no number for people.
    largest = std::max(largest, capacity.is_delegated(i, scarce) ? need.each[scarce]
                                                                 : capacity.allocatable(i, scarce));
  }
  return gang::NeverFits{std::move(out), std::move(scarce_need), static_cast<int>(most), largest};
}

}  // namespace nervex::placement
