#include "planner/gang/gang_domains.h"

#include <algorithm>
#include <vector>

#include "placement/spread.h"

namespace nervex::planner {
namespace {

placement::ClassRule find_class_rule(const GangWork& work) {
  const bool has_multi_gpu = work.kind == gang::GangKind::kRequest && work.sets.size() > 1;
  const bool runs = work.is_committed() || work.kind != gang::GangKind::kBase;
  return runs && !has_multi_gpu ? placement::ClassRule::kForEachPod
                                : placement::ClassRule::kOneForRole;
}

placement::DomainFacts find_facts_of_others(const GangWork& work, const Ledger& ledger) {
  placement::DomainFacts facts;
  const auto sets = gang::all_sets(work.seen->group->spec.gangs);
  if (std::none_of(sets.begin(), sets.end(), placement::has_domain_terms)) return facts;
  facts.classes = find_class_rule(work);
  for (const GangWork& sibling : work.siblings) {
    if (sibling.name == work.name || !sibling.is_assumed()) continue;
    for (const PlacedSlot& slot : sibling.placed) {
      placement::add_taken_domains(*slot.set, ledger.nodes(), slot.placement.node, facts);
    }
  }
  if (work.reserved != nullptr) {
    for (const ReservedPlace& place : *work.reserved) {
      // The gang takes it over; or nothing can start there, and the place moves after the pods.
      const bool is_its_own = !work.is_committed() && work.has_set(place.set);
      if (is_its_own || !ledger.is_allowed(*place.set, place.node)) continue;
      placement::add_taken_domains(*place.set, ledger.nodes(), place.node, facts);
    }
  }
  return facts;
}

// The placed pods of the sets that `is_one` picks.
template <typename IsOne>
std::vector<placement::SetOnNode> list_pods(const GangWork& work, const Ledger& ledger,
                                            const IsOne& is_one) {
  std::vector<placement::SetOnNode> pods;
  for (const PlacedSlot& slot : work.placed) {
    if (!is_one(*slot.set)) continue;
    if (const auto node = ledger.nodes().find(slot.placement.node)) {
      pods.emplace_back(slot.set, *node);
    }
  }
  return pods;
}

}  // namespace

placement::DomainFacts find_domain_facts(const GangWork& work, const Ledger& ledger,
                                         const PlacedSlot* except) {
  placement::DomainFacts facts = find_facts_of_others(work, ledger);
  for (const PlacedSlot& slot : work.placed) {
    if (&slot == except || !placement::has_domain_terms(*slot.set)) continue;
    placement::add_taken_domains(*slot.set, ledger.nodes(), slot.placement.node, facts);
    placement::add_taken_class(*slot.set, ledger.nodes(), slot.placement.node, facts);
  }
  return facts;
}

bool keeps_topology(const GangWork& work, const Ledger& ledger) {
  const auto pods = list_pods(work, ledger, placement::has_domain_terms);
  return pods.empty() ||
         placement::keeps_domains(pods, ledger.nodes(), find_facts_of_others(work, ledger));
}

bool keeps_domains(const GangWork& work, const Ledger& ledger) {
  const auto spread =
      list_pods(work, ledger, [](const gang::MemberSet& set) { return !set.shape.spread.empty(); });
  return placement::keeps_spread(spread, ledger.nodes()) && keeps_topology(work, ledger);
}

}  // namespace nervex::planner
