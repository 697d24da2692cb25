#include "planner/gang/domains.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "kube/model/anti_affinity.h"
#include "placement/spread.h"

namespace nervex::planner {
namespace {

constexpr std::int64_t kMostPods = 1 << 20;

bool has_term(const gang::MemberSet& set, const std::string& term) {
  const auto& terms = set.shape.together;
  return std::find(terms.begin(), terms.end(), term) != terms.end();
}

// No label can have this value.
constexpr const char* kNowhere = "(nowhere)";

// The template's own nodeSelector may name the label: with another value nothing is left.
void confine(gang::MemberSet& set, const std::string& key, const std::string& value) {
  set.shape.constraints.edit([&](kube::NodeConstraints& constraints) {
    Json& selector = constraints.node_selector;
    const auto at = selector.find(key);
    const bool is_contrary = at != selector.end() && *at != value;
    selector[key] = is_contrary ? kNowhere : value;
  });
}

struct Domain {
  std::string value;
  bool is_avoided = false;  // it has nodes that refused a pod, or with such taints
  std::int64_t spare = 0;   // pods that would fit beside, of the set with the fewest
};

// Pods that never fit one domain may fit another.
gang::NoFit without_proof(gang::NoFit no_fit) {
  const bool is_proof = gang::is_proof(no_fit);
  if (!is_proof) return no_fit;
  return gang::InsufficientCapacity{std::move(*gang::find_set(no_fit)),
                                    std::move(*gang::find_need(no_fit))};
}

class Search {
 public:
  Search(const placement::Cluster& cluster, const placement::PlanLimits& limits,
         const TakenDomains& taken, const std::set<std::string>& terms)
      : cluster_(cluster), limits_(limits), taken_(taken), terms_(terms.begin(), terms.end()) {}

  placement::Plan plan(const std::vector<gang::MemberSet>& members, std::size_t term = 0) {
    if (term == terms_.size()) {
      --left_;
      return placement::plan_spread(members, cluster_, limits_);
    }
    const std::string key(kube::topology_key_of_term(terms_[term]));
    const std::vector<Domain> domains = collect_domains(members, terms_[term], key);
    std::optional<gang::NoFit> nearest;
    for (const Domain& domain : domains) {
      // A domain that cannot hold them is only tried for the explanation.
      if (nearest && (domain.spare < 0 || left_ <= 0)) break;
      std::vector<gang::MemberSet> confined = members;
      for (gang::MemberSet& set : confined) {
        if (has_term(set, terms_[term])) confine(set, key, domain.value);
      }
      placement::Plan plan = this->plan(confined, term + 1);
      auto* no_fit = std::get_if<gang::NoFit>(&plan);
      if (no_fit == nullptr) return plan;
      nearest = std::move(*no_fit);
    }
    gang::find_set(*nearest)->domain = key;
    return domains.size() == 1 ? *std::move(nearest) : without_proof(*std::move(nearest));
  }

 private:
  // At least one: first those that may hold all, smallest first; then the others, the one that
  // comes nearest first.
  std::vector<Domain> collect_domains(const std::vector<gang::MemberSet>& members,
                                      const std::string& term, const std::string& key) const {
    std::map<std::string, Domain> by_value;
    const auto taken = taken_.find(term);
    for (std::size_t i = 0; i < cluster_.size(); ++i) {
      const auto& labels = cluster_.node(i).labels;
      const auto label = labels.find(key);
      if (label == labels.end()) continue;
      if (taken != taken_.end() && taken->second.count(label->second) == 0) continue;
      by_value[label->second].value = label->second;
    }
    for (auto& [value, domain] : by_value) domain.spare = kMostPods;
    for (const gang::MemberSet& set : members) {
      if (has_term(set, term)) count(set, key, by_value);
    }
    std::vector<Domain> domains;
    domains.reserve(by_value.size());
    for (auto& [value, domain] : by_value) domains.push_back(std::move(domain));
    if (domains.empty()) return {Domain{}};  // no node has the label, and none is allowed
    std::sort(domains.begin(), domains.end(), [](const Domain& a, const Domain& b) {
      const auto order = [](const Domain& domain) {
        const bool is_full = domain.spare < 0;
        return std::tuple(is_full, domain.is_avoided, is_full ? -domain.spare : domain.spare,
                          std::string_view(domain.value));
      };
      return order(a) < order(b);
    });
    return domains;
  }

  void count(const gang::MemberSet& set, const std::string& key,
             std::map<std::string, Domain>& by_value) const {
    std::map<std::string_view, int> limit_on;
    for (const placement::NodeLimit& limit : limits_.nodes) {
      if (limit.set != set.name) continue;
      const auto [at, is_new] = limit_on.emplace(limit.node, limit.at_most);
      if (!is_new) at->second = std::min(at->second, limit.at_most);
    }
    std::map<std::string_view, std::int64_t> pods;
    const auto verdicts = cluster_.verdicts(set.shape.constraints);
    for (std::size_t i = 0; i < cluster_.size(); ++i) {
      const kube::Node& node = cluster_.node(i);
      const auto label = node.labels.find(key);
      const auto domain =
          label == node.labels.end() ? by_value.end() : by_value.find(label->second);
      if (domain == by_value.end()) continue;
      std::int64_t fit = verdicts->fits[i] == kube::NodeFit::kAllowed
                             ? set.shape.requests.times_in(cluster_.free(i), kMostPods)
                             : 0;
      if (const auto limit = limit_on.find(node.name); limit != limit_on.end()) {
        fit = std::min<std::int64_t>(fit, std::max(0, limit->second));
        domain->second.is_avoided = true;
      }
      // Its taints evict the pods, or keep them away if there is another.
      if (fit > 0 && !verdicts->score.empty() && verdicts->score[i] < 0) {
        domain->second.is_avoided = true;
      }
      pods[domain->first] += std::max<std::int64_t>(0, fit);
    }
    const auto wanted = static_cast<std::int64_t>(set.slots.size());
    for (auto& [value, domain] : by_value) {
      domain.spare = std::min(domain.spare, pods[value] - wanted);
    }
  }

  const placement::Cluster& cluster_;
  const placement::PlanLimits& limits_;
  const TakenDomains& taken_;
  std::vector<std::string> terms_;
  int left_ = kMostDomainPlans;
};

}  // namespace

placement::Plan plan_in_domains(const std::vector<gang::MemberSet>& members,
                                const placement::Cluster& cluster,
                                const placement::PlanLimits& limits, const TakenDomains& taken) {
  std::set<std::string> terms;
  for (const gang::MemberSet& set : members) {
    terms.insert(set.shape.together.begin(), set.shape.together.end());
  }
  if (terms.empty()) return placement::plan_spread(members, cluster, limits);
  return Search(cluster, limits, taken, terms).plan(members);
}

}  // namespace nervex::planner
