#include "placement/plan.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <optional>
#include <string_view>
#include <tuple>

#include "placement/diagnose.h"
#include "placement/search.h"

namespace nervex::placement {
namespace {

// ---- node order for the pods of one set

enum class NodeOrder {
  // Keeps devices and whole nodes free. Order: nodes without devices that the pods would not use,
  // then nodes left with the least of the scarce resource, then the fullest.
  kLeastWaste,
  // Nodes left with the least of all resources, as shares of the node.
  kTightest,
};

// The order in which sets choose nodes.
enum class SetOrder { kLargestFirst, kMostConstrainedFirst };

// Greedy ways to place a gang, tried in order. Each misses gangs that another one places. If all
// fail, the answer is the first one's NoFit.
struct Strategy {
  SetOrder sets;
  NodeOrder nodes;
  bool preferred_first = false;  // the set's preferred nodes come first, in node order
};
constexpr Strategy kStrategies[] = {
    {SetOrder::kLargestFirst, NodeOrder::kLeastWaste},
    {SetOrder::kMostConstrainedFirst, NodeOrder::kLeastWaste},
    {SetOrder::kLargestFirst, NodeOrder::kTightest},
    {SetOrder::kMostConstrainedFirst, NodeOrder::kTightest},
};

// Smaller is better; ties go to the first by name.
struct Candidate {
  std::array<std::int64_t, 4> waste{};
  std::size_t node = 0;
  std::int64_t times = 0;  // pods of the set that the node holds, at least 1

  bool operator<(const Candidate& other) const {
    for (std::size_t i = 0; i < waste.size(); ++i) {
      if (waste[i] != other.waste[i]) return waste[i] < other.waste[i];
    }
    return node < other.node;
  }
};

// Ranks nodes for the pods of one set.
class NodeRank {
 public:
  NodeRank(const Capacity& capacity, const SetNeed& need, Strategy by)
      : capacity_(capacity), need_(need), by_(by) {
    for (std::size_t r = 0; r < need.each.size(); ++r) {
      if (capacity.device[r] && need.each[r] == 0) spared_.push_back(r);
    }
  }

  // Nullopt: the node may not be used, or has no capacity for a pod.
  std::optional<Candidate> rank(std::size_t node) const {
    const std::int64_t times = capacity_.times_on(need_, node);
    if (times == 0) return std::nullopt;
    Candidate candidate{{}, node, times};
    if (by_.nodes == NodeOrder::kLeastWaste) {
      add_least_waste(candidate);
    } else {
      candidate.waste[1] = tightness(candidate);
    }
    const auto& score = need_.verdicts->score;
    if (by_.preferred_first && !score.empty()) candidate.waste[0] = -score[node];
    return candidate;
  }

 private:
  // waste[1]: devices on the node that the pods do not request; 0 if it has no such kind.
  void add_least_waste(Candidate& candidate) const {
    const std::size_t node = candidate.node;
    std::int64_t unused = 0;
    bool has_unused = false;
    if (!capacity_.other_devices.empty()) {
      has_unused = capacity_.other_devices[node].has;
      unused = capacity_.other_devices[node].free;
    }
    const AmountsView free = capacity_.free.row(node);
    for (const std::size_t r : spared_) {
      if (capacity_.is_delegated(node, r)) continue;
      has_unused = has_unused || capacity_.allocatable(node, r) > 0;
      unused += std::max<std::int64_t>(0, free[r]);
    }
    candidate.waste[1] = has_unused ? 1 + unused : 0;
    if (need_.each.empty()) return;
    candidate.waste[2] = free[need_.scarce] - candidate.times * need_.each[need_.scarce];
    candidate.waste[3] = free[need_.scarce];
  }

  std::int64_t tightness(const Candidate& candidate) const {
    constexpr std::int64_t kParts = 1000;
    const AmountsView free = capacity_.free.row(candidate.node);
    std::int64_t left = 0;
    for (std::size_t r = 0; r < need_.each.size(); ++r) {
      const std::int64_t all = capacity_.allocatable(candidate.node, r);
      if (all <= 0 || capacity_.is_delegated(candidate.node, r)) continue;
      const std::int64_t part = std::max<std::int64_t>(1, all / kParts);
      // The free amount of an overcommitted node may be negative.
      left +=
          std::clamp((free[r] - candidate.times * need_.each[r]) / part, -2 * kParts, 2 * kParts);
    }
    return left;
  }

  const Capacity& capacity_;
  const SetNeed& need_;
  const Strategy by_;
  std::vector<std::size_t> spared_;  // devices of the gang that these pods do not request
};

// The best nodes that together hold all pods of the set, best first; all usable nodes if they do
// not. Cost: nodes, plus log(result) for each node among the best so far.
std::vector<Candidate> best_nodes(const Capacity& capacity, const SetNeed& need, Strategy by) {
  const NodeRank rank(capacity, need, by);
  // Nodes that share a resource hold less together than the sum of each alone.
  const bool all = capacity.shares_domains(need);
  std::vector<Candidate> best;  // a heap, the worst on top
  std::int64_t fitting = 0;
  for (std::size_t i = 0; i < capacity.nodes(); ++i) {
    const auto candidate = rank.rank(i);
    if (!candidate) continue;
    if (!all && fitting >= need.wanted && !(*candidate < best.front())) continue;
    best.push_back(*candidate);
    fitting += candidate->times;
    if (all) continue;
    std::push_heap(best.begin(), best.end());
    while (fitting - best.front().times >= need.wanted) {
      fitting -= best.front().times;
      std::pop_heap(best.begin(), best.end());
      best.pop_back();
    }
  }
  std::sort(best.begin(), best.end());
  return best;
}

// ---- the order of the sets

// Devices of one pod, then its role, cpu and memory, then the name. A total order, so input order
// does not matter. Learners work in step and are packed; collectors, which come and go, get what is
// left.
auto size_key(const gang::MemberSet& member) {
  std::int64_t devices = 0;
  for (const auto& [name, amount] : member.shape.requests.amounts()) {
    if (is_device(name)) devices = std::max(devices, amount);
  }
  const bool is_collector = devices > 0 && member.role == "collector";
  return std::tuple(-devices, is_collector, -member.shape.requests.get("cpu"),
                    -member.shape.requests.get("memory"), std::string_view(member.name));
}

std::vector<std::size_t> order_sets(std::span<const gang::MemberSet> members,
                                    const Capacity& capacity, SetOrder by) {
  std::vector<std::int64_t> allowed(members.size(), 0);
  if (by == SetOrder::kMostConstrainedFirst) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      for (std::size_t node = 0; node < capacity.nodes(); ++node) {
        allowed[i] += capacity.may_use(capacity.sets[i], node) ? 1 : 0;
      }
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

// Domains, with what they have left for the pods of a set while these are placed.
class SharedLeft {
 public:
  SharedLeft(const Capacity& capacity, const SetNeed& need) : need_(need) {
    for (const Domains& shared : capacity.domains) {
      if (need.each[shared.resource] == 0) continue;
      shared_.push_back(&shared);
      auto& left = left_.emplace_back(shared.nodes.size(), 0);
      for (std::size_t d = 0; d < left.size(); ++d) {
        if (shared.nodes[d].empty()) continue;
        left[d] = capacity.free.row(shared.nodes[d].front())[shared.resource];
      }
    }
  }
  // How many pods fit on the node, at most `times`, which fit there at first.
  std::int64_t limit(std::size_t node, std::int64_t times) const {
    for (std::size_t i = 0; i < shared_.size(); ++i) {
      const std::int64_t each = need_.each[shared_[i]->resource];
      times = std::min(times, std::max<std::int64_t>(0, left_[i][shared_[i]->domain[node]]) / each);
    }
    return times;
  }
  void take(std::size_t node, std::int64_t times) {
    for (std::size_t i = 0; i < shared_.size(); ++i) {
      const std::size_t domain = shared_[i]->domain[node];
      if (domain == shared_[i]->unbounded) continue;
      left_[i][domain] -= times * need_.each[shared_[i]->resource];
    }
  }

 private:
  const SetNeed& need_;
  std::vector<const Domains*> shared_;
  std::vector<std::vector<std::int64_t>> left_;  // by domain
};

// Fills the best nodes first. Returns how many pods were not placed.
std::int64_t fill(Capacity& capacity, std::size_t set, Strategy by, std::vector<Fill>& out) {
  const SetNeed& need = capacity.sets[set];
  SharedLeft shared(capacity, need);
  const std::size_t first = out.size();
  std::int64_t left = need.wanted;
  for (const Candidate& candidate : best_nodes(capacity, need, by)) {
    if (left == 0) break;
    const std::int64_t times = shared.limit(candidate.node, candidate.times);
    const std::int64_t count = std::min(times, left);
    if (count == 0) continue;
    out.push_back({set, candidate.node, count});
    shared.take(candidate.node, count);
    left -= count;
  }
  capacity.take(std::span(out).subspan(first));
  return left;
}

// One greedy attempt. Sets placed before the failing set stay subtracted from `capacity`.
struct Attempt {
  std::vector<Fill> fills;
  std::optional<std::size_t> failed;  // the first set that could not be placed
  std::int64_t unplaced = 0;          // pods of that set
};

Attempt attempt(std::span<const gang::MemberSet> members, Capacity& capacity, Strategy strategy) {
  Attempt out;
  for (const std::size_t set : order_sets(members, capacity, strategy.sets)) {
    out.unplaced = fill(capacity, set, strategy, out.fills);
    if (out.unplaced == 0) continue;
    out.failed = set;
    return out;
  }
  const auto free = [&](std::size_t i, std::size_t domain) {
    const Domains& shared = capacity.domains[i];
    return capacity.free.row(shared.nodes[domain].front())[shared.resource];
  };
  for (std::size_t i = 0; i < capacity.domains.size(); ++i) {
    out.unplaced += capacity.lacking_for_skew(i, free);
  }
  // Pods of any set that counts there may be what is lacking.
  if (out.unplaced > 0) out.failed = order_sets(members, capacity, strategy.sets).back();
  return out;
}

void give_back(Capacity& capacity, const std::vector<Fill>& fills) {
  capacity.take(fills, Capacity::Direction::kGiveBack);
}

// Explains the failure and gives back what was placed.
gang::NoFit explain_and_undo(std::span<const gang::MemberSet> members, Capacity& capacity,
                             const Attempt& failed) {
  const std::size_t set = *failed.failed;
  Grid before = capacity.free;
  std::swap(before, capacity.free);
  std::vector<Fill> its;
  std::copy_if(failed.fills.begin(), failed.fills.end(), std::back_inserter(its),
               [&](const Fill& fill) { return fill.set == set; });
  give_back(capacity, its);
  std::swap(before, capacity.free);
  gang::NoFit no_fit = diagnose(members[set].role, capacity, set, before, failed.unplaced);
  give_back(capacity, failed.fills);
  return no_fit;
}

bool each_fits_alone(const Capacity& capacity) {
  return std::all_of(capacity.sets.begin(), capacity.sets.end(), [&](const SetNeed& need) {
    return most_alone(capacity, need) >= need.wanted;
  });
}

std::optional<std::vector<Fill>> try_strategies(std::span<const gang::MemberSet> members,
                                                Capacity& capacity, bool preferred_first,
                                                std::span<const Strategy> strategies) {
  for (Strategy strategy : strategies) {
    strategy.preferred_first = preferred_first;
    Attempt tried = attempt(members, capacity, strategy);
    if (!tried.failed) return std::move(tried.fills);
    give_back(capacity, tried.fills);
  }
  return std::nullopt;
}

// Exhaustive search, after the greedy attempts. Leaves `capacity` unchanged.
SearchResult search_all(std::span<const gang::MemberSet> members, Capacity& capacity,
                        std::int64_t steps) {
  const auto order = order_sets(members, capacity, SetOrder::kLargestFirst);
  SearchResult result = search(capacity, order, steps);
  if (result.outcome != SearchResult::Outcome::kPlaced) return result;
  capacity.take(result.fills);
  for (const std::size_t set : result.easy) fill(capacity, set, kStrategies[0], result.fills);
  give_back(capacity, result.fills);
  return result;
}

// most_alone(), at most the wanted number. Within the step limit it is exact also for pods that
// keep apart by two labels at once.
std::int64_t most_alone_exactly(const Capacity& empty, std::size_t set, std::int64_t steps) {
  const SetNeed& need = empty.sets[set];
  std::int64_t most = std::min(need.wanted, most_alone(empty, need));
  const auto labels =
      std::count_if(empty.domains.begin(), empty.domains.end(),
                    [&](const Domains& shared) { return need.each[shared.resource] != 0; });
  if (labels < 2) return most;
  Capacity alone = empty;
  alone.sets = {need};
  const auto fits = [&] {
    alone.sets[0].wanted = most;
    return search(alone, {0}, steps).outcome != SearchResult::Outcome::kImpossible;
  };
  while (!fits()) --most;
  return most;
}

// Proves that the gang does not fit even if all nodes are empty. Nullopt: it fits, or there is no
// proof.
std::optional<gang::NoFit> never_fits(std::span<const gang::MemberSet> members, const Capacity& now,
                                      std::int64_t steps) {
  Capacity empty = when_empty(now);
  for (const std::size_t set : order_sets(members, empty, SetOrder::kLargestFirst)) {
    const std::int64_t wanted = empty.sets[set].wanted;
    const std::int64_t most = most_alone_exactly(empty, set, steps);
    if (most == wanted) continue;
    gang::NoFit no_fit = diagnose(members[set].role, empty, set, empty.free, wanted - most);
    auto* uncounted = std::get_if<gang::InsufficientCapacity>(&no_fit);
    // If no node is allowed, that says more than the count.
    if (uncounted == nullptr) return no_fit;
    gang::ResourceNeed need = uncounted->need;
    for (const Domains& shared : empty.domains) {  // only sets with two labels reach this
      if (empty.sets[set].each[shared.resource] == 0) continue;
      need.resource = empty.resources[shared.resource];
      need.each = 1;
      break;
    }
    return gang::NeverFits{std::move(uncounted->set), std::move(need), static_cast<int>(most)};
  }
  const Attempt first = attempt(members, empty, kStrategies[0]);
  if (!first.failed) return std::nullopt;
  gang::NoFit no_fit = explain_and_undo(members, empty, first);
  const auto others = std::span(kStrategies).subspan(1);
  if (try_strategies(members, empty, false, others)) return std::nullopt;
  const auto outcome = search_all(members, empty, steps).outcome;
  if (outcome != SearchResult::Outcome::kImpossible) return std::nullopt;
  auto* cause = std::get_if<gang::InsufficientCapacity>(&no_fit);
  if (cause == nullptr) return no_fit;
  return gang::NeverFitsTogether{std::move(cause->set), std::move(cause->need)};
}

std::vector<Assignment> name_slots(std::span<const gang::MemberSet> members, const Cluster& cluster,
                                   const std::vector<Fill>& fills) {
  std::vector<Assignment> out;
  std::vector<std::vector<gang::SlotId>> slots;
  std::vector<std::size_t> next(members.size(), 0);
  std::size_t wanted = 0;
  for (const gang::MemberSet& member : members) {
    slots.push_back(member.slots);
    wanted += member.slots.size();
    if (!std::is_sorted(slots.back().begin(), slots.back().end())) {
      std::sort(slots.back().begin(), slots.back().end());
    }
  }
  out.reserve(wanted);
  // By role, like the result.
  std::vector<std::size_t> order(members.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tie(members[a].role, members[a].name) < std::tie(members[b].role, members[b].name);
  });
  std::vector<std::vector<Fill>> by_set(members.size());
  for (const Fill& fill : fills) by_set[fill.set].push_back(fill);
  for (const std::size_t set : order) {
    auto slot = slots[set].begin();
    for (const Fill& fill : by_set[set]) {
      for (std::int64_t i = 0; i < fill.count; ++i) {
        out.push_back({members[set].role, *slot++, cluster.node(fill.node).name});
      }
    }
  }
  const auto less = [](const Assignment& a, const Assignment& b) {
    return std::tie(a.role, a.slot) < std::tie(b.role, b.slot);
  };
  if (!std::is_sorted(out.begin(), out.end(), less)) std::sort(out.begin(), out.end(), less);
  return out;
}

bool has_evicting_nodes(const Capacity& capacity) {
  return std::any_of(capacity.sets.begin(), capacity.sets.end(),
                     [](const SetNeed& need) { return !need.verdicts->evicts.empty(); });
}

// Nodes that would evict pods of a set get none of it.
Capacity without_evicting_nodes(Capacity capacity) {
  for (SetNeed& need : capacity.sets) {
    const auto& evicts = need.verdicts->evicts;
    if (evicts.empty()) continue;
    if (need.at_most.empty()) need.at_most.assign(capacity.nodes(), need.wanted);
    for (std::size_t i = 0; i < evicts.size(); ++i) {
      if (evicts[i]) need.at_most[i] = 0;
    }
  }
  return capacity;
}

// The places of all pods, or the first attempt's answer.
using Fills = std::variant<std::vector<Fill>, gang::NoFit>;

Fills find_places(std::span<const gang::MemberSet> members, Capacity& capacity,
                  SearchBudget budget) {
  const bool has_preference =
      std::any_of(capacity.sets.begin(), capacity.sets.end(),
                  [](const SetNeed& need) { return !need.verdicts->score.empty(); });
  Strategy best = kStrategies[0];
  best.preferred_first = has_preference;
  Attempt first = attempt(members, capacity, best);
  if (!first.failed) return std::move(first.fills);
  gang::NoFit no_fit;
  if (budget.answer == SearchBudget::Answer::kExplained) {
    no_fit = explain_and_undo(members, capacity, first);
  } else {
    give_back(capacity, first.fills);
  }
  if (gang::is_proof(no_fit) || !each_fits_alone(capacity)) return no_fit;
  const std::span<const Strategy> all(kStrategies);
  for (const bool preferred_first : {true, false}) {
    if (preferred_first && !has_preference) continue;
    const auto rest = preferred_first == has_preference ? all.subspan(1) : all;
    if (auto fills = try_strategies(members, capacity, preferred_first, rest)) {
      return *std::move(fills);
    }
  }
  SearchResult result = search_all(members, capacity, budget.steps);
  if (result.outcome == SearchResult::Outcome::kPlaced) return std::move(result.fills);
  if (auto* cause = std::get_if<gang::InsufficientCapacity>(&no_fit)) {
    cause->search_gave_up = result.outcome == SearchResult::Outcome::kGaveUp;
  }
  return no_fit;
}

}  // namespace

Plan plan_gang(std::span<const gang::MemberSet> members, const Cluster& cluster,
               const PlanLimits& limits, SearchBudget budget) {
  Capacity capacity = measure_capacity(members, cluster, limits);
  if (has_evicting_nodes(capacity)) {
    Capacity lasting = without_evicting_nodes(capacity);
    const Fills fills = find_places(members, lasting, budget);
    if (const auto* placed = std::get_if<std::vector<Fill>>(&fills)) {
      return name_slots(members, cluster, *placed);
    }
  }
  const Fills fills = find_places(members, capacity, budget);
  if (const auto* placed = std::get_if<std::vector<Fill>>(&fills)) {
    return name_slots(members, cluster, *placed);
  }
  const gang::NoFit& no_fit = std::get<gang::NoFit>(fills);
  if (gang::is_proof(no_fit) || budget.answer == SearchBudget::Answer::kPlacesOnly) return no_fit;
  if (auto never = never_fits(members, capacity, budget.steps)) return *std::move(never);
  return no_fit;
}

}  // namespace nervex::placement
