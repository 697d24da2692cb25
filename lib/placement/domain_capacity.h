// placement/domain_capacity.h - how many pods of a gang does each domain hold? Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gang/no_fit.h"
#include "placement/capacity.h"
#include "placement/domain_terms.h"
#include "placement/label_index.h"

namespace nervex::placement {

// A rule that keeps sets in one domain.
struct DomainTerm {
  std::string name;
  std::string key;
  gang::DomainLimit::Reason reason = gang::DomainLimit::Reason::kPodAffinity;
  bool is_required = true;
  std::vector<std::size_t> sets{};      // that have it
  std::vector<std::string> in_order{};  // node classes: these domains alone, the best first
  const LabelIndex* label = nullptr;
  std::vector<bool> is_taken{};  // by domain; empty: none is

  bool is_about_classes() const { return reason == gang::DomainLimit::Reason::kNodeClasses; }
};

// A domain, and what it holds of the sets of a term.
struct Domain {
  std::size_t index = 0;
  std::vector<std::int64_t> fit;  // by DomainTerm::sets
  std::int64_t spare = 0;         // pods that would fit beside, of the set with the fewest
  bool is_avoided = false;        // it has nodes that refused a pod, or with such taints
  bool holds_all() const { return spare >= 0; }
};

// The nodes of one domain.
struct Inside {
  const LabelIndex& label;
  std::size_t domain;
};

// By set and node: pods of the set that fit there without the rest of its gang.
using FitOnNodes = std::vector<std::vector<std::int64_t>>;

// A gang, and what domains hold of it. Borrows the constructor's arguments. Cost: as
// measure_capacity(), and one look-up of a label for each node and key.
class DomainCapacity {
 public:
  DomainCapacity(const std::vector<gang::MemberSet>& members, const Cluster& cluster,
                 const PlanLimits& limits, const DomainFacts& facts);

  const std::vector<gang::MemberSet>& members() const { return members_; }
  const Cluster& cluster() const { return cluster_; }
  const Capacity& capacity() const { return capacity_; }
  const FitOnNodes& fit() const { return fit_; }
  // fit() in the empty cluster. Cost: as the constructor.
  FitOnNodes fit_when_empty() const;
  std::int64_t wanted(std::size_t set) const { return capacity_.sets[set].wanted; }

  // Measures what the domains of a label hold of the sets of a term, on nodes that `choices` allow
  // and that are `inside` (null: all). Cost: nodes x sets of the term.
  std::vector<Domain> measure(const DomainTerm& term, const LabelIndex& label,
                              const FitOnNodes& fit, const Inside* inside = nullptr) const;
  // Lists the domains that the term may use: of node classes the listed ones, in their order; where
  // pods with the term run, those with such pods; else by name.
  std::vector<Domain> list(const DomainTerm& term, const FitOnNodes& fit) const;
  // As few domains of these as together hold the pods of the term: those that are taken, then the
  // largest; the last one is the smallest that suffices. nullopt: all together do not hold them.
  std::optional<std::vector<std::size_t>> find_fewest(const DomainTerm& term,
                                                      const std::vector<Domain>& domains) const;
  // The levels with larger domains than the term's (NodeLabels::topology), the next one first.
  std::vector<const LabelIndex*> list_larger(const DomainTerm& term) const;
  // Pods with the term run, and none of them in this domain of a larger level.
  bool has_taken_elsewhere(const DomainTerm& term, const LabelIndex& larger,
                           std::size_t domain) const;

  // What is required comes before what is preferred.
  std::vector<DomainTerm> terms;
  std::vector<NodeChoice> choices;  // by set: the nodes that it may use

 private:
  void add_term(std::size_t set, DomainTerm term, const DomainFacts& facts);
  void add_classes(std::size_t set, const DomainFacts& facts);
  const LabelIndex& find_label(const std::string& key) const;

  const std::vector<gang::MemberSet>& members_;
  const Cluster& cluster_;
  const Capacity capacity_;
  FitOnNodes fit_;
  mutable std::map<std::string, LabelIndex> labels_;  // by key
};

// Nodes of an earlier class come first, of them those in an earlier domain (NodeChoice::score),
// whatever their other preferences (kube::preference()) are. A set has at most kMaxNodeClasses
// classes and two preferred terms.
inline constexpr std::int64_t kClassScore = std::int64_t{1} << 56;
inline constexpr std::int64_t kDomainScore = std::int64_t{1} << 42;
inline constexpr std::size_t kMostDomainRanks = 4'095;

}  // namespace nervex::placement
