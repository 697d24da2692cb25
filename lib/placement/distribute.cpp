#include "placement/distribute.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace nervex::placement {
namespace {

using Counts = std::vector<std::vector<std::int64_t>>;

// The cells of one domain: a tree, with a level for each constraint.
class Branch {
 public:
  // The cells of `order`, which is sorted by domains; those of the first `depth` constraints are
  // equal.
  Branch(SpreadCells& cells, std::span<const std::size_t> order, std::size_t depth,
         const Counts& counts)
      : cells_(cells), order_(order), depth_(depth) {
    if (depth == counts.size()) return;
    while (!order.empty()) {
      const std::size_t domain = cells.domain(order.front(), depth);
      std::size_t end = 1;
      while (end < order.size() && cells.domain(order[end], depth) == domain) ++end;
      push({counts[depth][domain], children_.size()});
      children_.push_back({domain, Branch(cells, order.first(end), depth + 1, counts)});
      order = order.subspan(end);
    }
  }

  // False: no cell has capacity.
  bool place_one(Counts& counts) {
    if (depth_ == counts.size()) return take_any();
    while (!next_.empty()) {
      std::pop_heap(next_.begin(), next_.end(), std::greater<>());
      const auto [count, at] = next_.back();
      next_.pop_back();
      auto& [domain, branch] = children_[at];
      // Another branch may have cells of this domain, too, and have placed pods there.
      const bool is_outdated = count != counts[depth_][domain];
      const bool is_placed = !is_outdated && branch.place_one(counts);
      if (is_placed) ++counts[depth_][domain];
      if (is_placed || is_outdated) push({counts[depth_][domain], at});
      if (is_placed) return true;
    }
    return false;
  }

 private:
  using Next = std::pair<std::int64_t, std::size_t>;  // pods in the domain, child
  bool take_any() {
    while (!order_.empty() && !cells_.take(order_.front())) order_ = order_.subspan(1);
    return !order_.empty();
  }
  void push(Next next) {
    next_.push_back(next);
    std::push_heap(next_.begin(), next_.end(), std::greater<>());
  }

  SpreadCells& cells_;
  std::span<const std::size_t> order_;
  std::size_t depth_;
  std::vector<std::pair<std::size_t, Branch>> children_;  // by domain
  std::vector<Next> next_;                                // a heap, the fewest pods on top
};

}  // namespace

std::int64_t distribute(std::int64_t pods, SpreadCells cells, Counts& counts) {
  std::vector<std::size_t> order(cells.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::ranges::lexicographical_compare(cells.domains(a), cells.domains(b));
  });
  Branch all(cells, order, 0, counts);
  while (pods > 0 && all.place_one(counts)) --pods;
  return pods;
}

}  // namespace nervex::placement
