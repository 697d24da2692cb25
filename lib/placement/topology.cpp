#include "placement/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>

#include "kube/model/anti_affinity.h"
#include "placement/label_index.h"
#include "placement/spread.h"

namespace nervex::placement {
namespace {

using gang::DomainLimit;

constexpr std::int64_t kMostPods = 1 << 20;

// Bounds on the work for one gang, in a large cluster and in a small one: plans of each pass, and
// for each of them looks at the domains of a term. The first plan has the most steps.
constexpr std::size_t kMostPlanNodes = 40'000;
constexpr std::size_t kMostPlans = 500;
constexpr std::size_t kLeastPlans = 8;
constexpr std::size_t kLooksPerPlan = 16;
constexpr std::int64_t kLeastSteps = 500;
// Domains of a larger level that a preferred term is tried in.
constexpr std::size_t kMostLarger = 4;

// Nodes of an earlier class come first, of them those in an earlier domain, whatever their other
// preferences (kube::preference()) are. A set has at most kMaxNodeClasses classes and two preferred
// terms.
constexpr std::int64_t kClassScore = std::int64_t{1} << 56;
constexpr std::int64_t kDomainScore = std::int64_t{1} << 42;
constexpr std::size_t kMostRanks = 4'095;

std::string name_of(const gang::TopologyTerm& term) {
  return fmt::format("{}#{}", term.key, term.group);
}
// No label key is empty.
std::string name_of_classes(const gang::MemberSet& set) { return "#" + set.role; }

// A rule that keeps sets in one domain.
struct Term {
  std::string name;
  std::string key;
  DomainLimit::Reason reason = DomainLimit::Reason::kPodAffinity;
  bool is_required = true;
  std::vector<std::size_t> sets{};      // that have it
  std::vector<std::string> in_order{};  // node classes: these domains alone, the best first
  const LabelIndex* label = nullptr;
  std::vector<bool> is_taken{};  // by domain; empty: none is
};

// What a domain holds of the sets of a term.
struct Domain {
  std::size_t index = 0;
  std::vector<std::int64_t> fit;  // by Term::sets
  std::int64_t spare = 0;         // pods that would fit beside, of the set with the fewest
  bool is_avoided = false;        // it has nodes that refused a pod, or with such taints
};

// Nodes that the sets of a term are tried on.
struct Candidate {
  const LabelIndex* label = nullptr;   // null: all nodes
  std::vector<std::size_t> domains{};  // the first one is filled first
};

struct Inside {  // the nodes of one domain
  const LabelIndex& label;
  std::size_t domain;
};

// A plan is first tried with each term in one domain, also preferred ones.
enum class Pass { kOneDomain, kFewDomains };

// Calls visit(name, key, reason, is_required) for each term of the set but node classes.
template <typename Visit>
void each_term(const gang::MemberSet& set, const Visit& visit) {
  for (const gang::TopologyTerm& term : set.shape.topology) {
    visit(name_of(term), term.key, DomainLimit::Reason::kTopology, term.is_required);
  }
  for (const std::string& term : set.shape.together) {
    visit(term, std::string(kube::topology_key_of_term(term)), DomainLimit::Reason::kPodAffinity,
          true);
  }
}

class DomainSearch {
 public:
  DomainSearch(const std::vector<gang::MemberSet>& members, const Cluster& cluster,
               const PlanLimits& limits, const DomainFacts& facts)
      : members_(members),
        cluster_(cluster),
        limits_(limits),
        capacity_(measure_capacity(members, cluster, limits)),
        most_plans_(std::clamp(kMostPlanNodes / (cluster.size() + 1), kLeastPlans, kMostPlans)) {
    for (std::size_t set = 0; set < members.size(); ++set) {
      choices_.push_back({members[set].name, std::vector<bool>(cluster.size(), true), {}});
      each_term(members[set], [&](std::string name, std::string key, auto reason, bool required) {
        add_term(set, {std::move(name), std::move(key), reason, required}, facts);
      });
      if (!members[set].shape.node_classes.empty()) add_classes(set, facts);
    }
    for (std::size_t set = 0; set < members.size(); ++set) fit_.push_back(find_fit(capacity_, set));
    // Classes have an order, which a domain must not turn around. Then large domains first, and
    // what is required before what is preferred.
    std::stable_sort(terms_.begin(), terms_.end(), [](const Term& a, const Term& b) {
      const auto order = [](const Term& term) {
        return std::tuple(!term.is_required, term.reason != DomainLimit::Reason::kNodeClasses,
                          term.label->names.size());
      };
      return order(a) < order(b);
    });
  }

  Plan plan() {
    const bool has_preferred = std::any_of(terms_.begin(), terms_.end(),
                                           [](const Term& term) { return !term.is_required; });
    if (has_preferred) {
      if (auto plan = search(Pass::kOneDomain)) return *std::move(plan);
    }
    if (auto plan = search(Pass::kFewDomains)) return *std::move(plan);
    if (!has_preferred) return explain();
    // What keeps the gang waiting is not a preference.
    std::erase_if(terms_, [](const Term& term) { return !term.is_required; });
    if (auto plan = search(Pass::kOneDomain)) return *std::move(plan);
    return explain();
  }

 private:
  // -- terms

  void add_term(std::size_t set, Term term, const DomainFacts& facts) {
    const auto known = std::find_if(terms_.begin(), terms_.end(), [&](const Term& one) {
      return one.name == term.name && one.reason == term.reason;
    });
    if (known != terms_.end()) {
      known->sets.push_back(set);
      known->is_required = known->is_required || term.is_required;
      return;
    }
    term.sets = {set};
    term.label = &find_label(term.key);
    if (const auto taken = facts.taken.find(term.name); taken != facts.taken.end()) {
      for (const std::string_view value : term.label->names) {
        term.is_taken.push_back(taken->second.count(std::string(value)) > 0);
      }
    }
    terms_.push_back(std::move(term));
  }

  void add_classes(std::size_t set, const DomainFacts& facts) {
    const auto& classes = members_[set].shape.node_classes;
    const std::string& key = cluster_.labels().node_class;
    if (facts.classes == ClassRule::kOneForRole) {
      Term term{name_of_classes(members_[set]), key, DomainLimit::Reason::kNodeClasses, true};
      term.in_order.assign(classes.begin(), classes.end());
      return add_term(set, std::move(term), facts);
    }
    const LabelIndex& label = find_label(key);
    NodeChoice& choice = choices_[set];
    choice.score.assign(cluster_.size(), 0);
    for (std::size_t i = 0; i < cluster_.size(); ++i) {
      const auto at = label.domain[i] == LabelIndex::kNone
                          ? classes.end()
                          : std::find(classes.begin(), classes.end(), label.names[label.domain[i]]);
      choice.allowed[i] = at != classes.end();
      choice.score[i] = (classes.end() - at) * kClassScore;
    }
  }

  const LabelIndex& find_label(const std::string& key) const {
    const auto known = labels_.find(key);
    return known != labels_.end() ? known->second
                                  : labels_.emplace(key, index_label(key, cluster_)).first->second;
  }

  // By node: pods of the set that fit there without the rest of its gang.
  std::vector<std::int64_t> find_fit(const Capacity& capacity, std::size_t set) const {
    SetNeed need = capacity.sets[set];
    need.wanted = kMostPods;
    std::vector<std::int64_t> fit;
    fit.reserve(cluster_.size());
    for (std::size_t i = 0; i < cluster_.size(); ++i) {
      fit.push_back(capacity.times_on(need, i));
    }
    return fit;
  }

  std::int64_t wanted(std::size_t set) const { return capacity_.sets[set].wanted; }

  // -- domains

  // What the domains of a label hold of the sets of a term, on nodes that these may still use and
  // that are `inside` (null: all).
  std::vector<Domain> measure(const Term& term, const LabelIndex& label,
                              const std::vector<std::vector<std::int64_t>>& fit,
                              const Inside* inside = nullptr) const {
    std::vector<Domain> domains(label.names.size());
    for (std::size_t d = 0; d < domains.size(); ++d) {
      domains[d] = {d, std::vector<std::int64_t>(term.sets.size(), 0), kMostPods, false};
    }
    for (std::size_t s = 0; s < term.sets.size(); ++s) {
      const std::size_t set = term.sets[s];
      const SetNeed& need = capacity_.sets[set];
      const auto& score = need.verdicts->score;
      for (std::size_t i = 0; i < cluster_.size(); ++i) {
        if (label.domain[i] == LabelIndex::kNone || !choices_[set].allowed[i]) continue;
        if (inside != nullptr && inside->label.domain[i] != inside->domain) continue;
        Domain& domain = domains[label.domain[i]];
        domain.fit[s] += fit[set][i];
        // Its taints evict the pods, or keep them away if there is another.
        const bool is_refused = !need.at_most.empty() && need.at_most[i] < need.wanted;
        const bool is_disliked = fit[set][i] > 0 && !score.empty() && score[i] < 0;
        domain.is_avoided = domain.is_avoided || is_refused || is_disliked;
      }
      for (Domain& domain : domains) {
        domain.spare = std::min(domain.spare, domain.fit[s] - need.wanted);
      }
    }
    return domains;
  }

  // Domains that hold all pods of the term, the best first.
  static std::vector<Domain> keep_holding(std::vector<Domain> domains) {
    std::erase_if(domains, [](const Domain& domain) { return domain.spare < 0; });
    std::stable_sort(domains.begin(), domains.end(), [](const Domain& a, const Domain& b) {
      return std::pair(a.is_avoided, a.spare) < std::pair(b.is_avoided, b.spare);
    });
    return domains;
  }

  // Those that the term may use: of node classes the listed ones, in their order; where pods with
  // the term run, those with such pods.
  std::vector<Domain> list_domains(const Term& term,
                                   const std::vector<std::vector<std::int64_t>>& fit) const {
    std::vector<Domain> domains = measure(term, *term.label, fit);
    const auto name = [&](const Domain& domain) { return term.label->names[domain.index]; };
    const bool is_any_taken =
        std::find(term.is_taken.begin(), term.is_taken.end(), true) != term.is_taken.end();
    std::erase_if(domains,
                  [&](const Domain& one) { return is_any_taken && !term.is_taken[one.index]; });
    if (term.reason != DomainLimit::Reason::kNodeClasses) {
      std::sort(domains.begin(), domains.end(),
                [&](const Domain& a, const Domain& b) { return name(a) < name(b); });
      return domains;
    }
    std::vector<Domain> in_order;
    for (const std::string& node_class : term.in_order) {
      const auto at = std::find_if(domains.begin(), domains.end(),
                                   [&](const Domain& one) { return name(one) == node_class; });
      if (at != domains.end()) in_order.push_back(std::move(*at));
    }
    return in_order;
  }

  // As few domains of these as together hold the pods of the term: those that are taken, then the
  // largest; the last one is the smallest that suffices. nullopt: all together do not hold them.
  std::optional<std::vector<std::size_t>> find_fewest(const Term& term,
                                                      const std::vector<Domain>& domains) const {
    std::vector<std::int64_t> left;
    for (const std::size_t set : term.sets) left.push_back(wanted(set));
    const auto use = [&](const Domain& domain) {
      std::int64_t pods = 0;
      for (std::size_t s = 0; s < left.size(); ++s) pods += std::min(domain.fit[s], left[s]);
      return pods;
    };
    const auto suffices = [&](const Domain& domain) {
      for (std::size_t s = 0; s < left.size(); ++s) {
        if (domain.fit[s] < left[s]) return false;
      }
      return true;
    };
    const auto is_taken = [&](const Domain& domain) {
      return !term.is_taken.empty() && term.is_taken[domain.index];
    };
    std::vector<const Domain*> order;
    for (const Domain& domain : domains) {
      if (use(domain) > 0) order.push_back(&domain);
    }
    std::stable_sort(order.begin(), order.end(), [&](const Domain* a, const Domain* b) {
      return std::tuple(!is_taken(*a), a->is_avoided, -use(*a)) <
             std::tuple(!is_taken(*b), b->is_avoided, -use(*b));
    });
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Domain* next = order[i];
      if (suffices(*next)) {
        for (std::size_t j = i + 1; j < order.size(); ++j) {
          const bool is_smaller = order[j]->spare < next->spare;
          if (is_smaller && !is_taken(*next) && suffices(*order[j])) next = order[j];
        }
        chosen.push_back(next->index);
        return chosen;
      }
      chosen.push_back(next->index);
      for (std::size_t s = 0; s < left.size(); ++s) {
        left[s] = std::max<std::int64_t>(0, left[s] - next->fit[s]);
      }
    }
    const bool is_enough =
        std::all_of(left.begin(), left.end(), [](std::int64_t pods) { return pods == 0; });
    return is_enough ? std::optional(std::move(chosen)) : std::nullopt;
  }

  // -- candidates

  std::vector<Candidate> list_candidates(const Term& term, Pass pass) const {
    std::vector<Candidate> out;
    std::vector<Domain> domains = list_domains(term, fit_);
    if (term.reason == DomainLimit::Reason::kNodeClasses) {
      std::erase_if(domains, [](const Domain& domain) { return domain.spare < 0; });
    } else {
      domains = keep_holding(std::move(domains));
    }
    out.reserve(domains.size());
    for (const Domain& domain : domains) out.push_back({term.label, {domain.index}});
    if (!term.is_required && pass == Pass::kFewDomains) add_few_domains(term, out);
    return out;
  }

  // Where the pods of a preferred term go that no domain holds.
  void add_few_domains(const Term& term, std::vector<Candidate>& out) const {
    for (const LabelIndex* larger : list_larger(term)) {
      std::size_t left = kMostLarger;
      for (const Domain& domain : keep_holding(measure(term, *larger, fit_))) {
        if (has_taken_elsewhere(term, *larger, domain.index)) continue;
        const Inside inside{*larger, domain.index};
        const auto fewest = find_fewest(term, measure(term, *term.label, fit_, &inside));
        if (fewest) out.push_back({term.label, *fewest});
        out.push_back({larger, {domain.index}});
        if (--left == 0) break;
      }
    }
    const auto fewest = find_fewest(term, measure(term, *term.label, fit_));
    if (fewest) out.push_back({term.label, *fewest});
    out.push_back({});
  }

  // The levels with larger domains than the term's, the next one first.
  std::vector<const LabelIndex*> list_larger(const Term& term) const {
    std::vector<const LabelIndex*> out;
    const auto& levels = cluster_.labels().topology;
    const auto level = std::find(levels.begin(), levels.end(), term.key);
    if (level == levels.end()) return out;
    for (auto at = level; at != levels.begin();) out.push_back(&find_label(*--at));
    return out;
  }

  bool has_taken_elsewhere(const Term& term, const LabelIndex& larger, std::size_t domain) const {
    bool is_any = false;
    for (std::size_t i = 0; i < cluster_.size() && !term.is_taken.empty(); ++i) {
      const std::size_t own = term.label->domain[i];
      if (own == LabelIndex::kNone || !term.is_taken[own]) continue;
      if (larger.domain[i] == domain) return false;
      is_any = true;
    }
    return is_any;
  }

  // -- plans

  // The sets of the term may use the candidate's nodes alone.
  void restrict_to(const Candidate& candidate, const Term& term) {
    if (candidate.label == nullptr) return;
    std::vector<std::int64_t> rank(candidate.label->names.size(), 0);  // 0: not one of these
    const std::size_t count = candidate.domains.size();
    for (std::size_t k = 0; k < count; ++k) {
      rank[candidate.domains[k]] = static_cast<std::int64_t>(std::min(count - k, kMostRanks));
    }
    for (const std::size_t set : term.sets) {
      NodeChoice& choice = choices_[set];
      const bool is_ranked = candidate.domains.size() > 1;
      if (is_ranked && choice.score.empty()) choice.score.assign(cluster_.size(), 0);
      for (std::size_t i = 0; i < cluster_.size(); ++i) {
        const std::size_t domain = candidate.label->domain[i];
        if (domain == LabelIndex::kNone || rank[domain] == 0) {
          choice.allowed[i] = false;
        } else if (is_ranked) {
          choice.score[i] += rank[domain] * kDomainScore;
        }
      }
    }
  }

  std::optional<Plan> search(Pass pass) {
    nearest_choices_.clear();
    blocked_choices_.clear();
    plans_left_ = most_plans_;
    looks_left_ = most_plans_ * kLooksPerPlan;
    return try_terms(0, pass);
  }

  std::optional<Plan> try_terms(std::size_t at, Pass pass) {
    failed_for_ = static_cast<std::ptrdiff_t>(at) - 1;
    if (at == terms_.size()) return try_plan();
    const Term& term = terms_[at];
    const std::vector<Candidate> candidates = list_candidates(term, pass);
    if (looks_left_ > 0 && candidates.size() != 1) --looks_left_;
    if ((candidates.empty() || has_given_up()) && blocked_choices_.empty()) {
      blocked_ = at;
      blocked_choices_ = choices_;
    }
    for (const Candidate& candidate : candidates) {
      if (has_given_up()) break;
      const std::vector<NodeChoice> before = choices_;
      restrict_to(candidate, term);
      auto plan = try_terms(at + 1, pass);
      choices_ = before;
      if (plan) return plan;
      // Another candidate of this term does not help.
      if (failed_for_ < static_cast<std::ptrdiff_t>(at)) return std::nullopt;
    }
    failed_for_ = candidates.empty() ? find_sharing(at) : static_cast<std::ptrdiff_t>(at) - 1;
    return std::nullopt;
  }

  // The last term before this one that has a set of it; -1: none.
  std::ptrdiff_t find_sharing(std::size_t at) const {
    const auto& sets = terms_[at].sets;
    auto before = static_cast<std::ptrdiff_t>(at);
    while (--before >= 0) {
      const auto& others = terms_[static_cast<std::size_t>(before)].sets;
      const auto shared =
          std::find_first_of(sets.begin(), sets.end(), others.begin(), others.end());
      if (shared != sets.end()) break;
    }
    return before;
  }

  bool has_given_up() const { return plans_left_ == 0 || looks_left_ == 0; }

  std::optional<Plan> try_plan() {
    --plans_left_;
    PlanLimits limits = limits_;
    limits.choices = choices_;
    const auto before = static_cast<std::int64_t>(++plans_made_);
    SearchBudget budget;
    budget.steps = std::max(budget.steps / before, kLeastSteps);
    budget.answer = SearchBudget::Answer::kPlacesOnly;
    Plan plan = plan_spread(members_, cluster_, limits, budget);
    if (std::holds_alternative<std::vector<Assignment>>(plan)) return plan;
    if (nearest_choices_.empty()) nearest_choices_ = choices_;
    return std::nullopt;
  }

  // -- why the gang waits

  Plan explain() {
    for (const Term& term : terms_) {
      if (!term.is_required) continue;
      const std::vector<Domain> domains = list_domains(term, fit_);
      const bool holds = std::any_of(domains.begin(), domains.end(),
                                     [](const Domain& domain) { return domain.spare >= 0; });
      if (!holds) return name_limit(term, domains);
    }
    if (nearest_choices_.empty()) return explain_blocked();
    PlanLimits limits = limits_;
    limits.choices = nearest_choices_;
    Plan plan = plan_spread(members_, cluster_, limits);
    if (std::holds_alternative<std::vector<Assignment>>(plan)) return plan;  // with more steps
    gang::NoFit no_fit = std::get<gang::NoFit>(std::move(plan));
    gang::UnplacedSet& unplaced = *gang::find_set(no_fit);
    if (!unplaced.skew) note_domain(unplaced);
    if (!is_only_domain()) no_fit = without_proof(std::move(no_fit));
    auto* cause = std::get_if<gang::InsufficientCapacity>(&no_fit);
    if (cause != nullptr && has_given_up()) cause->search_gave_up = true;
    return no_fit;
  }

  // Each term alone has a domain, but one has none inside that of another.
  gang::NoFit explain_blocked() {
    choices_ = std::move(blocked_choices_);
    const Term& term = terms_[blocked_];
    gang::NoFit no_fit = without_proof(name_limit(term, list_domains(term, fit_)));
    gang::UnplacedSet* unplaced = gang::find_set(no_fit);
    if (unplaced->domain) unplaced->domain->is_narrowed = true;
    return no_fit;
  }

  // A plan for the domains that were tried is a plan for all that could hold the pods when empty.
  bool is_only_domain() const {
    const Capacity empty = when_empty(capacity_);
    std::vector<std::vector<std::int64_t>> fit;
    for (std::size_t set = 0; set < members_.size(); ++set) fit.push_back(find_fit(empty, set));
    return std::all_of(terms_.begin(), terms_.end(), [&](const Term& term) {
      const std::vector<Domain> domains = list_domains(term, fit);
      return term.is_taken.empty() && std::count_if(domains.begin(), domains.end(),
                                                    [](auto& one) { return one.spare >= 0; }) == 1;
    });
  }

  // Nodes outside of the domain are not counted.
  void note_domain(gang::UnplacedSet& unplaced) const {
    const auto at = std::find_if(members_.begin(), members_.end(),
                                 [&](const auto& member) { return member.role == unplaced.role; });
    const auto set = static_cast<std::size_t>(at - members_.begin());
    // The smallest domain says most.
    const auto term = std::find_if(terms_.rbegin(), terms_.rend(), [&](const Term& one) {
      return one.is_required && std::find(one.sets.begin(), one.sets.end(), set) != one.sets.end();
    });
    if (term != terms_.rend()) {
      unplaced.domain = DomainLimit{term->key, term->reason};
    } else if (!at->shape.node_classes.empty()) {
      unplaced.domain =
          DomainLimit{cluster_.labels().node_class, DomainLimit::Reason::kNodeClasses};
    }
    const auto& fits = capacity_.sets[set].verdicts->fits;
    unplaced.nodes.not_selected =
        static_cast<int>(std::count(fits.begin(), fits.end(), kube::NodeFit::kNotSelected));
  }

  // Pods that never fit one domain may fit another.
  static gang::NoFit without_proof(gang::NoFit no_fit) {
    if (!gang::is_proof(no_fit)) return no_fit;
    return gang::InsufficientCapacity{std::move(*gang::find_set(no_fit)),
                                      std::move(*gang::find_need(no_fit))};
  }

  // No domain of the term holds its pods.
  gang::NoFit name_limit(const Term& term, const std::vector<Domain>& domains) const {
    const Capacity empty = when_empty(capacity_);
    std::vector<std::vector<std::int64_t>> fit_empty(members_.size());
    for (const std::size_t set : term.sets) fit_empty[set] = find_fit(empty, set);
    const std::vector<Domain> at_best = list_domains(term, fit_empty);
    const bool is_proof =
        term.is_taken.empty() && std::all_of(at_best.begin(), at_best.end(),
                                             [](const Domain& one) { return one.spare < 0; });
    if (domains.empty()) return gang::NoNodeAllowed{describe(term, domains, 0)};
    const std::vector<Domain>& said = is_proof ? at_best : domains;
    const auto nearest =
        std::max_element(said.begin(), said.end(),
                         [](const Domain& a, const Domain& b) { return a.spare < b.spare; });
    const auto lacking = [&](std::size_t s) { return nearest->fit[s] - wanted(term.sets[s]); };
    std::size_t worst = 0;
    for (std::size_t s = 1; s < term.sets.size(); ++s) {
      if (lacking(s) < lacking(worst)) worst = s;
    }
    const bool holds_any = std::any_of(domains.begin(), domains.end(),
                                       [&](const Domain& one) { return one.fit[worst] > 0; });
    if (!holds_any) {  // what keeps them from each node says more
      Plan plan = plan_spread(members_, cluster_, limits_);
      if (auto* no_fit = std::get_if<gang::NoFit>(&plan)) return std::move(*no_fit);
    }
    gang::UnplacedSet set = describe(term, said, worst);
    const SetNeed& need = capacity_.sets[term.sets[worst]];
    gang::ResourceNeed scarce;
    if (!capacity_.resources.empty()) {
      scarce = {capacity_.resources[need.scarce], need.each[need.scarce]};
    }
    if (!is_proof) return gang::InsufficientCapacity{std::move(set), std::move(scarce)};
    const int most = set.wanted - set.unplaced;
    return gang::NeverFits{std::move(set), std::move(scarce), most};
  }

  // Any label may be a topologyKey of pod affinity: values that an administrator has not named as
  // levels are not for users to read.
  bool is_public(const std::string& key) const {
    const NodeLabels& labels = cluster_.labels();
    return key == labels.node_class ||
           std::find(labels.topology.begin(), labels.topology.end(), key) != labels.topology.end();
  }

  // `worst`: of Term::sets.
  gang::UnplacedSet describe(const Term& term, const std::vector<Domain>& domains,
                             std::size_t worst) const {
    constexpr std::size_t kMostNamed = 2;
    gang::UnplacedSet out;
    out.role = members_[term.sets[worst]].role;
    out.wanted = static_cast<int>(wanted(term.sets[worst]));
    out.unplaced = out.wanted;
    DomainLimit& limit = out.domain.emplace(DomainLimit{term.key, term.reason});
    std::vector<const Domain*> largest;
    for (const Domain& domain : domains) {
      if (domain.fit[worst] < out.wanted) largest.push_back(&domain);
    }
    std::stable_sort(largest.begin(), largest.end(), [&](const Domain* a, const Domain* b) {
      return std::pair(-a->spare, -a->fit[worst]) < std::pair(-b->spare, -b->fit[worst]);
    });
    for (const Domain* one : largest) {
      if (limit.capacity.size() == kMostNamed) break;
      limit.capacity.push_back(
          {is_public(term.key) ? std::string(term.label->names[one->index]) : "",
           static_cast<int>(one->fit[worst])});
    }
    if (!limit.capacity.empty()) out.unplaced = out.wanted - limit.capacity.front().pods;
    limit.joins_pods = !term.is_taken.empty();
    if (term.is_taken.empty() && term.reason != DomainLimit::Reason::kNodeClasses) {
      const auto fewest = find_fewest(term, domains);
      if (fewest && fewest->size() > 1) limit.needed = static_cast<int>(fewest->size());
    }
    return out;
  }

  const std::vector<gang::MemberSet>& members_;
  const Cluster& cluster_;
  const PlanLimits& limits_;
  const Capacity capacity_;
  std::vector<Term> terms_;
  std::vector<NodeChoice> choices_;             // by set: as the terms so far allow
  std::vector<std::vector<std::int64_t>> fit_;  // by set and node
  mutable std::map<std::string, LabelIndex> labels_;
  const std::size_t most_plans_;
  std::size_t plans_left_ = 0;
  std::size_t looks_left_ = 0;
  std::size_t blocked_ = 0;                  // the first term without a candidate
  std::vector<NodeChoice> blocked_choices_;  // and what the terms before it allow; empty: none is
  std::ptrdiff_t failed_for_ = -1;           // the last term whose next candidate may help
  std::size_t plans_made_ = 0;
  std::vector<NodeChoice> nearest_choices_;  // of the first plan; empty: none was made
  bool has_several_ = false;                 // plans have failed
};

}  // namespace

bool has_domain_terms(const gang::MemberSet& set) {
  return !set.shape.together.empty() || !set.shape.topology.empty() ||
         !set.shape.node_classes.empty();
}

void add_taken_domains(const gang::MemberSet& set, const Cluster& cluster, std::string_view node,
                       DomainFacts& facts) {
  const auto at = cluster.find(node);
  if (!at) return;
  each_term(set, [&](const std::string& name, const std::string& key, auto, bool) {
    const auto& labels = cluster.node(*at).labels;
    const auto label = labels.find(key);
    if (label != labels.end()) facts.taken[name].insert(label->second);
  });
}

void add_taken_class(const gang::MemberSet& set, const Cluster& cluster, std::string_view node,
                     DomainFacts& facts) {
  const auto at = cluster.find(node);
  if (!at || set.shape.node_classes.empty()) return;
  const auto& labels = cluster.node(*at).labels;
  const auto label = labels.find(cluster.labels().node_class);
  if (label != labels.end()) facts.taken[name_of_classes(set)].insert(label->second);
}

bool keeps_domains(std::span<const SetOnNode> pods, const Cluster& cluster,
                   const DomainFacts& facts) {
  std::map<std::string, std::string_view> value_of;  // by term
  const auto keeps = [&](const std::string& name, const std::string& key, std::size_t node) {
    const auto& labels = cluster.node(node).labels;
    const auto label = labels.find(key);
    if (label == labels.end()) return false;
    const auto taken = facts.taken.find(name);
    if (taken != facts.taken.end() && taken->second.count(label->second) == 0) return false;
    return value_of.emplace(name, label->second.str()).first->second == label->second.str();
  };
  return std::all_of(pods.begin(), pods.end(), [&](const SetOnNode& pod) {
    const auto& [set, node] = pod;
    bool is_kept = true;
    each_term(*set, [&, node = node](const std::string& name, const std::string& key, auto,
                                     bool is_required) {
      if (is_required) is_kept = is_kept && keeps(name, key, node);
    });
    const auto& allowed = set->shape.node_classes;
    if (allowed.empty()) return is_kept;
    const std::string& key = cluster.labels().node_class;
    const auto& labels = cluster.node(node).labels;
    const auto label = labels.find(key);
    const bool is_allowed =
        label != labels.end() &&
        std::find(allowed.begin(), allowed.end(), label->second.str()) != allowed.end();
    const bool is_for_each = facts.classes == ClassRule::kForEachPod;
    return is_kept && is_allowed && (is_for_each || keeps(name_of_classes(*set), key, node));
  });
}

Plan plan_in_domains(const std::vector<gang::MemberSet>& members, const Cluster& cluster,
                     const PlanLimits& limits, const DomainFacts& facts) {
  if (std::none_of(members.begin(), members.end(), has_domain_terms)) {
    return plan_spread(members, cluster, limits);
  }
  return DomainSearch(members, cluster, limits, facts).plan();
}

}  // namespace nervex::placement
