#include "planner/gang/place_gang.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "gang/slot.h"
#include "planner/gang/gang_domains.h"

namespace nervex::planner {
namespace {

// Adds what only the caller of plan_gang knows of the role's sets.
gang::NoFit complete_no_fit(gang::NoFit no_fit, const std::vector<gang::MemberSet>& sets,
                            const std::vector<gang::EnlargedSet>& enlarged) {
  gang::UnplacedSet* unplaced = gang::find_set(no_fit);
  gang::ResourceNeed* need = gang::find_need(no_fit);
  for (const gang::MemberSet& set : sets) {
    if (set.role != unplaced->role) continue;
    unplaced->reserved +=
        static_cast<int>(std::count_if(set.slots.begin(), set.slots.end(), gang::is_reserved_slot));
    if (need == nullptr) continue;
    need->enlarged = need->enlarged || !set.admitted.requests.empty() ||
                     std::any_of(enlarged.begin(), enlarged.end(), [&](const auto& known) {
                       return known.set == set.name && !known.requests.empty();
                     });
  }
  return no_fit;
}

std::optional<gang::NoFit> place(GangWork& work, const std::vector<gang::MemberSet>& missing,
                                 Ledger& ledger) {
  const auto limits = limits_left(work);
  const auto group_limits = group_limits_left(work, ledger);
  placement::Plan plan = placement::plan_in_domains(missing, ledger.nodes(), {limits, group_limits},
                                                    find_domain_facts(work, ledger));
  if (const auto* no_fit = std::get_if<gang::NoFit>(&plan)) {
    return complete_no_fit(*no_fit, missing, work.seen->enlarged);
  }
  std::map<gang::SlotKey, const gang::MemberSet*> set_by_slot;
  for (const gang::MemberSet* set : work.sets) {
    for (const gang::SlotId slot : all_slots(*set)) {
      set_by_slot.emplace(gang::SlotKey(set->role, slot), set);
    }
  }
  for (placement::Assignment& assigned : std::get<std::vector<placement::Assignment>>(plan)) {
    const gang::MemberSet* set = set_by_slot.at(gang::SlotKey(assigned.role, assigned.slot));
    ledger.take(*set, assigned.node);
    work.placed.push_back({set, {set->role, assigned.slot, std::move(assigned.node), 0}, false});
  }
  return std::nullopt;
}

std::optional<gang::NoFit> place_missing(GangWork& work, Ledger& ledger) {
  if (!work.missing.empty()) {
    if (auto no_fit = place(work, work.missing, ledger)) return no_fit;
  }
  work.missing.clear();
  work.assume();
  return std::nullopt;
}

// Places as many slots as possible, if not all sets fit. Returns the others.
std::vector<gang::MemberSet> place_some(GangWork& work, const std::vector<gang::MemberSet>& sets,
                                        Ledger& ledger) {
  std::vector<gang::MemberSet> left;
  for (const gang::MemberSet& set : sets) {
    const auto limits = limits_left(work);
    const auto group_limits = group_limits_left(work, ledger);
    const auto nodes = find_nodes(set, static_cast<int>(set.slots.size()), ledger,
                                  {limits, group_limits}, find_domain_facts(work, ledger));
    const auto member = std::find_if(work.sets.begin(), work.sets.end(),
                                     [&](const auto* one) { return one->name == set.name; });
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      ledger.take(set, nodes[i]);
      work.placed.push_back({*member, {set.role, set.slots[i], nodes[i], 0}, false});
    }
    std::vector<gang::SlotId> rest(set.slots.begin() + static_cast<std::ptrdiff_t>(nodes.size()),
                                   set.slots.end());
    if (!rest.empty()) left.push_back(with_slots(set, std::move(rest)));
  }
  return left;
}

// Slots that can be placed stay placed if the rest cannot.
std::optional<gang::NoFit> complete_committed(GangWork& work, Ledger& ledger) {
  std::vector<gang::MemberSet> quorum;
  std::vector<gang::MemberSet> rest;
  for (const gang::MemberSet& set : work.missing) {
    for (const bool is_of_quorum : {true, false}) {
      std::vector<gang::SlotId> slots;
      std::copy_if(set.slots.begin(), set.slots.end(), std::back_inserter(slots),
                   [&](auto slot) { return gang::is_of_quorum(set, slot) == is_of_quorum; });
      if (slots.empty()) continue;
      (is_of_quorum ? quorum : rest).push_back(with_slots(set, std::move(slots)));
    }
  }
  work.missing.clear();
  std::optional<gang::NoFit> no_fit;
  for (auto part : {quorum, rest}) {
    if (part.empty()) continue;
    auto why = place(work, part, ledger);
    if (!why) continue;
    const std::size_t before = work.placed.size();
    part = place_some(work, part, ledger);
    // The reason is about the remaining slots, so that the next cycle finds the same one.
    if (work.placed.size() > before && !part.empty()) why = place(work, part, ledger);
    if (!why || part.empty()) continue;
    work.missing.insert(work.missing.end(), part.begin(), part.end());
    if (!no_fit) no_fit = std::move(why);
  }
  return no_fit;
}

// How many pods less to try next. Where several constraints together are the reason, or the search
// has ended at its limit, the number says little.
int fewer_by(const gang::NoFit& no_fit, int count) {
  const gang::UnplacedSet& unplaced = *gang::find_set(no_fit);
  const auto* cause = std::get_if<gang::InsufficientCapacity>(&no_fit);
  if (unplaced.skew) return std::max(unplaced.unplaced, count / 8);
  const bool is_vague = (unplaced.domain && unplaced.domain->is_narrowed) ||
                        (cause != nullptr && cause->search_gave_up);
  return is_vague ? count / 8 : unplaced.unplaced;
}

}  // namespace

std::vector<std::string> find_nodes(const gang::MemberSet& set, int count, const Ledger& ledger,
                                    const placement::PlanLimits& limits,
                                    const placement::DomainFacts& facts) {
  std::vector<std::string> nodes;
  while (count > 0) {
    std::vector<gang::SlotId> slots;
    slots.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) slots.push_back(gang::reserved_slot(i));
    const std::vector<gang::MemberSet> members{with_slots(set, std::move(slots))};
    const placement::Plan plan = placement::plan_in_domains(members, ledger.nodes(), limits, facts);
    if (const auto* no_fit = std::get_if<gang::NoFit>(&plan)) {
      count -= std::max(1, fewer_by(*no_fit, count));
      continue;
    }
    for (const auto& place : std::get<std::vector<placement::Assignment>>(plan)) {
      nodes.push_back(place.node);
    }
    break;
  }
  return nodes;
}

bool move_slot(GangWork& work, PlacedSlot& slot, Ledger& ledger) {
  std::vector<placement::NodeLimit> limits = limits_left(work);
  std::erase_if(limits, [&](const placement::NodeLimit& limit) {
    return limit.set == slot.set->name && limit.node == slot.placement.node;
  });
  limits.push_back({slot.set->name, slot.placement.node, 0});
  const auto group_limits = group_limits_left(work, ledger, &slot);
  ledger.stop_counting(*slot.set, slot.placement.node);
  const std::vector one{with_slots(*slot.set, {slot.placement.slot})};
  const placement::Plan plan = placement::plan_in_domains(
      one, ledger.nodes(), {limits, group_limits}, find_domain_facts(work, ledger, &slot));
  const auto* assigned = std::get_if<std::vector<placement::Assignment>>(&plan);
  if (assigned == nullptr) {
    ledger.count_again(*slot.set, slot.placement.node);
    return false;
  }
  ledger.take(*slot.set, assigned->front().node);
  slot.placement.node = assigned->front().node;
  slot.placement.number = 0;
  slot.is_counted = false;
  return true;
}

std::optional<gang::NoFit> complete(GangWork& work, Ledger& ledger) {
  const bool may_move = !work.is_assumed();
  if (may_move) keep_what_fits(work, ledger);
  if (work.is_committed()) {
    if (work.missing.empty()) return std::nullopt;
    return complete_committed(work, ledger);
  }
  const bool keeps_some = may_move && !work.placed.empty();
  auto no_fit = place_missing(work, ledger);
  if (!keeps_some || (!no_fit && keeps_domains(work, ledger))) return no_fit;
  give_back(work, ledger);
  if (work.is_assumed()) work.move_to(GangStage::kWaiting);
  forget_placements(work);
  return place_missing(work, ledger);
}

}  // namespace nervex::planner
