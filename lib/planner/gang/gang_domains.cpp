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

// Where the committed gangs of the PodGroup have their pods, by the stored status.
void add_stored_domains(const GangWork& work, const Ledger& ledger, placement::DomainFacts& facts) {
  const gang::PodGroup& group = *work.seen->group;
  for (const gang::GangStatus& gang : group.status.gangs) {
    if (gang.name == work.name || !work.seen->is_committed(gang)) continue;
    const gang::Gang* wanted = gang::find_gang(group.spec, gang.name);
    if (wanted == nullptr) continue;
    for (const gang::Placement& placement : gang.placements) {
      const auto set =
          std::find_if(wanted->members.begin(), wanted->members.end(),
                       [&](const gang::MemberSet& one) { return one.role == placement.role; });
      if (set == wanted->members.end()) continue;
      placement::add_taken_domains(*set, ledger.nodes(), placement.node, facts);
    }
  }
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
      placement::add_taken_domains(*place.set, ledger.nodes(), place.node, facts);
    }
  }
  if (work.siblings.empty()) add_stored_domains(work, ledger, facts);
  return facts;
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

bool keeps_domains(const GangWork& work, const Ledger& ledger) {
  std::vector<placement::SetOnNode> pods;
  bool has_terms = false;
  for (const PlacedSlot& slot : work.placed) {
    const bool has_term = placement::has_domain_terms(*slot.set);
    if (slot.set->shape.spread.empty() && !has_term) continue;
    has_terms = has_terms || has_term;
    if (const auto node = ledger.nodes().find(slot.placement.node))
      pods.emplace_back(slot.set, *node);
  }
  if (!placement::keeps_spread(pods, ledger.nodes())) return false;
  return !has_terms ||
         placement::keeps_domains(pods, ledger.nodes(), find_facts_of_others(work, ledger));
}

}  // namespace nervex::planner
