#include "planner/gang/gang_work.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

#include "gang/slot.h"
#include "planner/gang/gang_domains.h"

namespace nervex::planner {
namespace {

struct KnownPlacement {
  const gang::Placement* placement = nullptr;
  GangStage stage = GangStage::kWaiting;  // of its gang
};
using KnownPlacements = std::map<gang::SlotKey, KnownPlacement>;

GangStage find_stage(const GroupSeen& seen, const gang::GangStatus& gang) {
  if (gang.committed) return GangStage::kCommitted;
  return seen.is_committed(gang) ? GangStage::kCommitting : GangStage::kWaiting;
}

// Placements of all gangs. If a slot has two, the committed one counts.
KnownPlacements known_placements(const GroupSeen& seen) {
  KnownPlacements placements;
  for (const bool committed : {true, false}) {
    for (const gang::GangStatus& gang : seen.group->status.gangs) {
      if (seen.is_committed(gang) != committed) continue;
      for (const gang::Placement& placement : gang.placements) {
        placements.emplace(gang::SlotKey(placement.role, placement.slot),
                           KnownPlacement{&placement, find_stage(seen, gang)});
      }
    }
  }
  return placements;
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
      work.placed.push_back({&set, *known.placement, known.stage >= GangStage::kCommitting});
      work.stage = std::max(work.stage, known.stage);
    }
  }
  if (!missing.empty()) work.missing.push_back(with_slots(set, std::move(missing)));
  work.sets.push_back(&set);
}

// Slots that get a place after all that waits are not missing. Requires GangWork::stage.
void sort_missing(GangWork& work) {
  const bool may_any = std::any_of(work.sets.begin(), work.sets.end(),
                                   [](const auto* set) { return gang::may_any_wait(*set); });
  if (!may_any) return;
  for (gang::MemberSet& missing : work.missing) {
    const auto set = std::find_if(work.sets.begin(), work.sets.end(),
                                  [&](const auto* one) { return one->name == missing.name; });
    const auto may_wait = [&](const gang::SlotId slot) {
      return gang::may_wait(**set, slot, work.is_committed());
    };
    std::vector<gang::SlotId> growing;
    std::copy_if(missing.slots.begin(), missing.slots.end(), std::back_inserter(growing), may_wait);
    if (growing.empty()) continue;
    std::erase_if(missing.slots, may_wait);
    work.growing.push_back(with_slots(**set, std::move(growing)));
  }
  std::erase_if(work.missing, [](const gang::MemberSet& set) { return set.slots.empty(); });
}

// The slot has lost its placement.
void add_missing(GangWork& work, const gang::MemberSet& set, gang::SlotId slot) {
  auto& sets = gang::may_wait(set, slot, work.is_committed()) ? work.growing : work.missing;
  sets.push_back(with_slots(set, {slot}));
}

GangWork start_work(const GroupSeen& seen, const gang::Gang& gang) {
  GangWork work;
  work.name = gang.name;
  work.position = static_cast<std::size_t>(&gang - seen.group->spec.gangs.data());
  work.kind = gang.kind;
  work.seen = &seen;
  work.before = gang::find_gang(seen.group->status, gang.name);
  if (work.before == nullptr) return work;
  work.stage = find_stage(seen, *work.before);
  if (!work.is_committed()) work.victims = work.before->victims;
  if (!work.is_committed()) work.reservation = work.before->reservation;
  work.reserve_after = work.before->reserve_after;
  work.planned_run_seconds = work.before->planned_run_seconds;
  // Its controller may have seen it: it stays until the gang was requeued.
  if (work.before->reason == gang::kReasonPreempted) work.preempt(work.before->message);
  return work;
}

// A preempted gang gets no placements. So it was requeued when those that it had when it was marked
// are gone: its slots have their next incarnations. Finished slots keep theirs, and do not keep the
// gang committed: what it lacks would be placed before everything that waits.
void end_preempted(GangWork& work) {
  const bool has_old =
      std::any_of(work.placed.begin(), work.placed.end(), [&](const PlacedSlot& slot) {
        return work.seen->finished.count(slot.placement.number) == 0;
      });
  if (!work.is_preempted() || has_old) return;
  work.obstacle = Obstacle::kNone;
  if (work.missing.empty()) return;  // its last pods finished
  work.stage = GangStage::kWaiting;
  forget_placements(work);
}

void find_open(GangWork& work) {
  std::map<std::int64_t, const OpenSlot*> open;
  for (const OpenSlot& slot : work.seen->open) open.emplace(slot.placement.number, &slot);
  for (const PlacedSlot& slot : work.placed) {
    const auto at = open.find(slot.placement.number);
    if (at != open.end()) work.open.push_back(at->second);
  }
}

// The nodes of capacity that a gang which is not committed reserves.
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

void recheck_committed(GangWork& work, Ledger& ledger) {
  std::erase_if(work.placed, [&](const PlacedSlot& slot) {
    if (slot.is_counted) return false;
    const bool fits = ledger.fits(*slot.set, slot.placement.node);
    if (fits) {
      ledger.take(*slot.set, slot.placement.node);
    } else {
      add_missing(work, *slot.set, slot.placement.slot);
    }
    return !fits;
  });
}

}  // namespace

gang::MemberSet with_slots(const gang::MemberSet& set, std::vector<gang::SlotId> slots) {
  return {set.name,         set.role,
          std::move(slots), 0,
          set.shape,        set.bind_last,
          set.heals_alone,  {},
          set.admitted,     set.resource_claims,
          set.part};
}

std::vector<gang::SlotId> all_slots(const gang::MemberSet& set) {
  std::vector<gang::SlotId> slots = set.slots;
  for (int i = 0; i < set.reserved_pods; ++i) slots.push_back(gang::reserved_slot(i));
  return slots;
}

bool has_grown(const PlacedSlot& slot) {
  return slot.placement.number == 0 && gang::may_wait(*slot.set, slot.placement.slot, true);
}

bool GangWork::has_set(const gang::MemberSet* set) const {
  return std::find(sets.begin(), sets.end(), set) != sets.end();
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

std::vector<PlacedSlot>::iterator GangWork::find_placed(std::int64_t number) {
  return std::find_if(placed.begin(), placed.end(),
                      [&](const PlacedSlot& slot) { return slot.placement.number == number; });
}

bool GangWork::claims_reserved() const {
  return !is_committed() && !is_whole() &&
         std::any_of(sets.begin(), sets.end(),
                     [](const auto* set) { return set->from_reserved.count > 0; });
}

bool GangWork::is_within_reserved() const {
  return claims_reserved() && std::all_of(sets.begin(), sets.end(), [](const auto* set) {
           return static_cast<std::size_t>(set->from_reserved.count) >= set->slots.size();
         });
}

std::vector<GangWork> collect_gang_work(const GroupSeen& seen) {
  std::vector<GangWork> works;
  KnownPlacements placements = known_placements(seen);
  const std::deque<gang::Placement> reserved = reserved_placements(seen);
  for (const gang::Placement& place : reserved) {
    placements.emplace(gang::SlotKey(place.role, place.slot),
                       KnownPlacement{&place, GangStage::kWaiting});
  }
  for (const gang::Gang& gang : seen.group->spec.gangs) {
    GangWork work = start_work(seen, gang);
    for (const gang::MemberSet& set : gang.members) {
      if (set.slots.empty() && set.reserved_pods == 0) continue;
      add_set(work, set, work.is_committed() ? set.slots : all_slots(set), placements);
    }
    if (work.sets.empty()) continue;
    end_preempted(work);
    sort_missing(work);
    if (!seen.open.empty()) find_open(work);
    works.push_back(std::move(work));
  }
  return works;
}

void drop_unbindable(GangWork& work, Ledger& ledger) {
  for (const OpenSlot* open : work.open) {
    if (open->why != OpenSlot::Why::kUnbound && open->why != OpenSlot::Why::kRefused) continue;
    const auto at = work.find_placed(open->placement.number);
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
    if (gang::is_of_quorum(*at->set, slot)) {
      work.losses.push_back(gang::slot_key(role, slot.ordinal) + " could not be bound: " + why);
    }
    ledger.stop_counting(*at->set, node);
    add_missing(work, *at->set, slot);
    work.placed.erase(at);
  }
}

void take_unchecked(GangWork& work, Ledger& ledger) {
  for (const PlacedSlot& slot : work.placed) {
    if (!slot.is_counted) ledger.take(*slot.set, slot.placement.node);
  }
  work.assume();
}

void yield(GangWork& work, Ledger& ledger) {
  work.move_to(GangStage::kWaiting);
  lend(work, ledger);
  ledger.note_dropped_plan();
}

bool try_take(const GangWork& work, Ledger& ledger) {
  for (std::size_t i = 0; i < work.placed.size(); ++i) {
    const PlacedSlot& slot = work.placed[i];
    if (ledger.fits(*slot.set, slot.placement.node)) {
      ledger.take(*slot.set, slot.placement.node);
      continue;
    }
    for (std::size_t taken = 0; taken < i; ++taken) {
      ledger.lend(*work.placed[taken].set, work.placed[taken].placement.node);
    }
    return false;
  }
  return true;
}

void recheck(GangWork& work, Ledger& ledger) {
  if (work.is_committed()) return recheck_committed(work, ledger);
  if (!work.missing.empty()) {
    if (!work.placed.empty()) ledger.note_dropped_plan();
    return;
  }
  const bool is_taken = try_take(work, ledger);
  work.move_to(is_taken ? GangStage::kAssumed : GangStage::kWaiting);
  if (is_taken && !keeps_domains(work, ledger)) return yield(work, ledger);
  if (!is_taken) ledger.note_dropped_plan();
}

void forget_placements(GangWork& work) {
  work.placed.clear();
  work.missing.clear();
  work.growing.clear();
  for (const gang::MemberSet* set : work.sets) {
    auto slots = all_slots(*set);
    if (!slots.empty()) work.missing.push_back(with_slots(*set, std::move(slots)));
  }
  sort_missing(work);
}

void keep_what_fits(GangWork& work, Ledger& ledger) {
  KnownPlacements kept;
  std::vector<PlacedSlot> placed = std::move(work.placed);
  std::vector<placement::GroupLimit> limits = work.group_limits;
  for (const PlacedSlot& slot : placed) {
    const auto& [set, node] = std::tie(*slot.set, slot.placement.node);
    const bool is_within =
        set.from_reserved.count > 0 || ledger.is_within(limits, set.shape.requests, node);
    if (!is_within || !ledger.fits(set, node)) continue;
    ledger.take(set, node);
    ledger.use_up(limits, set.shape.requests, node);
    kept.emplace(gang::SlotKey(slot.placement.role, slot.placement.slot),
                 KnownPlacement{&slot.placement, GangStage::kWaiting});
  }
  const std::vector<const gang::MemberSet*> sets = std::move(work.sets);
  work.sets.clear();
  work.placed.clear();
  work.missing.clear();
  work.growing.clear();
  for (const gang::MemberSet* set : sets) add_set(work, *set, all_slots(*set), kept);
  sort_missing(work);
}

void drop_plan(GangWork& work) {
  if (!work.is_committed()) forget_placements(work);
}

void reject(GangWork& work) {
  work.obstruct(Obstacle::kRejected);
  drop_plan(work);
}

}  // namespace nervex::planner
