#include "gang/plan.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>

#include "gang/capacity.h"
#include "gang/diagnose.h"
#include "gang/rank.h"

namespace nervex::gang {
namespace {

enum class SetOrder { kLargestFirst, kMostConstrainedFirst };

// Greedy ways to place a gang, tried in turn. Each misses gangs that another one places; together
// they miss few (see plan_property_test.cpp). When all fail, the first one's verdict is told.
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

// Devices, cpu and memory of one pod, then the name: total, so the input's order has no say.
auto size_key(const MemberSet& member) {
  std::int64_t devices = 0;
  for (const auto& [name, amount] : member.requests.amounts()) {
    if (is_device(name)) devices = std::max(devices, amount);
  }
  return std::tuple(-devices, -member.requests.get("cpu"), -member.requests.get("memory"),
                    std::string_view(member.name));
}

std::vector<std::size_t> order_sets(std::span<const MemberSet> members, const Capacity& capacity,
                                    SetOrder by) {
  std::vector<std::int64_t> allowed(members.size(), 0);
  if (by == SetOrder::kMostConstrainedFirst) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      const auto& verdicts = capacity.sets[i].verdicts;
      allowed[i] = std::count(verdicts.begin(), verdicts.end(), kube::NodeVerdict::kAllowed);
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

// Fills the best nodes first; names the slots in their own order. Returns how many found no place.
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
