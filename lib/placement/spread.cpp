#include "placement/spread.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "placement/distribute.h"
#include "placement/label_index.h"

namespace nervex::placement {
namespace {

constexpr std::size_t kNone = DomainBounds::kNone;

// A gang has as many constraints as the templates of a job may have. Pods of other operators may
// have more, which are not kept: kube-scheduler checks them.
constexpr std::size_t kMaxConstraints = 64;

// The search for one distribution has fewer steps: others are tried, too.
constexpr std::int64_t kFixedSteps = 2'000;

// A constraint of some sets, on the nodes that they may use.
struct Constraint {
  const kube::TopologySpread* spread = nullptr;
  const gang::MemberSet* set = nullptr;  // the first that has it
  std::vector<std::string> sets;         // that have it
  std::vector<std::size_t> domain;       // by node; kNone: its pods do not count
  std::vector<std::string_view> names;   // by domain: the value of the label
  std::vector<std::int64_t> count;       // by domain: matching pods there now

  // With fewer domains than minDomains, an empty one is imagined.
  bool has_empty_domain() const {
    return static_cast<std::int64_t>(names.size()) < spread->min_domains;
  }
  std::int64_t find_fewest(const std::vector<std::int64_t>& counts) const {
    if (has_empty_domain() || counts.empty()) return 0;
    return *std::min_element(counts.begin(), counts.end());
  }
};

std::vector<std::string_view> list_keys(const gang::MemberSet& set, bool is_required) {
  std::vector<std::string_view> keys;
  for (const kube::TopologySpread& spread : set.shape.spread) {
    if (spread.is_required == is_required) keys.push_back(spread.key);
  }
  return keys;
}

class ConstraintReader {
 public:
  explicit ConstraintReader(const Cluster& cluster) : cluster_(cluster) {}

  // Equal ones of several sets are one.
  std::vector<Constraint> read(std::span<const gang::MemberSet* const> sets) {
    std::vector<Constraint> out;
    for (const gang::MemberSet* set : sets) {
      for (const kube::TopologySpread& spread : set->shape.spread) {
        const auto known = std::find_if(out.begin(), out.end(), [&](const Constraint& one) {
          return *one.spread == spread && one.set->shape.constraints == set->shape.constraints &&
                 list_keys(*one.set, spread.is_required) == list_keys(*set, spread.is_required);
        });
        if (known != out.end()) {
          known->sets.push_back(set->name);
        } else if (out.size() < kMaxConstraints) {
          out.push_back(make(spread, *set));
        }
      }
    }
    // Coarse ones first: distribute().
    std::stable_sort(out.begin(), out.end(), [](const Constraint& a, const Constraint& b) {
      return a.names.size() < b.names.size();
    });
    return out;
  }

 private:
  Constraint make(const kube::TopologySpread& spread, const gang::MemberSet& set) {
    Constraint out{&spread, &set, {set.name}, {}, {}, {}};
    const std::vector<bool> eligible = find_eligible(spread, set);
    const LabelIndex& label = find_label(spread.key);
    std::vector<std::size_t> number(label.names.size(), kNone);
    out.domain.assign(cluster_.size(), kNone);
    for (std::size_t i = 0; i < cluster_.size(); ++i) {
      if (!eligible[i]) continue;
      std::size_t& domain = number[label.domain[i]];
      if (domain == kNone) {
        domain = out.names.size();
        out.names.push_back(label.names[label.domain[i]]);
        out.count.push_back(0);
      }
      out.domain[i] = domain;
      out.count[domain] -= cluster_.free(i, spread.pods.counter);
    }
    return out;
  }

  // The nodes with all topology keys of the set's constraints that the policies let count.
  std::vector<bool> find_eligible(const kube::TopologySpread& spread, const gang::MemberSet& set) {
    std::vector<bool> eligible(cluster_.size(), true);
    for (const std::string_view key : list_keys(set, spread.is_required)) {
      const LabelIndex& label = find_label(key);
      for (std::size_t i = 0; i < eligible.size(); ++i) {
        if (label.domain[i] == kNone) eligible[i] = false;
      }
    }
    if (!spread.honors_affinity && !spread.honors_taints) return eligible;
    kube::PackedConstraints constraints = set.shape.constraints;
    if (!constraints.unpack().volume_terms.empty()) {  // a bound volume leaves out no domain
      constraints.edit([](kube::NodeConstraints& its) { its.volume_terms = Json::array(); });
    }
    const auto verdicts = cluster_.verdicts(constraints);
    for (std::size_t i = 0; i < eligible.size(); ++i) {
      const kube::NodeFit fit = verdicts->fits[i];
      const bool is_tainted = fit == kube::NodeFit::kNotReady ||  // it has a taint then
                              fit == kube::NodeFit::kUnschedulable ||
                              fit == kube::NodeFit::kTainted;
      if (spread.honors_affinity && !verdicts->selected[i]) eligible[i] = false;
      if (spread.honors_taints && is_tainted) eligible[i] = false;
    }
    return eligible;
  }

  const LabelIndex& find_label(std::string_view key) {
    const auto known = labels_.find(key);
    return known != labels_.end() ? known->second
                                  : labels_.emplace(key, index_label(key, cluster_)).first->second;
  }

  const Cluster& cluster_;
  std::map<std::string_view, LabelIndex> labels_;
};

class SpreadPlanner {
 public:
  SpreadPlanner(const std::vector<gang::MemberSet>& members, const Cluster& cluster,
                const PlanLimits& limits, SearchBudget budget,
                const std::vector<Constraint>& constraints)
      : members_(members),
        cluster_(cluster),
        limits_(limits),
        budget_(budget),
        capacity_(measure_capacity(members, cluster, limits)) {
    for (const Constraint& one : constraints) terms_.push_back(make_term(one));
  }

  Plan plan() {
    const bool has_preferences = std::any_of(terms_.begin(), terms_.end(), [](const Term& term) {
      return !term.its->spread->is_required;
    });
    std::optional<Plan> found = try_all();
    if (!found && has_preferences) {
      std::erase_if(terms_, [](const Term& term) { return !term.its->spread->is_required; });
      found = try_all();
    }
    if (found) return *std::move(found);
    if (budget_.answer == SearchBudget::Answer::kPlacesOnly) {
      return gang::NoFit(gang::InsufficientCapacity{{}, {}, has_given_up_});
    }
    return explain();
  }

 private:
  // A constraint, for these pods.
  struct Term {
    const Constraint* its = nullptr;
    std::vector<std::size_t> counted;  // members whose pods it counts
    std::int64_t pods = 0;             // these
    bool is_closed = true;             // they all use nodes of its domains only
    std::vector<std::int64_t> fit;     // by domain: pods that fit there, never too low
  };
  using Bounds = std::vector<DomainBounds>;

  Term make_term(const Constraint& constraint) const {
    Term term{&constraint, {}, 0, true, {}};
    term.fit.assign(constraint.names.size(), 0);
    for (std::size_t set = 0; set < members_.size(); ++set) {
      if (members_[set].shape.requests.get(constraint.spread->pods.counter) == 0) continue;
      const SetNeed& need = capacity_.sets[set];
      const auto& sets = constraint.sets;
      term.counted.push_back(set);
      term.pods += need.wanted;
      term.is_closed =
          term.is_closed && std::find(sets.begin(), sets.end(), members_[set].name) != sets.end();
      for (std::size_t i = 0; i < cluster_.size(); ++i) {
        if (constraint.domain[i] == kNone) continue;
        term.fit[constraint.domain[i]] += capacity_.times_on(need, i);
      }
    }
    return term;
  }

  // Bounds of a domain at a level: each domain has at least as many pods in the end, and at most
  // maxSkew more.
  static std::int64_t find_most(const Term& term, std::size_t domain, std::int64_t level) {
    return level + term.its->spread->max_skew - term.its->count[domain];
  }
  static std::int64_t find_least(const Term& term, std::size_t domain, std::int64_t level) {
    if (term.its->has_empty_domain()) return 0;
    return std::max<std::int64_t>(0, level - term.its->count[domain]);
  }

  static DomainBounds make_bounds(const Term& term, std::int64_t level) {
    const Constraint& its = *term.its;
    DomainBounds out{its.spread->pods.counter, its.domain, its.count, {}, its.spread->max_skew,
                     its.has_empty_domain(),   true,       its.sets};
    for (std::size_t d = 0; d < its.count.size(); ++d) {
      out.most.push_back(find_most(term, d, level));
    }
    return out;
  }

  // The highest level that neither a single domain rules out nor the sum of them. nullopt: none is
  // possible.
  static std::optional<std::int64_t> find_level(const Term& term) {
    std::optional<std::int64_t> found;
    const Constraint& its = *term.its;
    const std::int64_t first = its.find_fewest(its.count);
    const std::int64_t last = its.has_empty_domain() ? first : first + term.pods;
    for (std::int64_t level = first; level <= last; ++level) {
      std::int64_t least = 0;
      std::int64_t most = 0;
      bool is_reachable = true;
      for (std::size_t d = 0; d < its.count.size(); ++d) {
        least += find_least(term, d, level);
        most += std::clamp<std::int64_t>(find_most(term, d, level), 0, term.fit[d]);
        is_reachable = is_reachable && find_least(term, d, level) <= term.fit[d];
      }
      if (!is_reachable || least > term.pods) break;
      if (most >= term.pods || !term.is_closed) found = level;
    }
    return found;
  }

  std::optional<Plan> try_plan(const Bounds& bounds, std::int64_t most_steps) {
    const SearchBudget budget{std::min(most_steps, budget_.steps), budget_.answer};
    PlanLimits limits = limits_;
    limits.domains = bounds;
    Plan plan = plan_gang(members_, cluster_, limits, budget);
    const auto* no_fit = std::get_if<gang::NoFit>(&plan);
    if (no_fit == nullptr) return plan;
    const auto* cause = std::get_if<gang::InsufficientCapacity>(no_fit);
    has_given_up_ = cause != nullptr && cause->search_gave_up;
    return std::nullopt;
  }

  // The pods that `terms_[first]` counts, as evenly as they fit, also for all others that count the
  // same. Counts by domain: in the end.
  std::vector<std::vector<std::int64_t>> distribute_pods(
      const std::vector<std::size_t>& terms) const {
    const Term& first = terms_[terms.front()];
    SpreadCells nodes(terms.size());
    std::vector<std::size_t> domains(terms.size());
    for (std::size_t i = 0; i < cluster_.size(); ++i) {
      for (std::size_t k = 0; k < terms.size(); ++k) domains[k] = terms_[terms[k]].its->domain[i];
      if (std::find(domains.begin(), domains.end(), kNone) != domains.end()) continue;
      std::int64_t fit = 0;
      for (const std::size_t set : first.counted) {
        fit = std::max(fit, capacity_.times_on(capacity_.sets[set], i));
      }
      if (fit > 0) nodes.add(domains, fit);
    }
    std::vector<std::vector<std::int64_t>> counts;
    counts.reserve(terms.size());
    for (const std::size_t term : terms) counts.push_back(terms_[term].its->count);
    distribute(first.pods, std::move(nodes), counts);
    return counts;
  }

  std::optional<Plan> try_all() {
    const auto bounds = bound_all();
    if (!bounds) return std::nullopt;
    Bounds fixed = *bounds;
    fix_distribution(fixed);
    const bool is_any_fixed =
        !std::equal(fixed.begin(), fixed.end(), bounds->begin(),
                    [](const DomainBounds& a, const DomainBounds& b) { return a.most == b.most; });
    if (is_any_fixed) {
      if (auto plan = try_plan(fixed, kFixedSteps)) return plan;
    }
    const bool are_closed =
        std::all_of(terms_.begin(), terms_.end(), [](const Term& term) { return term.is_closed; });
    if (are_closed) return try_plan(*bounds, budget_.steps);
    if (auto plan = try_plan(*bounds, kFixedSteps)) return plan;
    // Pods without the constraint may be more in one domain.
    Bounds relaxed = *bounds;
    for (DomainBounds& one : relaxed) one.bounds_all = false;
    return try_plan(relaxed, budget_.steps);
  }

  // nullopt: a constraint cannot be kept.
  std::optional<Bounds> bound_all() const {
    Bounds bounds;
    for (const Term& term : terms_) {
      const auto level = find_level(term);
      if (!level) return std::nullopt;
      bounds.push_back(make_bounds(term, *level));
    }
    return bounds;
  }

  // The exact numbers of a distribution, where a domain has to get pods.
  void fix_distribution(Bounds& bounds) const {
    std::vector<bool> is_done(terms_.size(), false);
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      if (is_done[i]) continue;
      std::vector<std::size_t> same;
      for (std::size_t j = i; j < terms_.size(); ++j) {
        if (terms_[j].counted != terms_[i].counted) continue;
        same.push_back(j);
        is_done[j] = true;
      }
      const bool is_any_needed = std::any_of(same.begin(), same.end(), [&](std::size_t term) {
        return needs_pods(terms_[term], bounds[term]);
      });
      if (!is_any_needed) continue;
      const auto counts = distribute_pods(same);
      for (std::size_t k = 0; k < same.size(); ++k) {
        fix(terms_[same[k]], counts[k], bounds[same[k]]);
      }
    }
  }

  // With as many pods in one domain as may be, another one has to get pods.
  static bool needs_pods(const Term& term, const DomainBounds& bounds) {
    const std::int64_t first = term.its->find_fewest(term.its->count);
    return !bounds.has_empty_domain && !bounds.most.empty() &&
           bounds.most.front() + bounds.count.front() > first + bounds.max_skew;
  }

  // If the constraint holds with these counts and a domain has to get pods, it gets exactly these.
  static void fix(const Term& term, const std::vector<std::int64_t>& counts, DomainBounds& bounds) {
    if (!needs_pods(term, bounds)) return;
    const std::int64_t most = term.its->find_fewest(counts) + term.its->spread->max_skew;
    std::vector<std::int64_t> added;
    std::int64_t sum = 0;
    for (std::size_t d = 0; d < counts.size(); ++d) {
      added.push_back(counts[d] - term.its->count[d]);
      sum += added.back();
      if (added.back() > 0 && counts[d] > most) return;
    }
    if (sum < term.pods) return;
    for (std::size_t d = 0; d < added.size(); ++d) {
      if (bounds.most[d] >= 0) bounds.most[d] = added[d];
    }
  }

  // Capacity alone may be the reason.
  Plan explain() const {
    Plan plan = plan_gang(members_, cluster_, limits_);
    if (std::holds_alternative<gang::NoFit>(plan)) return plan;
    const Term* worst = &terms_.front();
    std::int64_t unplaced = 0;
    std::vector<std::int64_t> counts;
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      auto its = distribute_pods({i}).front();
      const std::int64_t over = count_over(terms_[i], its);
      if (over <= unplaced) continue;
      unplaced = over;
      worst = &terms_[i];
      counts = std::move(its);
    }
    return name(*worst->its, unplaced, counts);
  }

  Plan name(const Constraint& its, std::int64_t unplaced,
            const std::vector<std::int64_t>& counts) const {
    gang::SkewLimit skew{its.spread->key, its.spread->max_skew};
    gang::UnplacedSet set;
    set.role = its.set->role;
    set.wanted = static_cast<int>(its.set->slots.size());
    set.unplaced = static_cast<int>(std::clamp<std::int64_t>(unplaced, 1, set.wanted));
    // Without counts no constraint alone is the reason.
    const bool has_too_few = its.has_empty_domain() && !counts.empty();
    if (has_too_few) {
      skew.domains = static_cast<int>(its.names.size());
      skew.min_domains = its.spread->min_domains;
    }
    if (has_too_few || its.names.empty()) {
      set.skew = std::move(skew);
      return gang::NoFit(gang::NoNodeAllowed{std::move(set)});
    }
    const auto fewest = std::min_element(counts.begin(), counts.end());
    if (!counts.empty()) skew.fewest = its.names[static_cast<std::size_t>(fewest - counts.begin())];
    set.skew = std::move(skew);
    const auto at = std::find_if(members_.begin(), members_.end(),
                                 [&](const auto& member) { return member.name == its.set->name; });
    const SetNeed& need = capacity_.sets[static_cast<std::size_t>(at - members_.begin())];
    gang::ResourceNeed scarce;
    if (!capacity_.resources.empty()) {
      scarce = {capacity_.resources[need.scarce], need.each[need.scarce]};
    }
    return gang::NoFit(
        gang::InsufficientCapacity{std::move(set), std::move(scarce), has_given_up_});
  }

  // Pods beyond maxSkew, or without a place, if they were spread so.
  static std::int64_t count_over(const Term& term, const std::vector<std::int64_t>& counts) {
    const std::int64_t most = term.its->find_fewest(counts) + term.its->spread->max_skew;
    std::int64_t within = 0;
    for (std::size_t d = 0; d < counts.size(); ++d) {
      within += std::max<std::int64_t>(0, std::min(counts[d], most) - term.its->count[d]);
    }
    return term.pods - within;
  }

  const std::vector<gang::MemberSet>& members_;
  const Cluster& cluster_;
  const PlanLimits& limits_;
  const SearchBudget budget_;
  const Capacity capacity_;
  std::vector<Term> terms_;
  bool has_given_up_ = false;  // the last search
};

}  // namespace

Plan plan_spread(const std::vector<gang::MemberSet>& members, const Cluster& cluster,
                 const PlanLimits& limits, SearchBudget budget) {
  std::vector<const gang::MemberSet*> sets;
  for (const gang::MemberSet& set : members) {
    if (!set.shape.spread.empty()) sets.push_back(&set);
  }
  if (sets.empty()) return plan_gang(members, cluster, limits, budget);
  const std::vector<Constraint> constraints = ConstraintReader(cluster).read(sets);
  return SpreadPlanner(members, cluster, limits, budget, constraints).plan();
}

bool keeps_spread(std::span<const SetOnNode> pods, const Cluster& cluster) {
  std::vector<const gang::MemberSet*> sets;
  for (const auto& [set, node] : pods) {
    const bool is_known = std::find(sets.begin(), sets.end(), set) != sets.end();
    if (!is_known && !set->shape.spread.empty()) sets.push_back(set);
  }
  const std::vector<Constraint> constraints = ConstraintReader(cluster).read(sets);
  return std::all_of(constraints.begin(), constraints.end(), [&](const Constraint& one) {
    if (!one.spread->is_required) return true;
    const std::int64_t most = one.find_fewest(one.count) + one.spread->max_skew;
    return std::all_of(pods.begin(), pods.end(), [&](const SetOnNode& pod) {
      const bool has_it =
          std::find(one.sets.begin(), one.sets.end(), pod.first->name) != one.sets.end();
      const std::size_t domain = one.domain[pod.second];
      return !has_it || (domain != kNone && one.count[domain] <= most);
    });
  });
}

}  // namespace nervex::placement
