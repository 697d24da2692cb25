#include "placement/topology.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "placement/domain_capacity.h"
#include "placement/explain_domains.h"
#include "placement/spread.h"

namespace nervex::placement {
namespace {

// Bounds on the work for one gang, in a large cluster and in a small one: plans of each pass, for
// each of them looks at the domains of a term, and steps of all searches that give up.
constexpr std::size_t kMostPlanNodes = 40'000;
constexpr std::size_t kMostPlans = 500;
constexpr std::size_t kLeastPlans = 8;
constexpr std::size_t kLooksPerPlan = 16;
constexpr std::int64_t kMostSteps = 200'000;
constexpr std::int64_t kLeastSteps = 500;
// Domains of a larger level that a preferred term is tried in.
constexpr std::size_t kMostLarger = 4;

// Nodes that the sets of a term are tried on.
struct Candidate {
  const LabelIndex* label = nullptr;   // null: all nodes
  std::vector<std::size_t> domains{};  // the first one is filled first
};

// A plan is first tried with each term in one domain, also preferred ones.
enum class Pass { kOneDomain, kFewDomains };

// ---- candidates

// Domains that hold all pods of the term, the best first.
std::vector<Domain> keep_holding(std::vector<Domain> domains) {
  std::erase_if(domains, [](const Domain& domain) { return !domain.holds_all(); });
  std::stable_sort(domains.begin(), domains.end(), [](const Domain& a, const Domain& b) {
    return std::pair(a.is_avoided, a.spare) < std::pair(b.is_avoided, b.spare);
  });
  return domains;
}

// Where the pods of a preferred term go that no domain holds.
void add_few_domains(const DomainCapacity& gang, const DomainTerm& term,
                     std::vector<Candidate>& out) {
  const auto add_fewest = [&](const Inside* inside) {
    const auto fewest = gang.find_fewest(term, gang.measure(term, *term.label, gang.fit(), inside));
    if (fewest) out.push_back({term.label, *fewest});
  };
  for (const LabelIndex* larger : gang.list_larger(term)) {
    std::size_t left = kMostLarger;
    for (const Domain& domain : keep_holding(gang.measure(term, *larger, gang.fit()))) {
      if (gang.has_taken_elsewhere(term, *larger, domain.index)) continue;
      const Inside inside{*larger, domain.index};
      add_fewest(&inside);
      out.push_back({larger, {domain.index}});
      if (--left == 0) break;
    }
  }
  add_fewest(nullptr);
  out.push_back({});
}

std::vector<Candidate> list_candidates(const DomainCapacity& gang, const DomainTerm& term,
                                       Pass pass) {
  std::vector<Domain> domains = gang.list(term, gang.fit());
  if (term.is_about_classes()) {  // in their order
    std::erase_if(domains, [](const Domain& domain) { return !domain.holds_all(); });
  } else {
    domains = keep_holding(std::move(domains));
  }
  std::vector<Candidate> out;
  out.reserve(domains.size());
  for (const Domain& domain : domains) out.push_back({term.label, {domain.index}});
  if (!term.is_required && pass == Pass::kFewDomains) add_few_domains(gang, term, out);
  return out;
}

// The sets of the term may use the candidate's nodes alone.
void restrict_to(const Candidate& candidate, const DomainTerm& term,
                 std::vector<NodeChoice>& choices) {
  if (candidate.label == nullptr) return;
  const std::size_t count = candidate.domains.size();
  std::vector<std::int64_t> rank(candidate.label->names.size(), 0);  // 0: not one of these
  for (std::size_t k = 0; k < count; ++k) {
    rank[candidate.domains[k]] = static_cast<std::int64_t>(std::min(count - k, kMostDomainRanks));
  }
  for (const std::size_t set : term.sets) {
    NodeChoice& choice = choices[set];
    if (count > 1 && choice.score.empty()) choice.score.assign(choice.allowed.size(), 0);
    for (std::size_t i = 0; i < choice.allowed.size(); ++i) {
      const std::size_t domain = candidate.label->domain[i];
      if (domain == LabelIndex::kNone || rank[domain] == 0) {
        choice.allowed[i] = false;
      } else if (count > 1) {
        choice.score[i] += rank[domain] * kDomainScore;
      }
    }
  }
}

// ---- the search

class DomainSearch {
 public:
  DomainSearch(const std::vector<gang::MemberSet>& members, const Cluster& cluster,
               const PlanLimits& limits, const DomainFacts& facts)
      : limits_(limits),
        gang_(members, cluster, limits, facts),
        most_plans_(std::clamp(kMostPlanNodes / (cluster.size() + 1), kLeastPlans, kMostPlans)) {}

  Plan plan() {
    const bool has_preferred = std::any_of(gang_.terms.begin(), gang_.terms.end(),
                                           [](const auto& term) { return !term.is_required; });
    if (has_preferred) {
      if (auto plan = search(Pass::kOneDomain)) return *std::move(plan);
    }
    if (auto plan = search(Pass::kFewDomains)) return *std::move(plan);
    if (!has_preferred) return explain();
    // What keeps the gang waiting is not a preference.
    std::erase_if(gang_.terms, [](const DomainTerm& term) { return !term.is_required; });
    if (auto plan = search(Pass::kOneDomain)) return *std::move(plan);
    return explain();
  }

 private:
  std::optional<Plan> search(Pass pass) {
    nearest_choices_.clear();
    blocked_choices_.clear();
    has_given_up_ = false;
    plans_left_ = most_plans_;
    looks_left_ = most_plans_ * kLooksPerPlan;
    return try_terms(0, pass);
  }

  std::optional<Plan> try_terms(std::size_t at, Pass pass) {
    failed_for_ = static_cast<std::ptrdiff_t>(at) - 1;
    if (at == gang_.terms.size()) return try_plan();
    const DomainTerm& term = gang_.terms[at];
    const std::vector<Candidate> candidates = list_candidates(gang_, term, pass);
    if (looks_left_ > 0 && candidates.size() != 1) --looks_left_;
    if ((candidates.empty() || is_over()) && blocked_choices_.empty()) {
      blocked_ = at;
      blocked_choices_ = gang_.choices;
    }
    for (const Candidate& candidate : candidates) {
      if (is_over()) break;
      const std::vector<NodeChoice> before = gang_.choices;
      restrict_to(candidate, term, gang_.choices);
      auto plan = try_terms(at + 1, pass);
      gang_.choices = before;
      if (plan) return plan;
      // Another candidate of this term does not help.
      if (failed_for_ < static_cast<std::ptrdiff_t>(at)) return std::nullopt;
    }
    failed_for_ = candidates.empty() ? find_sharing(at) : static_cast<std::ptrdiff_t>(at) - 1;
    return std::nullopt;
  }

  // The last term before this one that has a set of it; -1: none.
  std::ptrdiff_t find_sharing(std::size_t at) const {
    const auto& sets = gang_.terms[at].sets;
    auto before = static_cast<std::ptrdiff_t>(at);
    while (--before >= 0) {
      const auto& others = gang_.terms[static_cast<std::size_t>(before)].sets;
      const auto shared =
          std::find_first_of(sets.begin(), sets.end(), others.begin(), others.end());
      if (shared != sets.end()) break;
    }
    return before;
  }

  bool is_over() const { return plans_left_ == 0 || looks_left_ == 0; }

  std::optional<Plan> try_plan() {
    --plans_left_;
    PlanLimits limits = limits_;
    limits.choices = gang_.choices;
    SearchBudget budget;
    budget.steps = std::clamp(steps_left_, kLeastSteps, budget.steps);
    budget.answer = SearchBudget::Answer::kPlacesOnly;
    Plan plan = plan_spread(gang_.members(), gang_.cluster(), limits, budget);
    if (std::holds_alternative<std::vector<Assignment>>(plan)) return plan;
    const auto* cause = std::get_if<gang::InsufficientCapacity>(&std::get<gang::NoFit>(plan));
    if (cause != nullptr && cause->search_gave_up) {
      has_given_up_ = true;
      steps_left_ -= budget.steps;
    }
    if (nearest_choices_.empty()) nearest_choices_ = gang_.choices;
    return std::nullopt;
  }

  // Why the gang waits; or its places, if a plan with more steps finds them.
  Plan explain() {
    for (const DomainTerm& term : gang_.terms) {
      const std::vector<Domain> domains = gang_.list(term, gang_.fit());
      const bool holds = std::any_of(domains.begin(), domains.end(),
                                     [](const Domain& domain) { return domain.holds_all(); });
      if (!holds) return explain_limit(gang_, term, domains, limits_);
    }
    if (nearest_choices_.empty()) return explain_blocked();
    PlanLimits limits = limits_;
    limits.choices = nearest_choices_;
    Plan plan = plan_spread(gang_.members(), gang_.cluster(), limits);
    auto* no_fit = std::get_if<gang::NoFit>(&plan);
    if (no_fit == nullptr) return plan;
    gang::UnplacedSet& unplaced = *gang::find_set(*no_fit);
    if (!unplaced.skew) note_domain(gang_, unplaced);
    if (!has_one_domain(gang_)) *no_fit = without_proof(std::move(*no_fit));
    note_giving_up(*no_fit);
    return plan;
  }

  // Each term alone has a domain, but one has none inside that of another.
  gang::NoFit explain_blocked() {
    gang_.choices = std::move(blocked_choices_);
    const DomainTerm& term = gang_.terms[blocked_];
    const std::vector<Domain> domains = gang_.list(term, gang_.fit());
    gang::NoFit no_fit = without_proof(explain_limit(gang_, term, domains, limits_));
    gang::UnplacedSet* unplaced = gang::find_set(no_fit);
    if (unplaced->domain) unplaced->domain->is_narrowed = true;
    note_giving_up(no_fit);
    return no_fit;
  }

  void note_giving_up(gang::NoFit& no_fit) const {
    auto* cause = std::get_if<gang::InsufficientCapacity>(&no_fit);
    if (cause != nullptr && (has_given_up_ || is_over())) cause->search_gave_up = true;
  }

  const PlanLimits& limits_;
  DomainCapacity gang_;  // choices: as the terms so far allow
  const std::size_t most_plans_;
  std::size_t plans_left_ = 0;
  std::size_t looks_left_ = 0;
  std::int64_t steps_left_ = kMostSteps;
  bool has_given_up_ = false;                // the search of a plan
  std::ptrdiff_t failed_for_ = -1;           // the last term whose next candidate may help
  std::vector<NodeChoice> nearest_choices_;  // of the first plan; empty: none was made
  std::size_t blocked_ = 0;                  // the first term without a candidate
  std::vector<NodeChoice> blocked_choices_;  // and what the terms before it allow; empty: none is
};

}  // namespace

Plan plan_in_domains(const std::vector<gang::MemberSet>& members, const Cluster& cluster,
                     const PlanLimits& limits, const DomainFacts& facts) {
  if (std::none_of(members.begin(), members.end(), has_domain_terms)) {
    return plan_spread(members, cluster, limits);
  }
  return DomainSearch(members, cluster, limits, facts).plan();
}

}  // namespace nervex::placement
