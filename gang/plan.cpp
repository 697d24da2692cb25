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
                                  std::span<const NodeView> nodes, NodeOrder by) {
  struct Ranked {
    Waste waste;
    std::string_view name;
    Candidate candidate;
  };
  std::vector<Ranked> ranked;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (need.verdicts[i] != NodeFit::kAllowed) continue;
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

// ---- in which order do the sets choose?

enum class SetOrder { kLargestFirst, kMostConstrainedFirst };

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
      const auto& verdicts = capacity.sets[i].verdicts;
      allowed[i] = std::count(verdicts.begin(), verdicts.end(), NodeFit::kAllowed);
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

// ---- why was a set not placed as a whole?

// Now, or once the node is back, without anybody changing the gang or the node's labels and taints.
bool may_use(NodeFit verdict) {
  return verdict == NodeFit::kAllowed || verdict == NodeFit::kNotReady ||
         verdict == NodeFit::kUnschedulable;
}

// What is left on the nodes that count, when each took as many pods of the set as it could.
std::vector<Amounts> left_now(const Capacity& capacity, const SetNeed& need) {
  std::vector<Amounts> left;
  for (std::size_t i = 0; i < need.verdicts.size(); ++i) {
    if (need.verdicts[i] != NodeFit::kAllowed) continue;
    const AmountsView free = capacity.free.row(i);
    left.emplace_back(free.begin(), free.end());
  }
  return left;
}

std::vector<Amounts> left_when_empty(const Capacity& capacity, const SetNeed& need) {
  std::vector<Amounts> left;
  for (std::size_t i = 0; i < need.verdicts.size(); ++i) {
    if (!may_use(need.verdicts[i])) continue;
    const AmountsView empty = capacity.empty.row(i);
    Amounts& amounts = left.emplace_back(empty.begin(), empty.end());
    const std::int64_t times = times_in(need.each, amounts, need.wanted);
    for (std::size_t r = 0; r < amounts.size(); ++r) amounts[r] -= times * need.each[r];
  }
  return left;
}

// The resource that keeps the most nodes from taking one more pod; of equals a device, then the
// scarce one, then the first by name.
std::size_t bottleneck(const Capacity& capacity, const SetNeed& need,
                       const std::vector<Amounts>& left) {
  std::size_t best = need.scarce;
  std::tuple<std::ptrdiff_t, bool, bool> best_rank;
  for (std::size_t r = 0; r < need.each.size(); ++r) {
    if (need.each[r] <= 0) continue;
    const auto lacking = std::count_if(left.begin(), left.end(), [&](const Amounts& amounts) {
      return amounts[r] < need.each[r];
    });
    const std::tuple rank(lacking, bool{capacity.device[r]}, r == need.scarce);
    if (rank > best_rank) std::tie(best, best_rank) = std::tie(r, rank);
  }
  return best;
}

void count_node(NodeFit verdict, bool fits_now, bool fits_empty, NoFit& out) {
  switch (verdict) {
    case NodeFit::kAllowed:
      ++(fits_now ? out.nodes_free : fits_empty ? out.nodes_full : out.nodes_too_small);
      break;
    case NodeFit::kNotReady:
    case NodeFit::kUnschedulable:
      ++out.nodes_not_ready;
      break;
    case NodeFit::kTainted:
      ++out.nodes_tainted;
      break;
    case NodeFit::kNotSelected:
      ++out.nodes_not_selected;
      break;
  }
}

// The numbers that explain why `unplaced` pods of a set have no node: `capacity` is what was left
// after the others of the set, `before` what was free before the set's first pod, with the sets
// that chose earlier subtracted. `never` is only said with a proof: capacity for the set alone, in
// a cluster where every node that it may use is empty, ready and not cordoned, is too small.
NoFit diagnose(const std::string& role, const Capacity& capacity, std::size_t set,
               const Grid& before, std::int64_t unplaced) {
  const SetNeed& need = capacity.sets[set];
  NoFit out;
  out.role = role;
  out.wanted = static_cast<int>(need.wanted);
  out.unplaced = static_cast<int>(unplaced);
  std::int64_t most = 0;
  for (std::size_t i = 0; i < need.verdicts.size(); ++i) {
    const NodeFit verdict = need.verdicts[i];
    const std::int64_t when_empty = times_in(need.each, capacity.empty.row(i), need.wanted);
    count_node(verdict, times_in(need.each, before.row(i), 1) > 0, when_empty > 0, out);
    if (may_use(verdict)) most += when_empty;
  }
  out.most = static_cast<int>(std::min(most, need.wanted));
  if (out.nodes_free + out.nodes_full + out.nodes_too_small == 0) return out;
  out.never = most < need.wanted;
  const auto left = out.never ? left_when_empty(capacity, need) : left_now(capacity, need);
  const std::size_t scarce = bottleneck(capacity, need, left);
  out.resource = capacity.resources[scarce];
  out.each = need.each[scarce];
  for (std::size_t i = 0; i < need.verdicts.size(); ++i) {
    if (!may_use(need.verdicts[i])) continue;
    out.largest_node = std::max(out.largest_node, capacity.empty.row(i)[scarce]);
  }
  return out;
}

// ---- the gang

// Greedy ways to place a gang, tried in turn. Each misses gangs that another one places; together
// they miss few (see plan_property_test.cpp). When all fail, the first one's NoFit is the answer.
struct Strategy {
  SetOrder sets;
  NodeOrder nodes;
};
constexpr Strategy kStrategies[] = {
    {SetOrder::kLargestFirst, NodeOrder::kLeastWaste},
    {SetOrder::kMostConstrainedFirst, NodeOrder::kLeastWaste},
    {SetOrder::kLargestFirst, NodeOrder::kTightest},
    {SetOrder::kMostConstrainedFirst, NodeOrder::kTightest},
};

// Fills the best nodes first; names the slots in their own order. Returns how many were not placed.
std::int64_t fill(Capacity& capacity, std::size_t set, const MemberSet& member,
                  std::span<const NodeView> nodes, NodeOrder by, std::vector<Assignment>& out) {
  const SetNeed& need = capacity.sets[set];
  std::vector<SlotId> slots = member.slots;
  std::sort(slots.begin(), slots.end());
  auto slot = slots.begin();
  for (const Candidate& candidate : rank_nodes(capacity, need, nodes, by)) {
    const std::int64_t count = std::min<std::int64_t>(candidate.times, slots.end() - slot);
    capacity.free.take(candidate.node, need.each, count);
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
    const std::int64_t unplaced = fill(capacity, set, members[set], nodes, strategy.nodes, out);
    if (unplaced > 0) return diagnose(members[set].role, capacity, set, before, unplaced);
  }
  std::sort(out.begin(), out.end(), [](const Assignment& a, const Assignment& b) {
    return std::tie(a.role, a.slot) < std::tie(b.role, b.slot);
  });
  return out;
}

}  // namespace

Plan plan_gang(std::span<const MemberSet> members, std::span<const NodeView> nodes) {
  const Capacity capacity = measure_capacity(members, nodes);
  std::optional<Plan> verdict;
  for (const Strategy& strategy : kStrategies) {
    Plan plan = place(members, nodes, capacity, strategy);
    if (std::holds_alternative<std::vector<Assignment>>(plan)) return plan;
    if (!verdict) verdict = std::move(plan);
    if (std::get<NoFit>(*verdict).never) break;  // proven: no order helps
  }
  return *std::move(verdict);
}

}  // namespace nervex::gang
