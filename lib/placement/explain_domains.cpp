#include "placement/explain_domains.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include "placement/spread.h"

namespace nervex::placement {
namespace {

using gang::DomainLimit;

// Any label may be a topologyKey of pod affinity: values that an administrator has not named as
// levels are not for users to read.
bool is_public(const NodeLabels& labels, const std::string& key) {
  return key == labels.node_class ||
         std::find(labels.topology.begin(), labels.topology.end(), key) != labels.topology.end();
}

// The domains that hold most pods of the set, but not all; at most two. `set`: of DomainTerm::sets.
std::vector<DomainLimit::Capacity> name_largest(const DomainCapacity& gang, const DomainTerm& term,
                                                const std::vector<Domain>& domains,
                                                std::size_t set) {
  constexpr std::size_t kMostNamed = 2;
  std::vector<const Domain*> largest;
  for (const Domain& domain : domains) {
    if (domain.fit[set] < gang.wanted(term.sets[set])) largest.push_back(&domain);
  }
  std::stable_sort(largest.begin(), largest.end(), [&](const Domain* a, const Domain* b) {
    return std::pair(-a->spare, -a->fit[set]) < std::pair(-b->spare, -b->fit[set]);
  });
  largest.resize(std::min(largest.size(), kMostNamed));
  const bool has_names = is_public(gang.cluster().labels(), term.key);
  std::vector<DomainLimit::Capacity> out;
  out.reserve(largest.size());
  for (const Domain* one : largest) {
    out.push_back({has_names ? std::string(term.label->names[one->index]) : "",
                   static_cast<int>(one->fit[set])});
  }
  return out;
}

gang::UnplacedSet describe(const DomainCapacity& gang, const DomainTerm& term,
                           const std::vector<Domain>& domains, std::size_t set) {
  gang::UnplacedSet out;
  out.role = gang.members()[term.sets[set]].role;
  out.wanted = static_cast<int>(gang.wanted(term.sets[set]));
  out.unplaced = out.wanted;
  DomainLimit& limit = out.domain.emplace(DomainLimit{term.key, term.reason});
  limit.capacity = name_largest(gang, term, domains, set);
  if (!limit.capacity.empty()) out.unplaced = out.wanted - limit.capacity.front().pods;
  limit.joins_pods = !term.is_taken.empty();
  if (limit.joins_pods || term.is_about_classes()) return out;
  const auto fewest = gang.find_fewest(term, domains);
  if (fewest && fewest->size() > 1) limit.needed = static_cast<int>(fewest->size());
  return out;
}

// The set of the term, by index of DomainTerm::sets, that lacks most in the domain that lacks
// least.
std::size_t find_worst_set(const DomainCapacity& gang, const DomainTerm& term,
                           const std::vector<Domain>& domains) {
  const auto nearest =
      std::max_element(domains.begin(), domains.end(),
                       [](const Domain& a, const Domain& b) { return a.spare < b.spare; });
  const auto spare = [&](std::size_t s) { return nearest->fit[s] - gang.wanted(term.sets[s]); };
  std::size_t worst = 0;
  for (std::size_t s = 1; s < term.sets.size(); ++s) {
    if (spare(s) < spare(worst)) worst = s;
  }
  return worst;
}

bool holds_all(const Domain& domain) { return domain.holds_all(); }

}  // namespace

gang::NoFit explain_limit(const DomainCapacity& gang, const DomainTerm& term,
                          const std::vector<Domain>& domains, const PlanLimits& limits) {
  if (domains.empty()) return gang::NoNodeAllowed{describe(gang, term, domains, 0)};
  const std::vector<Domain> at_best = gang.list(term, gang.fit_when_empty());
  const bool is_proof =
      term.is_taken.empty() && std::none_of(at_best.begin(), at_best.end(), holds_all);
  const std::vector<Domain>& said = is_proof ? at_best : domains;
  const std::size_t worst = find_worst_set(gang, term, said);
  const bool holds_any = std::any_of(domains.begin(), domains.end(),
                                     [&](const Domain& one) { return one.fit[worst] > 0; });
  if (!holds_any) {  // what keeps them from each node says more
    Plan plan = plan_spread(gang.members(), gang.cluster(), limits);
    if (auto* no_fit = std::get_if<gang::NoFit>(&plan)) return std::move(*no_fit);
  }
  gang::UnplacedSet set = describe(gang, term, said, worst);
  const Capacity& capacity = gang.capacity();
  const SetNeed& need = capacity.sets[term.sets[worst]];
  gang::ResourceNeed scarce;
  if (!capacity.resources.empty()) {
    scarce = {capacity.resources[need.scarce], need.each[need.scarce]};
  }
  if (!is_proof) return gang::InsufficientCapacity{std::move(set), std::move(scarce)};
  const int most = set.wanted - set.unplaced;
  return gang::NeverFits{std::move(set), std::move(scarce), most};
}

void note_domain(const DomainCapacity& gang, gang::UnplacedSet& unplaced) {
  const auto& members = gang.members();
  const auto at = std::find_if(members.begin(), members.end(),
                               [&](const auto& member) { return member.role == unplaced.role; });
  const auto set = static_cast<std::size_t>(at - members.begin());
  const auto term = std::find_if(gang.terms.rbegin(), gang.terms.rend(), [&](const auto& one) {
    return one.is_required && std::find(one.sets.begin(), one.sets.end(), set) != one.sets.end();
  });
  if (term != gang.terms.rend()) {
    unplaced.domain = DomainLimit{term->key, term->reason};
  } else if (!at->shape.node_classes.empty()) {
    unplaced.domain =
        DomainLimit{gang.cluster().labels().node_class, DomainLimit::Reason::kNodeClasses};
  }
  const auto& fits = gang.capacity().sets[set].verdicts->fits;
  unplaced.nodes.not_selected =
      static_cast<int>(std::count(fits.begin(), fits.end(), kube::NodeFit::kNotSelected));
}

bool has_one_domain(const DomainCapacity& gang) {
  const FitOnNodes fit = gang.fit_when_empty();
  return std::all_of(gang.terms.begin(), gang.terms.end(), [&](const DomainTerm& term) {
    const std::vector<Domain> domains = gang.list(term, fit);
    return term.is_taken.empty() && std::count_if(domains.begin(), domains.end(), holds_all) == 1;
  });
}

gang::NoFit without_proof(gang::NoFit no_fit) {
  if (!gang::is_proof(no_fit)) return no_fit;
  return gang::InsufficientCapacity{std::move(*gang::find_set(no_fit)),
                                    std::move(*gang::find_need(no_fit))};
}

}  // namespace nervex::placement
