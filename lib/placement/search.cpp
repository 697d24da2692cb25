#include "placement/search.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_set>

namespace nervex::placement {
namespace {

using Outcome = SearchResult::Outcome;

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();
// Each level uses stack, and a search this deep does not end in useful time.
constexpr int kDeepest = 1000;
// Numbers in all states without a solution that are kept: with a domain for each node, one state
// has as many.
constexpr std::size_t kMostKept = 2'000'000;
// With more sets than this, not all combinations of sets get sums.
constexpr std::size_t kMostCombined = 5;

// Saturating sum of non-negative amounts. Too large a capacity proves nothing wrong.
std::int64_t add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? kUnlimited : sum;
}
std::int64_t multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kUnlimited : product;
}

// Nodes that are interchangeable for placement.
struct NodeClass {
  std::vector<std::int64_t> limit;     // pods, by set of the search
  std::vector<std::int64_t> free;      // by resource; at most what the sets can use
  std::vector<std::ptrdiff_t> domain;  // by Capacity::domains; -1: not shared by its sets
  std::vector<std::size_t> nodes;

  auto key() const { return std::tie(limit, free, domain); }
  std::ptrdiff_t usable_by() const {
    return std::count_if(limit.begin(), limit.end(), [](auto most) { return most > 0; });
  }
};

struct HashOfState {
  std::size_t operator()(const std::vector<std::int64_t>& state) const {
    std::size_t hash = state.size();
    for (const std::int64_t part : state) {
      hash ^= static_cast<std::size_t>(part) + 0x9e3779b97f4a7c15U + (hash << 6U) + (hash >> 2U);
    }
    return hash;
  }
};

class Search {
 public:
  Search(const Capacity& capacity, std::vector<std::size_t> sets, std::int64_t& steps)
      : capacity_(capacity), sets_(std::move(sets)), steps_(steps) {
    find_classes();
    add_up();
    for (const std::size_t set : sets_) left_.push_back(capacity.sets[set].wanted);
    for (const Domains& shared : capacity.domains) {
      domain_offset_.push_back(domain_free_.size());
      for (const auto& nodes : shared.nodes) {
        domain_free_.push_back(
            nodes.empty()
                ? 0
                : std::max<std::int64_t>(0, capacity.free.row(nodes.front())[shared.resource]));
      }
      bounds_skew_ = bounds_skew_ || shared.skew.has_value();
    }
  }

  Outcome run() {
    if (enter_class(0, 0)) return Outcome::kPlaced;
    return gave_up_ ? Outcome::kGaveUp : Outcome::kImpossible;
  }

  std::vector<Fill> fills() const {
    std::vector<Fill> out;
    std::vector<std::size_t> used(classes_.size(), 0);
    for (const Choice& choice : chosen_) {
      for (std::int64_t i = 0; i < choice.nodes; ++i) {
        const std::size_t node = classes_[choice.class_index].nodes[used[choice.class_index]++];
        for (std::size_t s = 0; s < sets_.size(); ++s) {
          if (choice.pods[s] > 0) out.push_back({sets_[s], node, choice.pods[s]});
        }
      }
    }
    return out;
  }

 private:
  // `nodes` nodes of a class get these pods each.
  struct Choice {
    std::size_t class_index = 0;
    std::int64_t nodes = 0;
    std::vector<std::int64_t> pods;  // by set of the search
  };
  struct Sum {  // what some sets can use of a resource, from each class on
    std::vector<std::size_t> sets;
    std::size_t resource = 0;
    std::vector<std::int64_t> of_node;  // by class
    std::vector<std::int64_t> from;     // by class, and 0 at the end
  };

  const SetNeed& need(std::size_t s) const { return capacity_.sets[sets_[s]]; }
  std::size_t resources() const { return capacity_.resources.size(); }
  bool shares(std::size_t s) const { return capacity_.shares_domains(need(s)); }

  void find_classes() {
    std::vector<NodeClass> nodes;
    for (std::size_t i = 0; i < capacity_.nodes(); ++i) {
      NodeClass node_class{{}, std::vector<std::int64_t>(resources(), 0), {}, {i}};
      for (std::size_t s = 0; s < sets_.size(); ++s) {
        node_class.limit.push_back(capacity_.times_on(need(s), i));
      }
      if (node_class.usable_by() == 0) continue;
      for (std::size_t r = 0; r < resources(); ++r) {
        std::int64_t usable = 0;
        for (std::size_t s = 0; s < sets_.size(); ++s) {
          usable = add(usable,
                       multiply(node_class.limit[s], std::max<std::int64_t>(0, need(s).each[r])));
        }
        node_class.free[r] = std::clamp<std::int64_t>(capacity_.free.row(i)[r], 0, usable);
      }
      for (const Domains& shared : capacity_.domains) {
        const bool is_used = node_class.free[shared.resource] > 0;
        node_class.domain.push_back(is_used ? static_cast<std::ptrdiff_t>(shared.domain[i]) : -1);
      }
      nodes.push_back(std::move(node_class));
    }
    std::stable_sort(nodes.begin(), nodes.end(), [](const NodeClass& a, const NodeClass& b) {
      const auto by = std::pair(a.usable_by(), b.usable_by());
      return by.first != by.second ? by.first < by.second : a.key() < b.key();
    });
    for (NodeClass& node : nodes) {
      if (classes_.empty() || classes_.back().key() != node.key()) {
        classes_.push_back(std::move(node));
      } else {
        classes_.back().nodes.push_back(node.nodes.front());
      }
    }
  }

  std::vector<std::vector<std::size_t>> combinations() const {
    std::vector<std::vector<std::size_t>> out;
    const std::size_t count = sets_.size();
    if (count <= kMostCombined) {
      for (std::size_t mask = 1; mask < (std::size_t{1} << count); ++mask) {
        auto& sets = out.emplace_back();
        for (std::size_t s = 0; s < count; ++s) {
          if ((mask >> s & 1U) != 0) sets.push_back(s);
        }
      }
      return out;
    }
    for (std::size_t s = 0; s < count; ++s) out.push_back({s});
    out.emplace_back(count);
    std::iota(out.back().begin(), out.back().end(), std::size_t{0});
    return out;
  }

  void finish(Sum sum) {
    sum.from.assign(classes_.size() + 1, 0);
    for (std::size_t k = classes_.size(); k-- > 0;) {
      const auto nodes = static_cast<std::int64_t>(classes_[k].nodes.size());
      sum.from[k] = add(sum.from[k + 1], multiply(sum.of_node[k], nodes));
    }
    sums_.push_back(std::move(sum));
  }

  // Example: of 7 free, pods of 4 and 8 can use 4.
  std::int64_t usable(const NodeClass& node, const std::vector<std::size_t>& sets,
                      std::size_t r) const {
    std::int64_t most = 0;
    std::int64_t divisor = 0;
    for (const std::size_t s : sets) {
      const std::int64_t each = need(s).each[r];
      if (node.limit[s] == 0 || each <= 0) continue;
      most = add(most, multiply(node.limit[s], each));
      divisor = std::gcd(divisor, each);
    }
    most = std::min(most, node.free[r]);
    return divisor > 1 ? most - most % divisor : most;
  }

  void add_up() {
    for (const auto& sets : combinations()) {
      for (std::size_t r = 0; r < resources(); ++r) {
        const bool all_ask = std::all_of(sets.begin(), sets.end(),
                                         [&](std::size_t s) { return need(s).each[r] > 0; });
        if (!all_ask) continue;  // the combination without the sets that do not ask covers this
        Sum sum{sets, r, {}, {}};
        for (const NodeClass& node : classes_) sum.of_node.push_back(usable(node, sets, r));
        finish(std::move(sum));
      }
    }
    pods_from_.assign(sets_.size(), std::vector<std::int64_t>(classes_.size() + 1, 0));
    for (std::size_t s = 0; s < sets_.size(); ++s) {
      for (std::size_t k = classes_.size(); k-- > 0;) {
        const auto nodes = static_cast<std::int64_t>(classes_[k].nodes.size());
        pods_from_[s][k] = add(pods_from_[s][k + 1], multiply(classes_[k].limit[s], nodes));
      }
    }
  }

  // A single resource proves that `nodes` nodes of class k and all later classes are too few.
  bool is_hopeless(std::size_t k, std::int64_t nodes) const {
    for (std::size_t s = 0; s < sets_.size(); ++s) {
      const std::int64_t here = k < classes_.size() ? classes_[k].limit[s] * nodes : 0;
      const std::int64_t later = k < classes_.size() ? pods_from_[s][k + 1] : 0;
      if (left_[s] > add(here, later)) return true;
    }
    if (bounds_skew_ && !may_keep_skew()) return true;
    if (k >= classes_.size()) return false;
    for (const Sum& sum : sums_) {
      std::int64_t asked = 0;
      for (const std::size_t s : sum.sets) {
        asked = add(asked, multiply(left_[s], need(s).each[sum.resource]));
      }
      if (asked > add(sum.from[k + 1], multiply(sum.of_node[k], nodes))) return true;
    }
    return false;
  }

  bool has_placed_all() const {
    return std::all_of(left_.begin(), left_.end(), [](std::int64_t left) { return left == 0; }) &&
           (!bounds_skew_ || may_keep_skew());
  }

  // For each constraint the pods that are left are as many as its domains lack.
  bool may_keep_skew() const {
    const auto free = [&](std::size_t i, std::size_t domain) {
      return domain_free_[domain_offset_[i] + domain];
    };
    for (std::size_t i = 0; i < capacity_.domains.size(); ++i) {
      const std::int64_t lacking = capacity_.lacking_for_skew(i, free);
      if (lacking == 0) continue;
      if (capacity_.domains[i].skew->has_empty_domain) return false;
      std::int64_t left = 0;
      for (std::size_t s = 0; s < sets_.size(); ++s) {
        left = add(left, multiply(left_[s], need(s).each[capacity_.domains[i].resource]));
      }
      if (lacking > left) return false;
    }
    return true;
  }

  bool is_of_use(const NodeClass& node) const {
    for (std::size_t s = 0; s < sets_.size(); ++s) {
      if (left_[s] > 0 && node.limit[s] > 0) return true;
    }
    return false;
  }

  // Places the rest on class k and later classes.
  bool enter_class(std::size_t k, int depth) {
    if (has_placed_all()) return true;
    while (k < classes_.size() && !is_of_use(classes_[k])) ++k;
    if (k == classes_.size()) return false;
    const auto nodes = static_cast<std::int64_t>(classes_[k].nodes.size());
    if (is_hopeless(k, nodes)) return false;
    std::vector<std::int64_t> state{static_cast<std::int64_t>(k)};
    state.insert(state.end(), left_.begin(), left_.end());
    state.insert(state.end(), domain_free_.begin(), domain_free_.end());
    if (dead_.count(state) > 0) return false;
    if (fill_class(k, nodes, nullptr, depth)) return true;
    const bool is_kept = (dead_.size() + 1) * state.size() <= kMostKept;
    if (!gave_up_ && is_kept) dead_.insert(std::move(state));
    return false;
  }

  bool take_step() {
    if (steps_ > 0) {
      // With many domains a step takes longer: each state has a number for each of them.
      steps_ -= 1 + static_cast<std::int64_t>(domain_free_.size() / 64);
      return true;
    }
    gave_up_ = true;
    return false;
  }

  // Places the rest on `nodes` nodes of class k and on later classes. Each of these nodes gets at
  // most `last` in lexicographic order, because equal nodes can be swapped.
  bool fill_class(std::size_t k, std::int64_t nodes, const std::vector<std::int64_t>* last,
                  int depth) {
    if (has_placed_all()) return true;
    if (nodes == 0) return enter_class(k + 1, depth + 1);
    if (depth > kDeepest) gave_up_ = true;
    if (!take_step() || gave_up_) return false;
    if (last != nullptr && is_hopeless(k, nodes)) return false;
    std::vector<std::int64_t> pods(sets_.size(), 0);
    std::vector<std::int64_t> free = classes_[k].free;
    return choose_pods({k, nodes, last, depth, pods, free}, 0, last != nullptr);
  }

  struct Filling {
    std::size_t k;
    std::int64_t nodes;
    const std::vector<std::int64_t>* last;
    int depth;
    std::vector<std::int64_t>& pods;
    std::vector<std::int64_t>& free;  // of one node
  };

  std::int64_t fits_more(const Filling& filling, std::size_t s) const {
    const std::int64_t most = std::min(classes_[filling.k].limit[s], left_[s]) - filling.pods[s];
    return most <= 0 ? 0 : times_in(need(s).each, filling.free, most);
  }

  void put(const Filling& filling, std::size_t s, std::int64_t count) const {
    filling.pods[s] += count;
    for (std::size_t r = 0; r < resources(); ++r) filling.free[r] -= count * need(s).each[r];
  }

  // Chooses one node's pods of sets from s on. `is_tied`: equal to the previous node so far.
  bool choose_pods(const Filling& filling, std::size_t s, bool is_tied) {
    if (s == sets_.size()) return !is_tied && use_choice(filling);
    if (!take_step()) return false;
    std::int64_t most = fits_more(filling, s);
    if (is_tied) most = std::min(most, (*filling.last)[s]);
    for (std::int64_t count = most; count >= 0; --count) {
      put(filling, s, count);
      const bool found = choose_pods(filling, s + 1, is_tied && count == (*filling.last)[s]);
      put(filling, s, -count);
      if (found || gave_up_) return found;
      const bool is_last = s + 1 == sets_.size();
      if (is_last && !shares(s)) break;  // with fewer pods the node would not be full
    }
    return false;
  }

  // Moving pods to a node that holds one more never makes a placement worse. This does not hold for
  // a node that shares with others: they may need what is taken there.
  bool is_full(const Filling& filling) const {
    for (std::size_t s = 0; s < sets_.size(); ++s) {
      if (!shares(s) && fits_more(filling, s) > 0) return false;
    }
    return true;
  }

  // How many nodes can get these pods each.
  std::int64_t most_nodes(const Filling& filling) const {
    std::int64_t most = filling.nodes;
    for (std::size_t s = 0; s < sets_.size(); ++s) {
      if (filling.pods[s] > 0) most = std::min(most, left_[s] / filling.pods[s]);
    }
    for (std::size_t d = 0; d < capacity_.domains.size(); ++d) {
      const std::int64_t used = used_of_domain(filling, d);
      if (used > 0) most = std::min(most, domain_free_[domain_index(filling.k, d)] / used);
    }
    return most;
  }

  std::int64_t used_of_domain(const Filling& filling, std::size_t d) const {
    std::int64_t used = 0;
    for (std::size_t s = 0; s < sets_.size(); ++s) {
      used += filling.pods[s] * need(s).each[capacity_.domains[d].resource];
    }
    return used;
  }
  std::size_t domain_index(std::size_t k, std::size_t d) const {
    return domain_offset_[d] + static_cast<std::size_t>(classes_[k].domain[d]);
  }

  void count_nodes(const Filling& filling, std::int64_t nodes) {
    for (std::size_t s = 0; s < sets_.size(); ++s) left_[s] -= nodes * filling.pods[s];
    for (std::size_t d = 0; d < capacity_.domains.size(); ++d) {
      const std::int64_t used = used_of_domain(filling, d);
      if (used > 0) domain_free_[domain_index(filling.k, d)] -= nodes * used;
    }
  }

  bool use_choice(const Filling& filling) {
    if (!is_full(filling)) return false;
    const auto& [k, nodes, last, depth, pods, free] = filling;
    const bool is_empty = std::all_of(pods.begin(), pods.end(), [](auto n) { return n == 0; });
    if (is_empty) return enter_class(k + 1, depth + 1);
    for (std::int64_t count = most_nodes(filling); count > 0; --count) {
      chosen_.push_back({k, count, pods});
      count_nodes(filling, count);
      const std::vector<std::int64_t> same = pods;
      const bool found = fill_class(k, nodes - count, &same, depth + 1);
      count_nodes(filling, -count);
      if (found) return true;
      chosen_.pop_back();
      if (gave_up_) return false;
    }
    return false;
  }

  const Capacity& capacity_;
  const std::vector<std::size_t> sets_;  // by index of Capacity::sets
  std::int64_t& steps_;
  std::vector<NodeClass> classes_;
  std::vector<Sum> sums_;
  std::vector<std::vector<std::int64_t>> pods_from_;  // by set and class, as Sum::from
  std::vector<std::size_t> domain_offset_;            // into domain_free_, by Capacity::domains

  std::vector<std::int64_t> left_;  // pods, by set
  std::vector<std::int64_t> domain_free_;
  std::vector<Choice> chosen_;
  bool bounds_skew_ = false;  // DomainBounds
  bool gave_up_ = false;
  // States without a solution: class, left_ and domain_free_.
  std::unordered_set<std::vector<std::int64_t>, HashOfState> dead_;
};

// A set is easy if more nodes have capacity for it than the gang, with the set, has pods. It fits
// beside any placement of the others, because each of their pods uses one node.
std::vector<std::size_t> take_easy(const Capacity& capacity, std::vector<std::size_t>& hard) {
  std::vector<std::size_t> easy;
  std::int64_t pods = 0;
  for (const std::size_t set : hard) pods += capacity.sets[set].wanted;
  const auto is_easy = [&](std::size_t set) {
    const SetNeed& need = capacity.sets[set];
    if (capacity.shares_domains(need)) return false;
    std::int64_t holders = 0;
    for (std::size_t i = 0; i < capacity.nodes() && holders < pods; ++i) {
      holders += capacity.times_on(need, i) > 0 ? 1 : 0;
    }
    return holders >= pods;
  };
  for (bool again = true; again;) {
    const auto at = std::find_if(hard.begin(), hard.end(), is_easy);
    again = at != hard.end();
    if (!again) break;
    pods -= capacity.sets[*at].wanted;
    easy.push_back(*at);
    hard.erase(at);
  }
  std::reverse(easy.begin(), easy.end());  // the first is easy beside all others, so it comes last
  return easy;
}

}  // namespace

SearchResult search(const Capacity& capacity, const std::vector<std::size_t>& order,
                    std::int64_t& steps) {
  SearchResult out;
  std::vector<std::size_t> hard = order;
  out.easy = take_easy(capacity, hard);
  Search search(capacity, std::move(hard), steps);
  out.outcome = search.run();
  if (out.outcome == Outcome::kPlaced) out.fills = search.fills();
  return out;
}

}  // namespace nervex::placement
