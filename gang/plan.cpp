#include "gang/plan.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>
#include <tuple>

#include "gang/capacity.h"

namespace nervex::gang {
namespace {

using kube::NodeFit;

// ---- in which order are nodes offered to the pods of one set?

enum class NodeOrder {
  // Spares devices: nodes that have none which the pods would not use, then those that would be
  // left with the least of the scarce resource, then the fullest: whole nodes stay free.
  kLeastWaste,
  // Nodes that would be left with the least of everything, as shares of the node.
  kTightest,
};

// In which order do the sets choose?
enum class SetOrder { kLargestFirst, kMostConstrainedFirst };

// Greedy ways to place a gang, tried in turn. Each misses gangs that another one places; together
// they miss few (see plan_property_test.cpp). When all fail, the first one's NoFit is the answer.
struct Strategy {
  SetOrder sets;
  NodeOrder nodes;
  bool preferred_first = false;  // nodes that the set prefers, before the order of nodes
};
constexpr Strategy kStrategies[] = {
    {SetOrder::kLargestFirst, NodeOrder::kLeastWaste},
    {SetOrder::kMostConstrainedFirst, NodeOrder::kLeastWaste},
    {SetOrder::kLargestFirst, NodeOrder::kTightest},
    {SetOrder::kMostConstrainedFirst, NodeOrder::kTightest},
};

struct Candidate {
  std::size_t node = 0;
  std::int64_t times = 0;  // pods of the set that it holds, at least 1
};

// The smaller, the better the node.
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

// The nodes that the set may use and that have capacity for one pod or more, the best first; of
// equals the first by name. Cost: nodes x log(nodes).
std::vector<Candidate> rank_nodes(const Capacity& capacity, const SetNeed& need,
                                  std::span<const NodeView> nodes, Strategy by) {
  struct Ranked {
    Waste waste;
    std::string_view name;
    Candidate candidate;
  };
  std::vector<Ranked> ranked;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (need.fits[i] != NodeFit::kAllowed) continue;
    const std::int64_t times = times_in(need.each, capacity.free.row(i), need.limit_on(i));
    if (times <= 0) continue;
    ranked.push_back({by.nodes == NodeOrder::kLeastWaste ? least_waste(capacity, need, i, times)
                                                         : tightness(capacity, need, i, times),
                      nodes[i].node->name,
                      {i, times}});
  }
  std::sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
    return std::tie(a.waste, a.name) < std::tie(b.waste, b.name);
  });
  if (by.preferred_first && !need.score.empty()) {
    std::stable_sort(ranked.begin(), ranked.end(), [&](const Ranked& a, const Ranked& b) {
      return need.score[a.candidate.node] > need.score[b.candidate.node];
    });
  }
  std::vector<Candidate> out;
  out.reserve(ranked.size());
  for (const Ranked& entry : ranked) out.push_back(entry.candidate);
  return out;
}

// ---- the order of the sets

// Devices, cpu and memory of one pod, then the name: total, so the order of the input does not
// matter.
auto size_key(const MemberSet& member) {
  std::int64_t devices = 0;
  for (const auto& [name, amount] : member.shape.requests.amounts()) {
    if (is_device(name)) devices = std::max(devices, amount);
  }
  return std::tuple(-devices, -member.shape.requests.get("cpu"),
                    -member.shape.requests.get("memory"), std::string_view(member.name));
}

std::vector<std::size_t> order_sets(std::span<const MemberSet> members, const Capacity& capacity,
                                    SetOrder by) {
  std::vector<std::int64_t> allowed(members.size(), 0);
  if (by == SetOrder::kMostConstrainedFirst) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      const auto& fits = capacity.sets[i].fits;
      allowed[i] = std::count(fits.begin(), fits.end(), NodeFit::kAllowed);
    }
  }
  std::vector<std::size_t> order(members.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(allowed[a], size_key(members[a])) <
           std::tuple(allowed[b], size_key(members[b]));
  });
  return order;
}

// ---- the gang

// Fills the best nodes first; names the slots in their own order. Returns how many were not placed.
std::int64_t fill(Capacity& capacity, std::size_t set, const MemberSet& member,
                  std::span<const NodeView> nodes, Strategy by, std::vector<Assignment>& out) {
  const SetNeed& need = capacity.sets[set];
  std::vector<SlotId> slots = member.slots;
  std::sort(slots.begin(), slots.end());
  auto slot = slots.begin();
  for (const Candidate& candidate : rank_nodes(capacity, need, nodes, by)) {
    std::int64_t times = candidate.times;
    if (!capacity.domains.empty()) {  // the nodes before it may have taken what it shares
      times = times_in(need.each, capacity.free.row(candidate.node), times);
    }
    const std::int64_t count = std::min<std::int64_t>(times, slots.end() - slot);
    capacity.take(candidate.node, need, count);
    for (std::int64_t i = 0; i < count; ++i, ++slot) {
      out.push_back({member.role, *slot, nodes[candidate.node].node->name});
    }
    if (slot == slots.end()) break;
  }
  return slots.end() - slot;
}

Plan place(std::span<const MemberSet> members, std::span<const NodeView> nodes, Capacity capacity,
           Strategy strategy) {
  std::vector<Assignment> out;
  for (const std::size_t set : order_sets(members, capacity, strategy.sets)) {
    const Grid before = capacity.free;
    const std::int64_t unplaced = fill(capacity, set, members[set], nodes, strategy, out);
    if (unplaced > 0) return diagnose(members[set].role, capacity, set, before, unplaced);
  }
  std::sort(out.begin(), out.end(), [](const Assignment& a, const Assignment& b) {
    return std::tie(a.role, a.slot) < std::tie(b.role, b.slot);
  });
  return out;
}

}  // namespace

Plan plan_gang(std::span<const MemberSet> members, std::span<const NodeView> nodes,
               std::span<const NodeLimit> limits) {
  const Capacity capacity = measure_capacity(members, nodes, limits);
  const bool has_preference = std::any_of(capacity.sets.begin(), capacity.sets.end(),
                                          [](const SetNeed& need) { return !need.score.empty(); });
  std::optional<Plan> first;
  for (const bool preferred_first : {true, false}) {
    if (preferred_first && !has_preference) continue;
    for (Strategy strategy : kStrategies) {
      strategy.preferred_first = preferred_first;
      Plan plan = place(members, nodes, capacity, strategy);
      if (std::holds_alternative<std::vector<Assignment>>(plan)) return plan;
      if (!first) first = std::move(plan);
      if (std::get<NoFit>(*first).never) return *std::move(first);  // proven: no order helps
    }
  }
  return *std::move(first);
}

}  // namespace nervex::gang
