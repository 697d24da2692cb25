#include "gang/rank.h"

#include <algorithm>
#include <string_view>
#include <tuple>

namespace nervex::gang {
namespace {

// The smaller, the better a place.
using Waste = std::tuple<bool, std::int64_t, std::int64_t, std::int64_t>;

Waste least_waste(const Capacity& capacity, const SetNeed& need, std::size_t node,
                  std::int64_t times) {
  auto [unused, has_unused] = capacity.other_devices[node];
  const AmountsView free = capacity.free.row(node);
  for (std::size_t r = 0; r < need.each.size(); ++r) {
    if (!capacity.device[r] || need.each[r] > 0) continue;
    has_unused = has_unused || capacity.empty.row(node)[r] > 0;
    unused += std::max<std::int64_t>(0, free[r]);
  }
  if (need.each.empty()) return {has_unused, unused, 0, 0};
  const std::int64_t left = free[need.scarce] - times * need.each[need.scarce];
  return {has_unused, unused, left, free[need.scarce]};
}

Waste tightness(const Capacity& capacity, const SetNeed& need, std::size_t node,
                std::int64_t times) {
  constexpr std::int64_t kParts = 1000;
  const AmountsView empty = capacity.empty.row(node);
  std::int64_t left = 0;
  for (std::size_t r = 0; r < need.each.size(); ++r) {
    if (empty[r] <= 0) continue;
    const std::int64_t part = std::max<std::int64_t>(1, empty[r] / kParts);
    left += (capacity.free.row(node)[r] - times * need.each[r]) / part;
  }
  return {false, left, 0, 0};
}

}  // namespace

std::vector<Candidate> rank_nodes(const Capacity& capacity, const SetNeed& need,
                                  std::span<const NodeView> nodes, NodeOrder by) {
  struct Ranked {
    Waste waste;
    std::string_view name;
    Candidate candidate;
  };
  std::vector<Ranked> ranked;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (need.verdicts[i] != kube::NodeVerdict::kAllowed) continue;
    const std::int64_t times = times_in(need.each, capacity.free.row(i), need.wanted);
    if (times <= 0) continue;
    ranked.push_back({by == NodeOrder::kLeastWaste ? least_waste(capacity, need, i, times)
                                                   : tightness(capacity, need, i, times),
                      nodes[i].node->name,
                      {i, times}});
  }
  std::sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
    return std::tie(a.waste, a.name) < std::tie(b.waste, b.name);
  });
  std::vector<Candidate> out;
  out.reserve(ranked.size());
  for (const Ranked& entry : ranked) out.push_back(entry.candidate);
  return out;
}

}  // namespace nervex::gang
