#include "placement/domain_capacity.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

namespace nervex::placement {
namespace {

constexpr std::int64_t kMostPods = 1 << 20;

std::vector<std::int64_t> find_fit(const Capacity& capacity, std::size_t set) {
  SetNeed need = capacity.sets[set];
  need.wanted = kMostPods;
  std::vector<std::int64_t> fit;
  fit.reserve(capacity.nodes());
  for (std::size_t i = 0; i < capacity.nodes(); ++i) {
    fit.push_back(capacity.times_on(need, i));
  }
  return fit;
}

FitOnNodes find_fits(const Capacity& capacity) {
  FitOnNodes fits;
  fits.reserve(capacity.sets.size());
  for (std::size_t set = 0; set < capacity.sets.size(); ++set) {
    fits.push_back(find_fit(capacity, set));
  }
  return fits;
}

}  // namespace

DomainCapacity::DomainCapacity(const std::vector<gang::MemberSet>& members, const Cluster& cluster,
                               const PlanLimits& limits, const DomainFacts& facts)
    : members_(members),
      cluster_(cluster),
      capacity_(measure_capacity(members, cluster, limits)),
      fit_(find_fits(capacity_)) {
  for (std::size_t set = 0; set < members.size(); ++set) {
    choices.push_back({members[set].name, std::vector<bool>(cluster.size(), true), {}});
    each_domain_term(members[set],
                     [&](std::string name, std::string key, auto reason, bool required) {
                       add_term(set, {std::move(name), std::move(key), reason, required}, facts);
                     });
    if (!members[set].shape.node_classes.empty()) add_classes(set, facts);
  }
  // Classes have an order, which a domain must not turn around. Then large domains come first.
  std::stable_sort(terms.begin(), terms.end(), [](const DomainTerm& a, const DomainTerm& b) {
    const auto order = [](const DomainTerm& term) {
      return std::tuple(!term.is_required, !term.is_about_classes(), term.label->names.size());
    };
    return order(a) < order(b);
  });
}

FitOnNodes DomainCapacity::fit_when_empty() const { return find_fits(when_empty(capacity_)); }

void DomainCapacity::add_term(std::size_t set, DomainTerm term, const DomainFacts& facts) {
  const auto known = std::find_if(terms.begin(), terms.end(), [&](const DomainTerm& one) {
    return one.name == term.name && one.reason == term.reason;
  });
  if (known != terms.end()) {
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
  terms.push_back(std::move(term));
}

void DomainCapacity::add_classes(std::size_t set, const DomainFacts& facts) {
  const auto& classes = members_[set].shape.node_classes;
  const std::string& key = cluster_.labels().node_class;
  if (facts.classes == ClassRule::kOneForRole) {
    DomainTerm term{name_of_classes(members_[set]), key, gang::DomainLimit::Reason::kNodeClasses,
                    true};
    term.in_order.assign(classes.begin(), classes.end());
    return add_term(set, std::move(term), facts);
  }
  const LabelIndex& label = find_label(key);
  NodeChoice& choice = choices[set];
  choice.score.assign(cluster_.size(), 0);
  for (std::size_t i = 0; i < cluster_.size(); ++i) {
    const auto at = label.domain[i] == LabelIndex::kNone
                        ? classes.end()
                        : std::find(classes.begin(), classes.end(), label.names[label.domain[i]]);
    choice.allowed[i] = at != classes.end();
    choice.score[i] = (classes.end() - at) * kClassScore;
  }
}

const LabelIndex& DomainCapacity::find_label(const std::string& key) const {
  const auto known = labels_.find(key);
  return known != labels_.end() ? known->second
                                : labels_.emplace(key, index_label(key, cluster_)).first->second;
}

std::vector<Domain> DomainCapacity::measure(const DomainTerm& term, const LabelIndex& label,
                                            const FitOnNodes& fit, const Inside* inside) const {
  std::vector<Domain> domains(label.names.size());
  for (std::size_t d = 0; d < domains.size(); ++d) {
    domains[d] = {d, std::vector<std::int64_t>(term.sets.size(), 0), kMostPods, false};
  }
  for (std::size_t s = 0; s < term.sets.size(); ++s) {
    const std::size_t set = term.sets[s];
    const SetNeed& need = capacity_.sets[set];
    const auto& score = need.verdicts->score;
    for (std::size_t i = 0; i < cluster_.size(); ++i) {
      if (label.domain[i] == LabelIndex::kNone || !choices[set].allowed[i]) continue;
      if (inside != nullptr && inside->label.domain[i] != inside->domain) continue;
      Domain& domain = domains[label.domain[i]];
      domain.fit[s] += fit[set][i];
      // A score below 0: taints of the node evict the pods, or keep them away if they can.
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

std::vector<Domain> DomainCapacity::list(const DomainTerm& term, const FitOnNodes& fit) const {
  std::vector<Domain> domains = measure(term, *term.label, fit);
  const auto name = [&](const Domain& domain) { return term.label->names[domain.index]; };
  const auto is_listed = [&](const Domain& one) {
    const auto& listed = term.in_order;
    return !term.is_about_classes() ||
           std::find(listed.begin(), listed.end(), name(one)) != listed.end();
  };
  const bool is_any_taken = std::any_of(domains.begin(), domains.end(), [&](const Domain& one) {
    return !term.is_taken.empty() && term.is_taken[one.index] && is_listed(one);
  });
  std::erase_if(domains,
                [&](const Domain& one) { return is_any_taken && !term.is_taken[one.index]; });
  if (!term.is_about_classes()) {
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

std::optional<std::vector<std::size_t>> DomainCapacity::find_fewest(
    const DomainTerm& term, const std::vector<Domain>& domains) const {
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

std::vector<const LabelIndex*> DomainCapacity::list_larger(const DomainTerm& term) const {
  std::vector<const LabelIndex*> out;
  const auto& levels = cluster_.labels().topology;
  const auto level = std::find(levels.begin(), levels.end(), term.key);
  if (level == levels.end()) return out;
  for (auto at = level; at != levels.begin();) out.push_back(&find_label(*--at));
  return out;
}

bool DomainCapacity::has_taken_elsewhere(const DomainTerm& term, const LabelIndex& larger,
                                         std::size_t domain) const {
  bool is_any = false;
  for (std::size_t i = 0; i < cluster_.size() && !term.is_taken.empty(); ++i) {
    const std::size_t own = term.label->domain[i];
    if (own == LabelIndex::kNone || !term.is_taken[own]) continue;
    if (larger.domain[i] == domain) return false;
    is_any = true;
  }
  return is_any;
}

}  // namespace nervex::placement
