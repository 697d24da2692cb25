#include "extender/cycle/gang_work.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "gang/slot.h"
#include "kube/model/anti_affinity.h"

namespace nervex::extender {
namespace {

struct KnownPlacement {
  const gang::Placement* placement = nullptr;
  bool is_counted = false;
  bool is_stored_committed = false;
};
using KnownPlacements = std::map<gang::SlotKey, KnownPlacement>;

// Placements of all gangs. If a slot has two, the committed one counts.
KnownPlacements known_placements(const GroupSeen& seen) {
  KnownPlacements placements;
  for (const bool committed : {true, false}) {
    for (const gang::GangStatus& gang : seen.group->status.gangs) {
      if (seen.is_committed(gang) != committed) continue;
      for (const gang::Placement& placement : gang.placements) {
        placements.emplace(gang::SlotKey(placement.role, placement.slot),
                           KnownPlacement{&placement, committed, gang.committed});
      }
    }
  }
  return placements;
}

gang::MemberSet with_slots(const gang::MemberSet& set, std::vector<gang::SlotId> slots) {
  return {set.name,        set.role, std::move(slots), 0,       set.shape, set.bind_last,
          set.heals_alone, {},       set.admitted,     set.part};
}

// Includes the slots of capacity that is planned with them.
std::vector<gang::SlotId> all_slots(const gang::MemberSet& set) {
  std::vector<gang::SlotId> slots = set.slots;
  for (int i = 0; i < set.reserved_pods; ++i) slots.push_back(gang::reserved_slot(i));
  return slots;
}

// Sorts these slots of the set into those with a placement and those without.
void add_set(GangWork& work, const gang::MemberSet& set, const std::vector<gang::SlotId>& slots,
             const KnownPlacements& placements) {
  std::vector<gang::SlotId> missing;
  for (const gang::SlotId slot : slots) {
    const auto found = placements.find(gang::SlotKey(set.role, slot));
    if (found == placements.end()) {
      missing.push_back(slot);
    } else {
      const KnownPlacement& known = found->second;
      work.placed.push_back({&set, *known.placement, known.is_counted});
      work.committed = work.committed || known.is_counted;
      work.is_stored_committed = work.is_stored_committed || known.is_stored_committed;
    }
  }
  if (!missing.empty()) work.missing.push_back(with_slots(set, std::move(missing)));
  work.sets.push_back(&set);
}

GangWork start_work(const GroupSeen& seen, const gang::Gang& gang) {
  GangWork work;
  work.name = gang.name;
  work.kind = gang.kind;
  work.seen = &seen;
  work.before = gang::find_gang(seen.group->status, gang.name);
  work.committed = work.before != nullptr && seen.is_committed(*work.before);
  work.is_stored_committed = work.before != nullptr && work.before->committed;
  return work;
}

void find_open(GangWork& work) {
  std::map<std::int64_t, const OpenSlot*> open;
  for (const OpenSlot& slot : work.seen->open) open.emplace(slot.placement.number, &slot);
  for (const PlacedSlot& slot : work.placed) {
    const auto at = open.find(slot.placement.number);
    if (at != open.end()) work.open.push_back(at->second);
  }
}

void forget_placements(GangWork& work) {
  work.placed.clear();
  work.missing.clear();
  for (const gang::MemberSet* set : work.sets) {
    auto slots = all_slots(*set);
    if (!slots.empty()) work.missing.push_back(with_slots(*set, std::move(slots)));
  }
}

// The places of capacity that a gang which is not committed reserves.
std::deque<gang::Placement> reserved_placements(const GroupSeen& seen) {
  std::deque<gang::Placement> placements;
  const gang::GangStatus* base = gang::find_gang(seen.group->status, gang::kBaseGang);
  const gang::Gang* wanted = gang::find_gang(seen.group->spec, gang::kBaseGang);
  if (base == nullptr || wanted == nullptr || seen.is_committed(*base)) return placements;
  for (const gang::MemberSet& set : wanted->members) {
    int number = 0;
    for (const gang::ReservedCapacity& entry : base->reserved) {
      for (int i = 0; entry.set == set.name && i < entry.count; ++i) {
        placements.push_back({set.role, gang::reserved_slot(number++), entry.node, 0});
      }
    }
  }
  return placements;
}

// Takes the placements that fit, if not all do; the other slots become missing.
void keep_what_fits(GangWork& work, Ledger& ledger) {
  KnownPlacements kept;
  std::vector<PlacedSlot> placed = std::move(work.placed);
  for (const PlacedSlot& slot : placed) {
    if (!ledger.fits(*slot.set, slot.placement.node)) continue;
    ledger.take(*slot.set, slot.placement.node);
    kept.emplace(gang::SlotKey(slot.placement.role, slot.placement.slot),
                 KnownPlacement{&slot.placement, false, false});
  }
  const std::vector<const gang::MemberSet*> sets = std::move(work.sets);
  work.sets.clear();
  work.placed.clear();
  work.missing.clear();
  for (const gang::MemberSet* set : sets) add_set(work, *set, all_slots(*set), kept);
}

void recheck_committed(GangWork& work, Ledger& ledger) {
  std::erase_if(work.placed, [&](const PlacedSlot& slot) {
    if (slot.is_counted) return false;
    const bool fits = ledger.fits(*slot.set, slot.placement.node);
    if (fits) {
      ledger.take(*slot.set, slot.placement.node);
    } else {
      work.missing.push_back(with_slots(*slot.set, {slot.placement.slot}));
    }
    return !fits;
  });
}

// Adds what only the caller of plan_gang knows of the role's sets.
placement::NoFit complete_no_fit(placement::NoFit no_fit, const std::vector<gang::MemberSet>& sets,
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

std::optional<placement::NoFit> place(GangWork& work, const std::vector<gang::MemberSet>& missing,
                                      Ledger& ledger) {
  placement::Plan plan =
      plan_in_domains(missing, ledger.nodes(), limits_left(work), taken_domains(work, ledger));
  if (const auto* no_fit = std::get_if<placement::NoFit>(&plan)) {
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

std::optional<placement::NoFit> place_missing(GangWork& work, Ledger& ledger) {
  auto no_fit = place(work, work.missing, ledger);
  if (no_fit) return no_fit;
  work.missing.clear();
  work.is_reserved = true;
  return std::nullopt;
}

// Places as many slots as possible, if not all sets fit. Returns the others.
std::vector<gang::MemberSet> place_some(GangWork& work, const std::vector<gang::MemberSet>& sets,
                                        Ledger& ledger) {
  std::vector<gang::MemberSet> left;
  for (const gang::MemberSet& set : sets) {
    const auto nodes = find_nodes(set, static_cast<int>(set.slots.size()), ledger,
                                  limits_left(work), taken_domains(work, ledger));
    const auto of = std::find_if(work.sets.begin(), work.sets.end(),
                                 [&](const auto* one) { return one->name == set.name; });
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      ledger.take(set, nodes[i]);
      work.placed.push_back({*of, {set.role, set.slots[i], nodes[i], 0}, false});
    }
    std::vector<gang::SlotId> rest(set.slots.begin() + static_cast<std::ptrdiff_t>(nodes.size()),
                                   set.slots.end());
    if (!rest.empty()) left.push_back(with_slots(set, std::move(rest)));
  }
  return left;
}

// Slots that can be placed stay placed if the rest cannot.
std::optional<placement::NoFit> complete_committed(GangWork& work, Ledger& ledger) {
  std::vector<gang::MemberSet> quorum;
  std::vector<gang::MemberSet> rest;
  for (gang::MemberSet& set : work.missing) {
    (work.is_of_quorum(set.role) ? quorum : rest).push_back(std::move(set));
  }
  work.missing.clear();
  std::optional<placement::NoFit> no_fit;
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

}  // namespace

std::vector<placement::NodeLimit> limits_left(const GangWork& work) {
  std::vector<placement::NodeLimit> limits = work.limits;
  for (placement::NodeLimit& limit : limits) {
    limit.at_most -= static_cast<int>(
        std::count_if(work.placed.begin(), work.placed.end(), [&](const PlacedSlot& slot) {
          return slot.set->name == limit.set && slot.placement.node == limit.node;
        }));
  }
  return limits;
}

TakenDomains taken_domains(const GangWork& work, const Ledger& ledger, const PlacedSlot* except) {
  TakenDomains taken;
  const gang::PodGroupSpec& spec = work.seen->group->spec;
  const auto sets = gang::all_sets(spec.gangs);
  const bool is_any = std::any_of(sets.begin(), sets.end(),
                                  [](const auto& set) { return !set.shape.together.empty(); });
  if (!is_any) return taken;
  const auto add = [&](const gang::MemberSet& set, std::string_view node) {
    const auto at = ledger.nodes().find(node);
    for (const std::string& term : set.shape.together) {
      if (!at) continue;
      const auto& labels = ledger.nodes().node(*at).labels;
      const auto label = labels.find(std::string(kube::topology_key_of_term(term)));
      if (label != labels.end()) taken[term].insert(label->second);
    }
  };
  for (const PlacedSlot& slot : work.placed) {
    if (&slot != except) add(*slot.set, slot.placement.node);
  }
  for (const gang::GangStatus& gang : work.seen->group->status.gangs) {
    if (gang.name == work.name || !work.seen->is_committed(gang)) continue;
    const gang::Gang* wanted = gang::find_gang(spec, gang.name);
    if (wanted == nullptr) continue;
    for (const gang::Placement& placement : gang.placements) {
      const auto set =
          std::find_if(wanted->members.begin(), wanted->members.end(),
                       [&](const gang::MemberSet& one) { return one.role == placement.role; });
      if (set != wanted->members.end()) add(*set, placement.node);
    }
  }
  return taken;
}

std::vector<std::string> find_nodes(const gang::MemberSet& set, int count, const Ledger& ledger,
                                    std::span<const placement::NodeLimit> limits,
                                    const TakenDomains& taken) {
  std::vector<std::string> nodes;
  while (count > 0) {
    std::vector<gang::SlotId> slots;
    slots.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) slots.push_back(gang::reserved_slot(i));
    const std::vector<gang::MemberSet> members{with_slots(set, std::move(slots))};
    const placement::Plan plan = plan_in_domains(members, ledger.nodes(), limits, taken);
    if (const auto* no_fit = std::get_if<placement::NoFit>(&plan)) {
      count -= std::max(1, gang::find_set(*no_fit)->unplaced);
      continue;
    }
    for (const auto& place : std::get<std::vector<placement::Assignment>>(plan)) {
      nodes.push_back(place.node);
    }
    break;
  }
  return nodes;
}

bool GangWork::is_of_quorum(std::string_view role) const {
  return std::none_of(sets.begin(), sets.end(), [role](const gang::MemberSet* set) {
    return set->heals_alone && set->role == role;
  });
}

std::size_t GangWork::wanted() const {
  std::size_t count = 0;
  for (const gang::MemberSet* set : sets) count += set->slots.size();
  return count;
}

std::size_t GangWork::lacking() const {
  std::size_t count = 0;
  for (const gang::MemberSet& set : missing) count += set.slots.size();
  return count;
}

bool GangWork::has_set(const gang::MemberSet* set) const {
  return std::find(sets.begin(), sets.end(), set) != sets.end();
}

bool GangWork::claims_reserved() const {
  return !committed && !is_whole() && std::any_of(sets.begin(), sets.end(), [](const auto* set) {
    return set->from_reserved.count > 0;
  });
}

std::vector<GangWork> collect_gang_work(const GroupSeen& seen) {
  std::vector<GangWork> works;
  KnownPlacements placements = known_placements(seen);
  const std::deque<gang::Placement> reserved = reserved_placements(seen);
  for (const gang::Placement& place : reserved) {
    placements.emplace(gang::SlotKey(place.role, place.slot), KnownPlacement{&place, false, false});
  }
  for (const gang::Gang& gang : seen.group->spec.gangs) {
    GangWork work = start_work(seen, gang);
    for (const gang::MemberSet& set : gang.members) {
      if (set.slots.empty() && set.reserved_pods == 0) continue;
      add_set(work, set, work.committed ? set.slots : all_slots(set), placements);
    }
    if (work.sets.empty()) continue;
    work.is_reserved = work.committed;
    if (!seen.open.empty()) find_open(work);
    works.push_back(std::move(work));
  }
  return works;
}

void drop_unbindable(GangWork& work, const Ledger& ledger) {
  for (const OpenSlot* open : work.open) {
    if (open->why != OpenSlot::Why::kUnbound && open->why != OpenSlot::Why::kRefused) continue;
    const auto at = std::find_if(work.placed.begin(), work.placed.end(), [&](const auto& slot) {
      return slot.placement.number == open->placement.number;
    });
    if (at == work.placed.end()) continue;
    // The controller may be creating its pod with that node right now. A pod that was seen to wait
    // for kube-scheduler was not created so.
    const bool may_be_created = work.before != nullptr &&
                                gang::is_direct(*work.before, at->placement) &&
                                !at->set->bind_last && open->why == OpenSlot::Why::kUnbound;
    if (may_be_created) continue;
    const auto& [role, slot, node, number] = at->placement;
    const std::string why = ledger.objection(*at->set, node);
    if (why.empty()) continue;
    if (work.is_of_quorum(role)) {
      work.losses.push_back(gang::slot_key(role, slot.ordinal) + " could not be bound: " + why);
    }
    work.missing.push_back(with_slots(*at->set, {slot}));
    work.placed.erase(at);
  }
}

bool move_slot(GangWork& work, PlacedSlot& slot, Ledger& ledger) {
  std::vector<placement::NodeLimit> limits = limits_left(work);
  std::erase_if(limits, [&](const placement::NodeLimit& limit) {
    return limit.set == slot.set->name && limit.node == slot.placement.node;
  });
  limits.push_back({slot.set->name, slot.placement.node, 0});
  const std::vector one{with_slots(*slot.set, {slot.placement.slot})};
  const placement::Plan plan =
      plan_in_domains(one, ledger.nodes(), limits, taken_domains(work, ledger, &slot));
  const auto* assigned = std::get_if<std::vector<placement::Assignment>>(&plan);
  if (assigned == nullptr) return false;
  ledger.take(*slot.set, assigned->front().node);
  slot.placement.node = assigned->front().node;
  slot.placement.number = 0;
  slot.is_counted = false;
  return true;
}

void take_unchecked(GangWork& work, Ledger& ledger) {
  for (const PlacedSlot& slot : work.placed) {
    if (!slot.is_counted) ledger.take(*slot.set, slot.placement.node);
  }
  work.is_reserved = true;
}

void recheck(GangWork& work, Ledger& ledger) {
  if (work.committed) return recheck_committed(work, ledger);
  if (!work.missing.empty()) {
    if (!work.placed.empty()) ledger.note_dropped_plan();
    return;
  }
  for (std::size_t i = 0; i < work.placed.size(); ++i) {
    const PlacedSlot& slot = work.placed[i];
    if (ledger.fits(*slot.set, slot.placement.node)) {
      ledger.take(*slot.set, slot.placement.node);
      continue;
    }
    for (std::size_t taken = 0; taken < i; ++taken) {
      ledger.give_back(*work.placed[taken].set, work.placed[taken].placement.node);
    }
    ledger.note_dropped_plan();
    return;
  }
  work.is_reserved = true;
}

void drop_plan(GangWork& work) {
  if (!work.committed) forget_placements(work);
}

void reject(GangWork& work) {
  work.is_rejected = true;
  drop_plan(work);
}

std::optional<placement::NoFit> complete(GangWork& work, Ledger& ledger) {
  if (!work.is_reserved) keep_what_fits(work, ledger);
  if (work.missing.empty()) {
    work.is_reserved = true;
    return std::nullopt;
  }
  if (work.committed) return complete_committed(work, ledger);
  auto no_fit = place_missing(work, ledger);
  if (!no_fit || work.placed.empty()) return no_fit;
  for (const PlacedSlot& slot : work.placed) ledger.give_back(*slot.set, slot.placement.node);
  forget_placements(work);
  return place_missing(work, ledger);
}

}  // namespace nervex::extender
