#include "extender/pass.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "extender/gang_work.h"
#include "extender/ledger.h"

namespace nervex::extender {
namespace {

struct GroupWork {
  const GroupSeen* seen = nullptr;
  std::vector<GangWork> gangs;
};

// The status has all that the spec asks for, and no more: nobody has edited it.
bool is_whole(const gang::PodGroup& group) {
  std::size_t slots = 0;
  std::size_t places = 0;
  std::unordered_map<std::string_view, std::size_t> slots_of;  // by gang; each pass asks each group
  for (const gang::MemberSet& set : group.spec.members) {
    slots_of[set.gang] += set.slots.size();
    slots += set.slots.size();
  }
  for (const gang::GangStatus& gang : group.status.gangs) {
    const auto asked = slots_of.find(gang.name);
    if (gang.placements.size() != (asked == slots_of.end() ? 0 : asked->second)) return false;
    places += gang.placements.size();
  }
  return slots == places;
}

// All is placed and committed: only a new spec brings new work.
bool is_settled(const gang::PodGroup& group) {
  return group.status.observed_generation == group.meta.generation && is_whole(group) &&
         std::all_of(group.status.gangs.begin(), group.status.gangs.end(),
                     [](const gang::GangStatus& gang) { return gang.planned && gang.committed; });
}

auto queue_key(const gang::PodGroup& group) {
  return std::tuple(-std::int64_t{group.spec.priority}, group.spec.queued_since,
                    std::string_view(group.meta.ns), std::string_view(group.meta.name));
}

std::vector<GroupWork> queue_of(const Snapshot& snapshot) {
  std::vector<GroupWork> queue;
  for (const GroupSeen& seen : snapshot.groups) {
    if (seen.group->meta.deleting || (!seen.in_doubt && is_settled(*seen.group))) continue;
    queue.push_back({&seen, gangs_of(seen)});
  }
  std::sort(queue.begin(), queue.end(), [](const GroupWork& a, const GroupWork& b) {
    return queue_key(*a.seen->group) < queue_key(*b.seen->group);
  });
  return queue;
}

// Uncommitted plans take their room in the order of the queue, so that of two that overlap the
// later one yields. What is in doubt may have been stored: its room is nobody else's.
void take_planned(std::vector<GroupWork>& queue, Ledger& ledger) {
  for (GroupWork& work : queue) {
    for (GangWork& gang : work.gangs) {
      if (work.seen->in_doubt && !gang.committed) hold_blindly(gang, ledger);
    }
  }
  for (GroupWork& work : queue) {
    if (work.seen->in_doubt) continue;
    for (GangWork& gang : work.gangs) recheck(gang, ledger);
  }
}

// Gives every gang its places that can have them now. Whoever waits is asked once more after the
// last one got its places, so that its explanation tells what is left for it in the end.
void place_all(std::vector<GroupWork>& queue, Ledger& ledger) {
  for (bool again = true; again;) {
    again = false;
    for (GroupWork& work : queue) {
      if (work.seen->in_doubt) continue;
      for (GangWork& gang : work.gangs) {
        if (gang.holds && gang.missing.empty()) continue;
        gang.no_fit = complete(gang, ledger);
        again = again || !gang.no_fit;
      }
    }
  }
}

// A place that is as it was keeps its number; every other one gets the next.
std::vector<gang::Placement> number_places(const GangWork& work, std::int64_t& next) {
  std::vector<gang::Placement> places;
  for (const PlacedSlot& slot : work.placed) places.push_back(slot.placement);
  const auto key = [](const gang::Placement& place) { return std::tie(place.role, place.slot); };
  std::sort(places.begin(), places.end(),
            [&](const gang::Placement& a, const gang::Placement& b) { return key(a) < key(b); });
  std::map<std::tuple<std::string_view, gang::SlotId, std::string_view>, std::int64_t> numbers;
  if (work.before != nullptr) {
    for (const auto& [role, slot, node, number] : work.before->placements) {
      numbers.emplace(std::tuple(std::string_view(role), slot, std::string_view(node)), number);
    }
  }
  for (gang::Placement& place : places) {
    if (place.number != 0) continue;
    const auto known = numbers.find({place.role, place.slot, place.node});
    place.number = known == numbers.end() ? next++ : known->second;
  }
  return places;
}

struct Decided {
  gang::GangStatus status;
  Verdict verdict;
};

Decided decide(const GangWork& work, const Told* told, std::int64_t& next, SysTime now) {
  Decided out;
  out.verdict = work.no_fit ? waiting_verdict(work.before, *work.no_fit, told, now)
                            : planned_verdict(work.before, work.wanted(), now);
  out.status.name = work.name;
  out.status.planned = !work.no_fit;
  out.status.committed = work.before != nullptr && work.before->committed;
  out.status.reason = out.verdict.reason;
  out.status.message = out.verdict.message;
  out.status.since = out.verdict.since;
  out.status.placements = number_places(work, next);
  return out;
}

void decide_group(const GroupWork& work, const Memory& memory, SysTime now, PassResult& out) {
  const gang::PodGroup& group = *work.seen->group;
  gang::PodGroupStatus status;
  status.observed_generation = group.meta.generation;
  status.next_placement = group.status.next_placement;
  for (const GangWork& gang : work.gangs) {
    const auto key = std::pair(group.meta.uid, gang.name);
    const auto told = memory.find(key);
    Decided decided =
        decide(gang, told == memory.end() ? nullptr : &told->second, status.next_placement, now);
    status.gangs.push_back(std::move(decided.status));
    if (decided.verdict.told) out.memory.emplace(key, *std::move(decided.verdict.told));
    const auto again = decided.verdict.retell_after;
    if (again && (!out.look_again || *again < *out.look_again)) out.look_again = again;
  }
  if (status != group.status) out.writes.push_back({work.seen->group, std::move(status)});
}

}  // namespace

PassResult run_pass(const Snapshot& snapshot, const Memory& memory, SysTime now) {
  PassResult out;
  Ledger ledger(snapshot.nodes);
  std::vector<GroupWork> queue = queue_of(snapshot);
  take_planned(queue, ledger);
  place_all(queue, ledger);
  for (const GroupWork& work : queue) {
    if (!work.seen->in_doubt) decide_group(work, memory, now, out);
  }
  return out;
}

}  // namespace nervex::extender
