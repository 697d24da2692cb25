#include "planner/reservation/reserve.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "planner/preemption/victim_trials.h"
#include "planner/reservation/choose_nodes.h"
#include "planner/reserved_nodes/tenants.h"
#include "planner/steps/limit_shares.h"
#include "planner/work/queue_use.h"
#include "planner/work/start_blocker.h"

namespace nervex::planner {
namespace {

using std::chrono::seconds;
using Outcome = gang::PreemptionOutcome;

// A search that found nothing is repeated after this.
constexpr seconds kReserveSearchAgain{30};
constexpr seconds kReserveSearchPause{1};
// So long after it is due a head waits for what ends on other nodes: gangs that are served before
// it may get that.
constexpr seconds kLongestElsewhere{60};
// After a reservation has lapsed.
constexpr seconds kLapsedLook{1};
// After the API server has rejected what it was to store.
constexpr seconds kLongestReclaimPause{300};
// As in the schema of PodGroups.
constexpr std::size_t kMostReclaimed = 1'024;

// A time that is too far ahead was noted by a clock that was wrong: it does not count.
bool is_credible(SysTime time, seconds period, SysTime now) { return time <= now + 2 * period; }

std::optional<SysTime> find_known(const std::map<GangKey, SysTime>& times, const GangKey& key) {
  const auto known = times.find(key);
  return known == times.end() ? std::nullopt : std::optional(known->second);
}

class Reserver {
 public:
  Reserver(const CycleFacts& facts, CycleWork& work, Placer& placer, const QueueState& queues,
           ReservationMemory& memory, NextLook& next_look)
      : facts_(facts),
        tree_(facts.tree()),
        work_(work),
        placer_(placer),
        reserved_(placer.reserved()),
        queues_(queues),
        options_(facts.options.reservation),
        memory_(memory),
        now_(facts.now),
        next_look_(next_look) {
    for (std::size_t i = 0; i < queues.refused.size(); ++i) {
      turns_.emplace(queues.refused[i].gang, i);
    }
  }

  // Of the two kinds of searches those that end a wait come first.
  void run() {
    lapse_idle();
    if (!options_.is_on()) return;
    if (options_.may_begin) {
      reclaim_due();
      search_due();
    }
    // What ends on reserved nodes may be the last that keeps a gang from taking back the others.
    if (count() > 0) placer_.waits_otherwise = true;
  }

 private:
  std::size_t count() const {
    const auto& entries = reserved_.entries();
    const auto kept =
        std::count_if(entries.begin(), entries.end(), [](const auto& one) { return !one.is_over; });
    return static_cast<std::size_t>(kept) + reserved_.reclaiming() +
           (reserved_.has_new() ? 1U : 0U);
  }
  static GangKey key(const RefusedTurn& turn) {
    return {turn.group->seen->group->meta.uid, turn.gang->name};
  }
  const queue::Workload& workload(const RefusedTurn& turn) const {
    return queues_.waiting[turn.workload];
  }
  queue::QueueIndex find_queue(const RefusedTurn& turn) const {
    return tree_.find(workload(turn).queue).value_or(queue::kRoot);
  }
  bool is_asked(const RefusedTurn& turn) const {
    return !memory_.asked || *memory_.asked == key(turn);
  }
  // It waits for capacity, which an empty cluster has, and for nothing else.
  bool waits_for_capacity(const RefusedTurn& turn) const {
    if (find_start_blocker(*turn.group, *turn.gang)) return false;
    const gang::NoFit* why = find_shortage(turn, placer_);
    return why != nullptr && std::holds_alternative<gang::InsufficientCapacity>(*why);
  }

  // Also while it may use no node at all: if that lasts its reservation is impossible, and lapses.
  bool keeps_nodes(const RefusedTurn& turn) const {
    if (find_start_blocker(*turn.group, *turn.gang)) return false;
    const gang::NoFit* why = find_shortage(turn, placer_);
    return why != nullptr && (std::holds_alternative<gang::InsufficientCapacity>(*why) ||
                              std::holds_alternative<gang::NoNodeAllowed>(*why));
  }

  // Nodes are not kept for a gang that a rule keeps from starting, or that may not be planned for
  // long.
  void lapse_idle() {
    for (ReservedNodes::Entry& entry : reserved_.entries()) {
      if (entry.is_over || entry.group->seen->unconfirmed || is_back_soon(entry)) continue;
      const auto turn = turns_.find(entry.gang);
      const bool is_kept = turn != turns_.end() && keeps_nodes(queues_.refused[turn->second]) &&
                           is_of_use(queues_.refused[turn->second], entry);
      if (!is_kept) give_up(entry);
    }
  }
  // False: the gang is a request, and its job ends before or soon after the nodes become free.
  bool is_of_use(const RefusedTurn& turn, const ReservedNodes::Entry& entry) {
    const queue::Workload& head = workload(turn);
    const SysTime start = std::max(now_, entry.terms.due.value_or(now_));
    if (!queue::gains_enough(head, start)) return false;
    if (head.job_end) next_look_.at(*head.job_end - queue::kShortestGain + seconds(1));
    return true;
  }
  // Its plan was dropped a moment ago.
  bool is_back_soon(const ReservedNodes::Entry& entry) const {
    if (!entry.gang->plan_after) return false;
    next_look_.at(*entry.gang->plan_after);
    return *entry.gang->plan_after <= now_ + kLongestBroken;
  }
  void give_up(ReservedNodes::Entry& entry) {
    lapse(*entry.gang, now_);
    reserved_.end(*entry.gang);
    // Who was kept off may fit now. If this is not stored it is decided again.
    next_look_.at(now_ + kLapsedLook);
  }

  // One search in a cycle, of either kind, and then a pause.
  bool may_search() {
    // A clock that was set back does not stop searches.
    const bool is_paused =
        now_ < memory_.next_search && memory_.next_search <= now_ + kReserveSearchPause;
    if (!is_paused) {
      memory_.next_search = now_ + kReserveSearchPause;
      return true;
    }
    next_look_.at(memory_.next_search);
    return false;
  }
  // The last one that is served after this gang; null: none.
  ReservedNodes::Entry* find_later(const RefusedTurn& turn) {
    ReservedNodes::Entry* last = nullptr;
    for (ReservedNodes::Entry& entry : reserved_.entries()) {
      if (entry.is_over || is_before(entry, turn)) continue;
      if (last == nullptr || turns_.at(last->gang) < turns_.at(entry.gang)) last = &entry;
    }
    return last;
  }
  bool is_before(const ReservedNodes::Entry& entry, const RefusedTurn& turn) const {
    const auto at = turns_.find(entry.gang);
    return at == turns_.end() || &queues_.refused[at->second] < &turn;
  }
  // Nodes that are reserved for gangs before this one are not for it.
  VictimTrials make_trials(const RefusedTurn& turn) {
    ReservedNodes::Indices earlier;
    const auto& entries = reserved_.entries();
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const bool is_other = !entries[i].is_over && entries[i].gang != turn.gang;
      if (is_other && is_before(entries[i], turn)) earlier.push_back(i);
    }
    const queue::Preemptor preemptor{&workload(turn), find_queue(turn)};
    return planner::make_trials(*after_, facts_.queues(), turn, preemptor, placer_, earlier);
  }

  // ---- reserving nodes

  // First searches come first, in the order of service. Then who has waited longest for another
  // one: otherwise gangs for which none finds nodes would delay all others.
  void search_due() {
    std::map<GangKey, SysTime> known;
    const RefusedTurn* next = nullptr;
    SysTime next_since{};
    int due = 0;
    for (const RefusedTurn& turn : queues_.refused) {
      if (!is_asked(turn)) continue;
      const auto at = find_search_time(turn);
      if (!at) continue;
      if (*at > now_ && !memory_.asked) {
        next_look_.at(*at);
        continue;
      }
      const auto again = find_known(memory_.again, key(turn));
      const bool is_known = again && is_credible(*again, kReserveSearchAgain, now_);
      const SysTime since = is_known ? *again : SysTime::min();
      known.emplace(key(turn), since);
      if (since > now_) {
        next_look_.at(since);
        continue;
      }
      ++due;
      if (next != nullptr && next_since <= since) continue;
      next = &turn;
      next_since = since;
    }
    memory_.again = std::move(known);
    if (next == nullptr || !may_search()) return;
    memory_.again[key(*next)] = now_ + kReserveSearchAgain;
    next_look_.at(now_ + (due > 1 ? kReserveSearchPause : kReserveSearchAgain));
    after_.emplace(facts_, work_, count_use(work_, facts_.queues(), placer_.ledger()));
    NodeChooser chooser(facts_, work_, *after_);
    const auto chosen = choose_nodes(*next, chooser);
    if (next->gang->reservation) {
      renew(*next, chosen, chooser);
    } else if (chosen) {
      take(*next, *chosen);
    }
  }
  std::optional<gang::Reservation> choose_nodes(const RefusedTurn& turn, NodeChooser& chooser) {
    if (after_->is_of_ending_job(*turn.group, *turn.gang)) return std::nullopt;
    const queue::Workload& head = workload(turn);
    const auto reclaiming = reserved_.find_reclaiming_queues(tree_[find_queue(turn)].name);
    auto chosen =
        chooser.choose(make_trials(turn), {queue::rank(head), now_, std::nullopt, {}, reclaiming});
    if (chosen && !queue::gains_enough(head, chosen->due.value_or(now_))) chosen.reset();
    return chosen;
  }
  void renew(const RefusedTurn& turn, const std::optional<gang::Reservation>& chosen,
             NodeChooser& chooser) {
    gang::Reservation& present = *turn.gang->reservation;
    if (const auto better = chooser.find_better(present, chosen)) return take(turn, *better);
    present = chooser.prolong(present);
    if (auto* entry = reserved_.find(*turn.gang)) entry->terms.counts_on = present.counts_on;
  }
  // Since when the gang wants nodes, or other nodes; nullopt: it does not.
  std::optional<SysTime> find_search_time(const RefusedTurn& turn) {
    if (!waits_for_capacity(turn) || !queue::gains_enough(workload(turn), now_)) {
      return std::nullopt;
    }
    if (turn.gang->reservation) return find_renewal(*turn.gang->reservation, now_);
    const bool is_full = count() >= static_cast<std::size_t>(options_.most);
    if (is_full && find_later(turn) == nullptr) return std::nullopt;
    const SysTime at = waits_since(workload(turn), *turn.group) + options_.after;
    const auto& after = turn.gang->reserve_after;
    return after && is_credible(*after, kReserveAgain, now_) ? std::max(at, *after) : at;
  }

  // The gang gets these nodes, instead of those that it may have.
  void take(const RefusedTurn& turn, const gang::Reservation& chosen) {
    reserved_.end(*turn.gang);
    displace(turn, chosen);
    turn.gang->reservation = chosen;
    turn.gang->reserve_after.reset();
    memory_.again[key(turn)] = now_;  // if this is not stored
    reserved_.note_new();
    next_look_.at(now_);  // when this is stored: others may be kept off, or reclaimed
  }
  // Gangs that are served later lose the nodes, and one of too many its own.
  void displace(const RefusedTurn& turn, const gang::Reservation& reservation) {
    for (ReservedNodes::Entry& entry : reserved_.entries()) {
      if (entry.is_over || is_before(entry, turn)) continue;
      const bool is_shared =
          std::any_of(reservation.nodes.begin(), reservation.nodes.end(),
                      [&](const auto& one) { return entry.wanted.count(one.node) > 0; });
      if (is_shared) give_up(entry);
    }
    while (count() >= static_cast<std::size_t>(options_.most)) {
      ReservedNodes::Entry* last = find_later(turn);
      if (last == nullptr) return;
      give_up(*last);
    }
  }

  // ---- taking nodes back

  void reclaim_due() {
    std::erase_if(memory_.reclaims, [this](const auto& one) {
      const SysTime again = one.second.again;
      return again <= now_ || !is_credible(again, kLongestReclaimPause, now_);
    });
    for (const RefusedTurn& turn : queues_.refused) {
      if (!turn.gang->reservation || !is_asked(turn)) continue;
      // So that it does not end others again and again.
      if (turn.gang->has_stopped_preempting()) {
        memory_.reclaims[key(turn)].again = now_ + kReserveSearchAgain;
      }
      const ReservedNodes::Entry* entry = reserved_.find(*turn.gang);
      const bool may_need = entry != nullptr && !entry->is_over;
      if (may_need && entry->balance.needs_reclaim) reclaim(turn, *entry);
    }
  }
  // Until then it reclaims nothing, and its status says why.
  void wait(const RefusedTurn& turn, SysTime again, Outcome why) {
    next_look_.at(again);
    if (turn.gang->no_fit) gang::note_preemption(*turn.gang->no_fit, why);
  }
  // Reservations of one queue are on different nodes, so they need not wait for each other.
  void reclaim(const RefusedTurn& turn, const ReservedNodes::Entry& entry) {
    const auto known = memory_.reclaims.find(key(turn));
    if (known != memory_.reclaims.end()) {
      return wait(turn, known->second.again, known->second.outcome);
    }
    const std::string& queue = tree_[find_queue(turn)].name;
    if (const auto pause =
            find_preemption_pause(*turn.group, *turn.gang, queue, queues_.preemptions, now_)) {
      // Known to the next cycles, which close nothing for it meanwhile.
      const SysTime again = std::min(pause->again, now_ + kReserveSearchAgain);
      memory_.reclaims[key(turn)] = {again, pause->outcome};
      return wait(turn, again, pause->outcome);
    }
    // What starts there while they are open cannot be reclaimed at once: they are closed first, in
    // the next cycle.
    if (!entry.balance.is_due) return next_look_.at(now_);
    if (!may_search()) return;
    auto& search = memory_.reclaims[key(turn)];
    search = {now_ + kReserveSearchAgain, Outcome::kNotSearched};
    next_look_.at(search.again);
    after_.emplace(facts_, work_, count_use(work_, facts_.queues(), placer_.ledger()));
    if (after_->ending.is_requeue_late()) {
      search.outcome = Outcome::kControllerAway;
      return wait(turn, search.again, search.outcome);
    }
    VictimTrials trials = make_trials(turn);
    if (trials.fits_without({})) {  // with what is ending, there or elsewhere
      const SysTime until = entry.terms.due.value_or(entry.terms.since) + kLongestElsewhere;
      if (now_ < until) {
        search.again = std::min(search.again, until);
        return next_look_.at(search.again);
      }
      trials.keep_to([&](std::string_view node) { return entry.wanted.count(node) > 0; });
      if (trials.fits_without({})) return;
    }
    const auto found = queue::search_victims(
        find_reclaimable(turn, entry),
        [&](std::span<const std::size_t> victims) { return trials.fits_without(victims); },
        kMostEndTrials);
    if (found.victims.empty() || found.victims.size() > kMostReclaimed) {
      search.outcome = Outcome::kNotEnough;
      return wait(turn, search.again, search.outcome);
    }
    const RunningGangs& running = after_->running;
    for (const std::size_t victim : found.victims) {
      const queue::Workload& first = running.candidates()[victim].first();
      turn.gang->victims.push_back(
          name_victim(running.gang(running.index(first)), turn.group->seen->group->meta.ns.str()));
      turn.gang->victims.back().is_for_reservation = true;
    }
    turn.gang->may_need_fewer = found.gave_up;
    begin_preempting(*turn.group, *turn.gang, std::move(trials.placed), tree_, find_queue(turn),
                     placer_);
    search.again = now_;  // if this is not stored
    reserved_.end(*turn.gang);
    next_look_.at(now_);  // when this is stored
  }
  std::vector<std::size_t> find_reclaimable(const RefusedTurn& turn,
                                            const ReservedNodes::Entry& entry) {
    std::vector<std::size_t> found;
    RunningGangs& running = after_->running;
    const auto& candidates = running.candidates();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const queue::Workload& first = candidates[i].first();
      const auto tenant = make_tenant(running.gang(running.index(first)), first);
      const bool is_one = queue::is_reclaimable(entry.terms, tenant) &&
                          queue::ends_in_time(first, workload(turn), now_);
      if (!is_one) continue;
      bool is_there = false;
      for (const queue::Workload* one : candidates[i].workloads) {
        const auto& uses = running.use(running.index(*one));
        is_there = is_there || std::any_of(uses.begin(), uses.end(), [&](const SlotUse& use) {
                     return entry.wanted.count(use.node) > 0;
                   });
      }
      if (is_there) found.push_back(i);
    }
    return found;
  }

  const CycleFacts& facts_;
  const queue::QueueTree& tree_;
  CycleWork& work_;
  Placer& placer_;
  ReservedNodes& reserved_;
  const QueueState& queues_;
  const queue::ReservationOptions& options_;
  ReservationMemory& memory_;
  const SysTime now_;
  NextLook& next_look_;
  std::map<const GangWork*, std::size_t> turns_;  // into QueueState::refused
  std::optional<AfterEnding> after_;              // of the search in this cycle
};

}  // namespace

void keep_reservations(const CycleFacts& facts, CycleWork& work, Placer& placer,
                       const QueueState& queues, ReservationMemory& memory, NextLook& next_look) {
  if (!facts.options.reservation.is_on() && placer.reserved().empty()) return;
  Reserver(facts, work, placer, queues, memory, next_look).run();
}

}  // namespace nervex::planner
