#include "extender/cycle/scheduling_cycle.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <variant>

#include "extender/cycle/direct_placement.h"
#include "extender/cycle/enlarged.h"
#include "extender/cycle/gang_work.h"
#include "extender/cycle/ledger.h"
#include "extender/cycle/quotas.h"
#include "extender/cycle/reserved_places.h"
#include "extender/recovery/refusals.h"
#include "extender/recovery/yielding_plans.h"
#include "gang/slot.h"
#include "queue/order.h"

namespace nervex::extender {
namespace {

struct GroupWork {
  const GroupSeen* seen = nullptr;
  std::vector<GangWork> gangs;
  const Rejection* rejection = nullptr;
  ReservedPlaces reserved;               // of the committed base gang
  std::vector<gang::AvoidedNode> avoid;  // as the status has it, and what was learned since

  int priority() const { return seen->group->spec.priority; }
  queue::Rank rank() const { return queue::rank(*seen->group); }
  bool is_rejected(Rejection::Extent extent) const {
    return rejection != nullptr && rejection->extent >= extent;
  }
  // Its status is not written.
  bool is_left_alone() const {
    return seen->unconfirmed || is_rejected(Rejection::Extent::kAnyStatus);
  }
};

// The status has exactly what the spec wants.
bool is_whole(const gang::PodGroup& group) {
  std::size_t slots = 0;
  std::size_t placements = 0;
  std::unordered_map<std::string_view, std::size_t>
      slots_by_gang;  // by gang; this runs for each group in each cycle
  for (const gang::Gang& gang : group.spec.gangs) {
    std::size_t& in_gang = slots_by_gang[gang.name];
    for (const gang::MemberSet& set : gang.members) in_gang += set.slots.size();
    slots += in_gang;
  }
  for (const gang::GangStatus& gang : group.status.gangs) {
    const auto asked = slots_by_gang.find(gang.name);
    if (gang.placements.size() != (asked == slots_by_gang.end() ? 0 : asked->second)) return false;
    placements += gang.placements.size();
  }
  return slots == placements;
}

// Capacity without a pod needs checks: its nodes may be lost.
bool reserves_capacity(const gang::PodGroup& group) {
  const auto sets = gang::all_sets(group.spec.gangs);
  return std::any_of(sets.begin(), sets.end(),
                     [](const auto& set) { return set.reserved_pods > 0; }) ||
         std::any_of(group.status.gangs.begin(), group.status.gangs.end(),
                     [](const auto& gang) { return !gang.reserved.empty(); });
}

// The unit that the queue orders.
using Work = std::variant<GroupWork*, ForeignWork*>;

template <typename... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <typename... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

// All gangs in the order of the queue; each kind is sorted.
std::vector<Work> merge(std::vector<GroupWork>& groups, std::vector<ForeignWork>& foreign) {
  std::vector<Work> works;
  works.reserve(groups.size() + foreign.size());
  for (GroupWork& group : groups) works.emplace_back(&group);
  for (ForeignWork& gang : foreign) works.emplace_back(&gang);
  if (foreign.empty()) return works;
  std::stable_sort(works.begin(), works.end(), [](const Work& a, const Work& b) {
    const auto rank = [](const auto* work) { return work->rank(); };
    return std::visit(rank, a) < std::visit(rank, b);
  });
  return works;
}

std::vector<ForeignWork> collect_foreign_work(const Snapshot& snapshot, const ForeignMemory& memory,
                                              SysTime now) {
  std::vector<ForeignWork> works;
  works.reserve(snapshot.foreign.size());
  for (const ForeignGangSeen& seen : snapshot.foreign) {
    if (seen.group->meta.deleting) continue;
    const auto known = memory.gangs.find(seen.key());
    works.emplace_back(seen, known == memory.gangs.end() ? nullptr : &known->second, now);
  }
  return works;
}

const Rejection* find_rejection(const gang::PodGroup& group, const Rejections& rejections) {
  const auto found = rejections.find(group.meta.uid);
  const bool is_known = found != rejections.end();
  return is_known && found->second.generation == group.meta.generation ? &found->second : nullptr;
}

// Applies kube-scheduler's earlier refusals.
void heed_refusals(GroupWork& work, SysTime now) {
  const auto limits = collect_node_limits(work.avoid, now);
  for (GangWork& gang : work.gangs) {
    gang.limits = limits;
    gang.is_paused = !gang.committed && gang.before != nullptr && is_paused(*gang.before, now);
  }
}

// Until when nothing needs a decision in a group that is settled except for unbound pods: its gangs
// have just been committed, and the nodes have not changed. Nearly all open groups are such, and
// checking every slot of a large gang after each bind would cost more than the rest of the cycle.
// nullopt: there may be something to decide.
std::optional<SysTime> starts_until(const GroupSeen& seen, const Ledger& ledger,
                                    const Healing& healing) {
  std::optional<SysTime> until;
  for (const gang::GangStatus& gang : seen.group->status.gangs) {
    const auto known = healing.memory.incomplete.find({seen.group->meta.uid, gang.name});
    if (known == healing.memory.incomplete.end()) continue;
    const SysTime late = known->second.since + healing.options.bind_deadline;
    until = until ? std::min(*until, late) : late;
  }
  const bool is_plain = std::all_of(seen.open.begin(), seen.open.end(), [&](const OpenSlot& open) {
    const bool is_starting =
        open.why == OpenSlot::Why::kUnbound || open.why == OpenSlot::Why::kNotStarted;
    return is_starting && ledger.is_plain(open.placement.node);
  });
  return is_plain ? until : std::nullopt;
}

void note_look(CycleResult& out, std::optional<SysTime> at, SysTime now) {
  if (!at) return;
  const auto left = std::max(*at - now, std::chrono::milliseconds(1));
  if (!out.look_again || left < *out.look_again) out.look_again = left;
}

void keep_rejections(const GroupSeen& seen, const HealingMemory& from, HealingMemory& to) {
  for (const auto& [set, node, times] : seen.rejections) {
    const auto known = from.rejections.find({seen.group->meta.uid, set, node});
    if (known != from.rejections.end()) to.rejections.insert(*known);
  }
}

bool may_wait(const GroupSeen& seen, const Ledger& ledger, const Healing& healing, SysTime now,
              CycleResult& out) {
  if (seen.unconfirmed || seen.is_restored) return false;
  if (!is_settled(*seen.group, seen.enlarged)) return false;
  if (seen.open.empty()) {
    keep_rejections(seen, healing.memory, out.healing);
    return true;
  }
  const auto until = starts_until(seen, ledger, healing);
  if (!until || *until <= now) return false;
  for (const gang::GangStatus& gang : seen.group->status.gangs) {
    const auto known = healing.memory.incomplete.find({seen.group->meta.uid, gang.name});
    if (known != healing.memory.incomplete.end()) out.healing.incomplete.insert(*known);
  }
  keep_rejections(seen, healing.memory, out.healing);
  note_look(out, until, now);
  return true;
}

std::vector<GroupWork> build_queue(const Snapshot& snapshot, const Ledger& ledger,
                                   const Rejections& rejections, const Healing& healing,
                                   SysTime now, CycleResult& out) {
  std::vector<GroupWork> queue;
  for (const GroupSeen& seen : snapshot.groups) {
    if (seen.group->meta.deleting || may_wait(seen, ledger, healing, now, out)) continue;
    queue.push_back({&seen,
                     collect_gang_work(seen),
                     find_rejection(*seen.group, rejections),
                     ReservedPlaces(seen),
                     {}});
    GroupWork& work = queue.back();
    work.avoid = note_rejections(seen, work.gangs, now, healing.memory, out.healing);
    heed_refusals(queue.back(), now);
  }
  std::sort(queue.begin(), queue.end(),
            [](const GroupWork& a, const GroupWork& b) { return a.rank() < b.rank(); });
  return queue;
}

// Uncommitted plans take their capacity in the order of the queue, so that of two that overlap the
// later one yields. An unconfirmed write may have been stored: its capacity stays reserved.
void take_planned(std::vector<GroupWork>& queue, const std::vector<Work>& works, Ledger& ledger) {
  for (GroupWork& work : queue) {
    for (GangWork& gang : work.gangs) {
      if (work.seen->unconfirmed) take_unchecked(gang, ledger);
    }
  }
  const Overloaded take{
      [&](ForeignWork* foreign) { foreign->recheck(ledger); },
      [&](GroupWork* group) {
        if (group->seen->unconfirmed) return;
        ledger.count_for(group->priority());
        for (GangWork& gang : group->gangs) recheck(gang, ledger);
      },
  };
  for (const Work& work : works) std::visit(take, work);
}

// Before any capacity is assigned: committed gangs lose unbindable placements.
void look_at_committed(std::vector<GroupWork>& queue, const Ledger& ledger) {
  for (GroupWork& work : queue) {
    for (GangWork& gang : work.gangs) {
      if (gang.is_stored_committed && !work.seen->unconfirmed) drop_unbindable(gang, ledger);
    }
  }
}

// A plan that the API server rejects takes no capacity from others.
void drop_rejected(std::vector<GroupWork>& queue) {
  for (GroupWork& work : queue) {
    for (GangWork& gang : work.gangs) {
      const auto extent =
          gang.committed ? Rejection::Extent::kNewPlacements : Rejection::Extent::kNewGangs;
      if (!gang.is_rejected && !gang.is_whole() && work.is_rejected(extent)) reject(gang);
    }
  }
}

// Looks for nodes, unless none is known to fit.
class Placing {
 public:
  Placing(const Snapshot& snapshot, const WaitingGangs& waiting, SysTime now, CycleResult& out)
      : waiting_(waiting), now_(now), out_(out) {
    const auto& foreign = snapshot.foreign;
    out_.waits_otherwise = std::any_of(foreign.begin(), foreign.end(),
                                       [](const auto& seen) { return !seen.pending.empty(); });
  }

  std::optional<placement::NoFit> complete(GroupWork& work, GangWork& gang, Ledger& ledger) {
    const GangKey key(work.seen->group->meta.uid, gang.name);
    const bool may_remember = !gang.committed && !gang.claims_reserved();
    // The nodes do not show yet what was given back in this cycle.
    if (may_remember && gang.placed.empty() && !ledger.has_given_back()) {
      if (auto known = waiting_.still_refused(key, gang.missing, gang.limits, now_)) {
        placement::NoFit no_fit = known->no_fit;
        out_.refused.insert_or_assign(key, std::move(known));
        return no_fit;
      }
    }
    ++out_.planned;
    auto no_fit = work.reserved.complete(gang, ledger);
    out_.refused.erase(key);
    if (!no_fit) return no_fit;
    if (may_remember && gang.placed.empty()) {
      const RefusedGang refused{gang.missing, gang.limits, *no_fit, now_};
      out_.refused.emplace(key, std::make_shared<const RefusedGang>(refused));
    } else {
      out_.waits_otherwise = true;
    }
    return no_fit;
  }

 private:
  const WaitingGangs& waiting_;
  const SysTime now_;
  CycleResult& out_;
};

std::optional<placement::NoFit> complete_within_quota(GroupWork& work, GangWork& gang,
                                                      Ledger& ledger, Quotas& quotas,
                                                      Placing& placing) {
  const GroupSeen& seen = *work.seen;
  auto no_fit = quotas.exceeded_by(seen, gang);
  if (no_fit) {
    if (!gang.placed.empty()) ledger.note_dropped_plan();
    drop_plan(gang);
  } else {
    no_fit = placing.complete(work, gang, ledger);
  }
  if (!no_fit || (gang.committed && !gang::is_over_quota(*no_fit))) {
    quotas.take(seen, gang);
  } else if (!gang.committed) {
    quotas.give_back(seen, gang);
  }
  return no_fit;
}

// Last, after slots without any placement: only the scheduler's view may be the problem.
void move_refused(std::vector<GroupWork>& queue, Ledger& ledger, const HealingOptions& options,
                  SysTime now, CycleResult& out) {
  const auto move = [&](GroupWork& work, GangWork& gang, const OpenSlot& open) {
    const auto at = std::find_if(gang.placed.begin(), gang.placed.end(), [&](const auto& slot) {
      return slot.placement.number == open.placement.number;
    });
    if (at == gang.placed.end()) return;
    const SysTime due = open.since + options.bind_deadline;
    if (is_no_nodes_fault(open.message)) return;
    if (due > now) return note_look(out, due, now);
    if (!move_slot(gang, *at, ledger)) return;
    gang.losses.push_back(
        fmt::format("{} was refused on node {} by kube-scheduler: {}",
                    gang::slot_key(open.placement.role, open.placement.slot.ordinal),
                    open.placement.node, open.message));
    note_refusal(work.avoid, gang, at->set->name, open.placement.node, now);
  };
  for (GroupWork& work : queue) {
    if (work.is_left_alone()) continue;
    ledger.count_for(work.priority());
    for (GangWork& gang : work.gangs) {
      const bool may_move = gang.is_stored_committed && !gang.is_rejected;
      for (const OpenSlot* open : gang.open) {
        if (may_move && open->why == OpenSlot::Why::kRefused) move(work, gang, *open);
      }
    }
  }
}

// The controller is about to release it: it gets no placement at the expense of others.
bool is_given_up(const GangWork& gang) {
  return gang.before != nullptr && gang.before->reason == gang::kReasonHealingTimeout;
}

std::vector<OpenPlan> open_plans(const std::vector<Work>& works) {
  std::vector<OpenPlan> plans;
  const Overloaded add{
      [&](ForeignWork* foreign) {
        if (foreign->is_reserved()) plans.push_back({nullptr, foreign, 0});
      },
      [&](GroupWork* group) {
        if (group->seen->unconfirmed) return;
        for (GangWork& gang : group->gangs) {
          if (gang.committed || !gang.is_reserved) continue;
          plans.push_back({&gang, nullptr, group->priority()});
        }
      },
  };
  for (const Work& work : works) std::visit(add, work);
  return plans;
}

// Pods that the cluster has stopped: the controller is about to want the next incarnations of their
// slots. Until it does, the capacity that they will need is kept from others.
void keep_for_successors(const GangWork& gang, Ledger& ledger, CycleResult& out) {
  std::map<const gang::MemberSet*, int> stopped;
  for (const OpenSlot* open : gang.open) {
    if (open->why != OpenSlot::Why::kTakenAway && open->why != OpenSlot::Why::kNodeLost) continue;
    for (const PlacedSlot& slot : gang.placed) {
      if (slot.placement.number == open->placement.number) ++stopped[slot.set];
    }
  }
  for (const auto& [set, count] : stopped) {
    const TakenDomains taken = taken_domains(gang, ledger);
    for (const std::string& node : find_nodes(*set, count, ledger, limits_left(gang), taken)) {
      ledger.take(*set, node);
      out.may_fit_soon = true;
    }
  }
}

// Before anything starts, at any priority: waiting gangs must not keep a running gang incomplete,
// which would end with all its pods at the healing deadline.
void heal(std::vector<GroupWork>& queue, const std::vector<Work>& works, Ledger& ledger,
          Quotas& quotas, Placing& placing, CycleResult& out) {
  for (GroupWork& work : queue) {
    if (work.seen->unconfirmed) continue;
    for (GangWork& gang : work.gangs) {
      if (!gang.committed || gang.is_whole() || gang.is_rejected) continue;
      ledger.count_for(work.priority());
      gang.no_fit = complete_within_quota(work, gang, ledger, quotas, placing);
      if (!gang.no_fit || gang::is_over_quota(*gang.no_fit) || is_given_up(gang)) continue;
      gang.no_fit = work.reserved.heal(gang, ledger);
      if (gang.no_fit) gang.no_fit = displace_plans(open_plans(works), gang, ledger);
    }
  }
  for (const GroupWork& work : queue) {
    ledger.count_for(work.priority());
    for (const GangWork& gang : work.gangs) {
      if (gang.is_stored_committed && !is_given_up(gang)) keep_for_successors(gang, ledger, out);
    }
  }
  for (const Work& work : works) {
    const auto* foreign = std::get_if<ForeignWork*>(&work);
    if (foreign != nullptr && (*foreign)->runs_in_part()) (*foreign)->complete(ledger);
  }
}

// Requests that take over reserved capacity come first: no other gang may get it.
void place_on_reserved(std::vector<GroupWork>& queue, Ledger& ledger, Quotas& quotas,
                       Placing& placing) {
  for (GroupWork& work : queue) {
    ledger.count_for(work.priority());
    if (!work.seen->unconfirmed) work.reserved.hand_over(work.gangs, ledger);
  }
  for (GroupWork& work : queue) {
    ledger.count_for(work.priority());
    for (GangWork& gang : work.gangs) {
      const bool may_claim = !work.seen->unconfirmed && !gang.is_rejected && !gang.is_paused;
      if (!may_claim || !gang.claims_reserved()) continue;
      gang.no_fit = complete_within_quota(work, gang, ledger, quotas, placing);
    }
  }
}

// True if a gang got its placements.
bool place_group(GroupWork& work, Ledger& ledger, Quotas& quotas, Placing& placing) {
  if (work.seen->unconfirmed) return false;
  bool is_any_placed = false;
  ledger.count_for(work.priority());
  for (GangWork& gang : work.gangs) {
    if (gang.is_whole() || gang.is_rejected || gang.is_paused) continue;
    gang.no_fit = complete_within_quota(work, gang, ledger, quotas, placing);
    is_any_placed = is_any_placed || !gang.no_fit;
  }
  if (!work.gangs.empty()) work.reserved.restore(ledger, work.gangs.front());
  return is_any_placed;
}

// Gives every gang that fits now its placements. The gangs that wait are tried once more after the
// last one got its placements, so that their explanations count the final free capacity.
void place_all(const std::vector<Work>& works, Ledger& ledger, Quotas& quotas, Placing& placing) {
  const Overloaded place{
      [&](ForeignWork* foreign) { return foreign->complete(ledger); },
      [&](GroupWork* group) { return place_group(*group, ledger, quotas, placing); },
  };
  for (bool again = true; again;) {
    again = false;
    for (const Work& work : works) again = std::visit(place, work) || again;
  }
}

// The numbers of a status' placements, in any gang.
class Numbers {
 public:
  explicit Numbers(const gang::PodGroupStatus& status) : next_(status.next_placement) {
    for (const gang::GangStatus& gang : status.gangs) {
      for (const auto& [role, slot, node, number] : gang.placements) {
        known_.emplace(std::tuple(std::string_view(role), slot, std::string_view(node)), number);
      }
    }
  }

  // A placement that is as it was keeps its number; every other one gets the next.
  std::vector<gang::Placement> number_placements(const GangWork& work) {
    std::vector<gang::Placement> placements;
    for (const PlacedSlot& slot : work.placed) {
      if (!gang::is_reserved_slot(slot.placement.slot)) placements.push_back(slot.placement);
    }
    std::sort(placements.begin(), placements.end(),
              [](const gang::Placement& a, const gang::Placement& b) {
                return std::tie(a.role, a.slot) < std::tie(b.role, b.slot);
              });
    for (gang::Placement& placement : placements) {
      if (placement.number != 0) continue;
      const auto known = known_.find({placement.role, placement.slot, placement.node});
      placement.number = known == known_.end() ? next_++ : known->second;
    }
    return placements;
  }
  std::int64_t next() const { return next_; }

 private:
  std::int64_t next_;
  std::map<std::tuple<std::string_view, gang::SlotId, std::string_view>, std::int64_t> known_;
};

struct Decided {
  gang::GangStatus status;
  GangReport report;
};

GangReport make_report(const GangWork& work, const Rejection* rejection,
                       const LastReported* last_reported,
                       const std::optional<HealingState>& healing, SysTime now) {
  const bool is_shown = healing && healing->is_shown;
  if (is_shown && (healing->is_over || (!work.no_fit && !work.is_rejected))) {
    return healing_report(work.before, *healing, work.no_fit ? &*work.no_fit : nullptr, now);
  }
  if (work.is_rejected) return rejected_report(work.before, work.wanted(), rejection->message, now);
  if (work.is_paused) return paused_report(*work.before, now);
  if (!work.no_fit) return planned_report(work.before, work.wanted(), now);
  const std::string loss = is_shown ? healing_text(*healing, false) + "; no place yet: " : "";
  return waiting_report(work.before, *work.no_fit, last_reported, now, loss);
}

Decided decide(const GangWork& work, const Rejection* rejection, const LastReported* last_reported,
               const std::optional<HealingState>& healing, Numbers& numbers, SysTime now) {
  Decided out;
  out.report = make_report(work, rejection, last_reported, healing, now);
  if (healing && healing->is_shown) {
    out.status.healing_since = healing->since;
    out.status.healing_cause = healing->cause;
  }
  out.status.name = work.name;
  out.status.planned = !work.no_fit && !work.is_rejected && !work.is_paused;
  out.status.committed = work.is_stored_committed;
  out.status.reason = out.report.reason;
  out.status.message = out.report.message;
  out.status.cause = out.report.cause;
  out.status.since = out.report.since;
  out.status.placements = numbers.number_placements(work);
  if (out.status.planned && may_commit_when_planned(work)) {
    commit_directly(out.status);
  } else if (work.is_stored_committed && work.before != nullptr) {
    out.status.direct_through = work.before->direct_through;
  }
  if (work.before != nullptr && !work.is_stored_committed) {
    out.status.refusals = work.before->refusals;
  }
  return out;
}

// The base gang's reserved capacity for its status: planned with it, or kept since its commit.
std::vector<gang::ReservedCapacity> collect_reserved(const GroupWork& group, const GangWork& gang) {
  if (gang.kind != gang::GangKind::kBase) return {};
  if (gang.committed) return group.reserved.places();
  PodCounts counts;
  for (const PlacedSlot& slot : gang.placed) {
    if (gang::is_reserved_slot(slot.placement.slot)) {
      ++counts[{slot.set->name, slot.placement.node}];
    }
  }
  return reserved_capacity(counts);
}

void add_reserved(const GroupWork& group, const GangWork& gang, gang::GangStatus& status) {
  status.reserved = collect_reserved(group, gang);
  if (gang.kind != gang::GangKind::kBase || !status.planned) return;
  const std::string text = describe_reserved(*group.seen->group, status.reserved);
  // An unchanged message has it already.
  if (!text.empty() && !status.message.ends_with(text)) status.message += "; " + text;
}

// A waiting gang may get nodes by the passing of time alone.
void look_when_not_avoided(const GroupWork& work, SysTime now, CycleResult& out) {
  const auto waits = [](const GangWork& gang) { return gang.no_fit.has_value(); };
  if (!std::any_of(work.gangs.begin(), work.gangs.end(), waits)) return;
  note_look(out, avoided_until(work.avoid, now), now);
}

void decide_group(const GroupWork& work, const Memory& memory, const Healing& healing, SysTime now,
                  CycleResult& out) {
  const gang::PodGroup& group = *work.seen->group;
  gang::PodGroupStatus status;
  status.observed_generation = group.meta.generation;
  Numbers numbers(group.status);
  for (const GangWork& gang : work.gangs) {
    const auto key = std::pair(group.meta.uid, gang.name);
    const auto last_reported = memory.find(key);
    const auto healed = judge_healing(gang, now, healing);
    if (healed) {
      out.healing.incomplete.emplace(key, HealingMemory::Incomplete{healed->since, healed->cause});
      note_look(out, healed->look_again, now);
    }
    Decided decided = decide(gang, work.rejection,
                             last_reported == memory.end() ? nullptr : &last_reported->second,
                             healed, numbers, now);
    add_reserved(work, gang, decided.status);
    status.gangs.push_back(std::move(decided.status));
    if (decided.report.last_reported)
      out.memory.emplace(key, *std::move(decided.report.last_reported));
    if (const auto again = decided.report.refresh_after) note_look(out, now + *again, now);
  }
  status.next_placement = numbers.next();
  status.avoid = work.avoid;
  EnlargedSets enlarged = age_enlarged(work.seen->enlarged, work.gangs, now);
  status.enlarged = std::move(enlarged.sets);
  note_look(out, enlarged.look_again, now);
  look_when_not_avoided(work, now, out);
  if (status == group.status && !work.seen->is_restored) return;
  status.avoid = still_of_use(std::move(status.avoid), now);
  out.writes.push_back({work.seen->group, std::move(status)});
}

}  // namespace

bool is_settled(const gang::PodGroup& group, const std::vector<gang::EnlargedSet>& enlarged) {
  return enlarged == group.status.enlarged &&
         group.status.observed_generation == group.meta.generation && is_whole(group) &&
         !reserves_capacity(group) &&
         std::all_of(group.status.gangs.begin(), group.status.gangs.end(),
                     [](const gang::GangStatus& gang) {
                       return gang.planned && gang.committed && !gang.healing_since;
                     });
}

CycleResult run_cycle(const Snapshot& snapshot, const Memory& memory, SysTime now,
                      const Rejections& rejections, const Healing& healing,
                      const ForeignMemory& memory_of_foreign, const WaitingGangs& waiting) {
  CycleResult out;
  Ledger ledger(snapshot.nodes, snapshot.nominated);
  Quotas quotas(snapshot);
  std::vector<GroupWork> queue = build_queue(snapshot, ledger, rejections, healing, now, out);
  std::vector<ForeignWork> foreign = collect_foreign_work(snapshot, memory_of_foreign, now);
  const std::vector<Work> works = merge(queue, foreign);
  look_at_committed(queue, ledger);
  for (GroupWork& work : queue) {
    ledger.count_for(work.priority());
    if (!work.seen->unconfirmed) work.reserved.leave_overfull_nodes(ledger);
  }
  take_planned(queue, works, ledger);
  drop_rejected(queue);
  Placing placing(snapshot, waiting, now, out);
  heal(queue, works, ledger, quotas, placing, out);
  drop_rejected(queue);  // plans that gave way
  move_refused(queue, ledger, healing.options, now, out);
  place_on_reserved(queue, ledger, quotas, placing);
  place_all(works, ledger, quotas, placing);
  for (const GroupWork& work : queue) {
    if (!work.is_left_alone()) decide_group(work, memory, healing, now, out);
    // What it has reserved may be lacking in part, or is to be moved; for a slot that
    // kube-scheduler refuses another node is searched.
    const auto& open = work.seen->open;
    out.waits_otherwise = out.waits_otherwise || reserves_capacity(*work.seen->group) ||
                          std::any_of(open.begin(), open.end(), [](const OpenSlot& slot) {
                            return slot.why == OpenSlot::Why::kRefused;
                          });
  }
  for (const ForeignWork& work : foreign) {
    out.may_fit_soon = out.may_fit_soon || work.holds_unseen();
    out.foreign.push_back(work.decide());
    note_look(out, out.foreign.back().look_again, now);
  }
  return out;
}

// -- what does a gang's status report?

namespace {

GangReport with_reason(const gang::GangStatus* before, std::string_view reason, SysTime now) {
  const bool same = before != nullptr && before->reason == reason;
  return GangReport{std::string(reason), "", same ? before->since : now, {}, {}, {}};
}

}  // namespace

GangReport planned_report(const gang::GangStatus* before, std::size_t pods, SysTime now) {
  GangReport report = with_reason(before, gang::kReasonPlanned, now);
  report.message = pods == 1 ? "1 pod is placed" : fmt::format("{} pods are placed", pods);
  if (before != nullptr && before->refusals.count > 0) {
    report.message += "; before, " + before->refusals.message;
  }
  return report;
}

GangReport paused_report(const gang::GangStatus& before, SysTime now) {
  GangReport report = with_reason(&before, before.reason, now);
  report.message = before.message;
  report.cause = before.cause;
  report.refresh_after = before.refusals.plan_after - now;
  return report;
}

GangReport healing_report(const gang::GangStatus* before, const HealingState& state,
                          const placement::NoFit* no_fit, SysTime now) {
  const auto reason = state.is_over ? gang::kReasonHealingTimeout : gang::kReasonHealing;
  GangReport report = with_reason(before, reason, now);
  report.message = healing_text(state, no_fit == nullptr);
  // Only the numbers of the explanation changed, and it is too early to write them again.
  const bool is_same = before != nullptr && before->reason == reason;
  if (is_same && state.is_over) report.message = before->message;
  if (is_same) report.cause = before->cause;
  if (is_same || no_fit == nullptr) return report;
  report.message += "; " + placement::explain(*no_fit);
  report.cause = *no_fit;
  return report;
}

GangReport rejected_report(const gang::GangStatus* before, std::size_t pods,
                           std::string_view message, SysTime now) {
  GangReport report = with_reason(before, gang::kReasonPlanRefused, now);
  report.message =
      fmt::format("the API server does not store the plan of {} pod{}: {}; ask for fewer pods",
                  pods, pods == 1 ? "" : "s", message);
  return report;
}

GangReport waiting_report(const gang::GangStatus* before, const placement::NoFit& no_fit,
                          const LastReported* last_reported, SysTime now, const std::string& loss) {
  const auto reason =
      gang::is_over_quota(no_fit) ? gang::kReasonOverQuota : gang::kReasonUnschedulable;
  GangReport report = with_reason(before, reason, now);
  report.message = loss + placement::explain(no_fit);
  if (before != nullptr && before->refusals.count > 0) {
    report.message += "; " + before->refusals.message;
  }
  report.cause = no_fit;
  report.last_reported = LastReported{no_fit, now};
  const bool was_waiting = before != nullptr && before->reason == reason;
  if (!was_waiting || last_reported == nullptr) return report;
  const bool only_numbers =
      gang::same_cause(last_reported->no_fit, no_fit) && before->message.starts_with(loss);
  const SysTime due = last_reported->at + kMessageRefreshPeriod;
  if (before->message != report.message && (!only_numbers || now >= due)) return report;
  if (before->message != report.message) report.refresh_after = due - now;
  report.message = before->message;
  report.cause = last_reported->no_fit;
  report.last_reported = *last_reported;
  return report;
}

}  // namespace nervex::extender
