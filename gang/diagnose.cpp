#include "gang/diagnose.h"

#include <algorithm>
#include <tuple>

namespace nervex::gang {
namespace {

using kube::NodeVerdict;

// Now, or once the node is back, without anybody changing the gang or the node's labels and taints.
bool may_use(NodeVerdict verdict) {
  return verdict == NodeVerdict::kAllowed || verdict == NodeVerdict::kNotReady ||
         verdict == NodeVerdict::kUnschedulable;
}

// What is left on the nodes that count, when each took as many pods of the set as it could.
std::vector<Amounts> left_now(const Capacity& capacity, const SetNeed& need) {
  std::vector<Amounts> left;
  for (std::size_t i = 0; i < need.verdicts.size(); ++i) {
    if (need.verdicts[i] != NodeVerdict::kAllowed) continue;
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

void count_node(NodeVerdict verdict, bool fits_now, bool fits_empty, NoFit& out) {
  switch (verdict) {
    case NodeVerdict::kAllowed:
      ++(fits_now ? out.nodes_free : fits_empty ? out.nodes_full : out.nodes_too_small);
      break;
    case NodeVerdict::kNotReady:
    case NodeVerdict::kUnschedulable:
      ++out.nodes_not_ready;
      break;
    case NodeVerdict::kTainted:
      ++out.nodes_tainted;
      break;
    case NodeVerdict::kNotSelected:
      ++out.nodes_not_selected;
      break;
  }
}

}  // namespace

NoFit diagnose(const std::string& role, const Capacity& capacity, std::size_t set,
               const Grid& before, std::int64_t unplaced) {
  const SetNeed& need = capacity.sets[set];
  NoFit out;
  out.role = role;
  out.wanted = static_cast<int>(need.wanted);
  out.unplaced = static_cast<int>(unplaced);
  std::int64_t most = 0;
  for (std::size_t i = 0; i < need.verdicts.size(); ++i) {
    const NodeVerdict verdict = need.verdicts[i];
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

}  // namespace nervex::gang
