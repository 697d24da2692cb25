#include "extender/cycle/reservation/reserve.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "extender/cycle/next_look.h"
#include "extender/cycle/preemption/victim_trials.h"
#include "extender/cycle/reservation/tenants.h"
#include "extender/recovery/refusals.h"

namespace nervex::extender {
namespace {

using std::chrono::seconds;

// A search that found nothing is repeated after this.
constexpr seconds kReserveSearchAgain{30};
constexpr seconds kReserveSearchPause{1};
constexpr std::size_t kMostEndTrials = 48;
// As in the schema of PodGroups.
constexpr std::size_t kMostReclaimed = 1'024;
constexpr std::size_t kMostCountedOn = 1'024;
// Until pods of gangs that end for others, or whose grace period is over, are gone.
constexpr seconds kEndingTime{360};
constexpr seconds kLateEndingPod{60};
// A reservation without a due time is reconsidered after this.
constexpr std::chrono::minutes kRenewPeriod{10};
constexpr std::chrono::hours kLongestRenewPeriod{7 * 24};

// A time that is too far ahead was noted by a clock that was wrong: it does not count.
bool is_credible(SysTime time, seconds period, SysTime now) { return time <= now + 2 * period; }

std::optional<SysTime> find_known(const std::map<GangKey, SysTime>& times, const GangKey& key) {
  const auto known = times.find(key);
  return known == times.end() ? std::nullopt : std::optional(known->second);
}

queue::Tenant make_tenant(const RunningGang& gang, const queue::Workload& workload) {
  return {&workload, queue::latest_end(workload), find_promised_end(*gang.group),
          gang.group->meta.uid};
}

class Reserver {
 public:
  Reserver(const Snapshot& snapshot, CycleWork& work, Placer& placer, const QueueState& queues,
           const queue::ReservationOptions& options, const PreemptionTimes& times, bool may_begin,
           ReservationMemory& memory, SysTime now, std::optional<SysTime>& next_look)
      : snapshot_(snapshot),
        tree_(snapshot.facts.tree()),
        work_(work),
        placer_(placer),
        reserved_(placer.reserved()),
        queues_(queues),
        options_(options),
        times_(times),
        may_begin_(may_begin),
        memory_(memory),
        now_(now),
        next_look_(next_look) {
    for (std::size_t i = 0; i < queues.refused.size(); ++i) {
      turns_.emplace(queues.refused[i].gang, i);
    }
  }

  // Of the two kinds of searches those that end a wait come first.
  bool run() {
    lapse_idle();
    if (!options_.is_on()) return false;
    if (may_begin_) {
      reclaim_due();
      search_due();
    }
    // What ends on reserved nodes may be the last that keeps a gang from taking back the others.
    if (count() > 0) placer_.waits_otherwise = true;
    return has_made_one_;
  }

 private:
  std::size_t count() const {
    const auto& entries = reserved_.entries();
    const auto kept =
        std::count_if(entries.begin(), entries.end(), [](const auto& one) { return !one.is_over; });
    return static_cast<std::size_t>(kept) + reserved_.reclaiming() + (has_made_one_ ? 1U : 0U);
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
    const gang::NoFit* why = find_shortage(turn, placer_);
    return why != nullptr && std::holds_alternative<gang::InsufficientCapacity>(*why);
  }

  // Nodes are not kept for a gang that a rule keeps from starting, or that may not be planned.
  void lapse_idle() {
    for (ReservedNodes::Entry& entry : reserved_.entries()) {
      if (entry.is_over || entry.group->seen->unconfirmed) continue;
      const auto turn = turns_.find(entry.gang);
      if (turn != turns_.end() && waits_for_capacity(queues_.refused[turn->second])) continue;
      give_up(entry);
    }
  }
  void give_up(ReservedNodes::Entry& entry) {
    lapse(*entry.gang, now_);
    reserved_.end(*entry.gang);
    // Who was kept off may fit now.
    look_by(next_look_, now_);
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
    look_by(next_look_, memory_.next_search);
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
    return facts_->make_trials(turn, {&workload(turn), find_queue(turn)}, placer_, earlier);
  }
  queue::Tenant tenant(const queue::Workload& workload) const {
    const RunningGangs& running = facts_->running;
    return make_tenant(running.gang(running.index(workload)), workload);
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
        look_by(next_look_, *at);
        continue;
      }
      const auto again = find_known(memory_.again, key(turn));
      const bool is_known = again && is_credible(*again, kReserveSearchAgain, now_);
      const SysTime since = is_known ? *again : SysTime::min();
      known.emplace(key(turn), since);
      if (since > now_) {
        look_by(next_look_, since);
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
    look_by(next_look_, now_ + (due > 1 ? kReserveSearchPause : kReserveSearchAgain));
    facts_.emplace(snapshot_, work_, queues_, now_);
    const auto chosen = choose_nodes(*next);
    if (next->gang->reservation) {
      renew(*next, chosen);
    } else if (chosen) {
      take(*next, *chosen);
    }
  }
  // Since when the gang wants nodes, or other nodes; nullopt: it does not.
  std::optional<SysTime> find_search_time(const RefusedTurn& turn) {
    if (!waits_for_capacity(turn)) return std::nullopt;
    if (turn.gang->reservation) return find_renewal(*turn.gang->reservation);
    const bool is_full = count() >= static_cast<std::size_t>(options_.most);
    if (is_full && find_later(turn) == nullptr) return std::nullopt;
    const SysTime at = waits_since(turn) + options_.after;
    const auto& after = turn.gang->reserve_after;
    return after && is_credible(*after, kReserveAgain, now_) ? std::max(at, *after) : at;
  }
  std::optional<SysTime> find_renewal(const gang::Reservation& reservation) const {
    if (reservation.due) return std::nullopt;
    const SysTime at = reservation.renew_after.value_or(reservation.since + kRenewPeriod);
    return is_credible(at, kLongestRenewPeriod, now_) ? at : now_;
  }
  SysTime waits_since(const RefusedTurn& turn) const {
    return std::max(workload(turn).queued_since, turn.group->seen->group->meta.created);
  }

  // Those on which the gang starts first; nullopt: none were found, or it needs none.
  std::optional<gang::Reservation> choose_nodes(const RefusedTurn& turn) {
    if (facts_->is_of_ending_job(turn)) return std::nullopt;
    VictimTrials trials = make_trials(turn);
    const queue::ReservedFor terms{queue::rank(workload(turn)), now_, std::nullopt, {}};
    queue::VictimSearch found;
    if (!trials.fits_without({})) {
      found = queue::search_victims(
          sort_by_end(terms),
          [&](std::span<const std::size_t> ended) { return trials.fits_without(ended); },
          kMostEndTrials);
      if (found.victims.empty()) return std::nullopt;
    }
    gang::Reservation chosen;
    chosen.nodes = reserved_capacity(trials.placed);
    chosen.since = now_;
    chosen.due = find_due(terms, found.victims, chosen);
    chosen.counts_on = find_counted_on(terms, found.victims, chosen);
    if (!chosen.due) chosen.renew_after = now_ + kRenewPeriod;
    return chosen;
  }
  // What ends first: what the head may take, then by the latest end. What has no bound is likely to
  // run on for as long as it has run: jobs differ by so much that age says most, and the oldest may
  // be services that never end. Jobs that all run equally long are the exception; see renew().
  std::vector<std::size_t> sort_by_end(const queue::ReservedFor& terms) const {
    struct End {
      int kind = 0;
      SysTime::duration time{};
      std::size_t candidate = 0;
    };
    std::vector<End> ends;
    const auto& candidates = facts_->running.candidates();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const queue::Workload& first = candidates[i].first();
      if (queue::is_of_its_job(terms, first)) continue;
      const queue::Tenant its = tenant(first);
      if (queue::is_reclaimable(terms, its)) {
        ends.push_back({0, {}, i});
      } else if (its.latest_end) {
        ends.push_back({1, its.latest_end->time_since_epoch(), i});
      } else {
        ends.push_back({2, now_ - first.started_at.value_or(SysTime{}), i});
      }
    }
    std::stable_sort(ends.begin(), ends.end(), [](const End& a, const End& b) {
      return std::tie(a.kind, a.time) < std::tie(b.kind, b.time);
    });
    std::vector<std::size_t> sorted;
    sorted.reserve(ends.size());
    for (const End& end : ends) sorted.push_back(end.candidate);
    return sorted;
  }
  static NodeNames collect_names(const gang::Reservation& reservation) {
    NodeNames names;
    for (const gang::ReservedCapacity& one : reservation.nodes) names.insert(one.node);
    return names;
  }
  std::optional<SysTime> find_due(const queue::ReservedFor& terms,
                                  const std::vector<std::size_t>& ended,
                                  const gang::Reservation& reservation) const {
    SysTime due = now_;
    for (const std::size_t candidate : ended) {
      const queue::Tenant its = tenant(facts_->running.candidates()[candidate].first());
      if (queue::is_reclaimable(terms, its)) continue;
      if (!its.latest_end) return std::nullopt;
      due = std::max(due, *its.latest_end);
    }
    const NodeNames nodes = collect_names(reservation);
    bool is_any_terminating = false;
    for (const PodPtr& pod : snapshot_.terminating) {
      // The nodes were chosen without the capacity of pods that take longer.
      if (nodes.count(pod->node.str()) == 0 || !facts_->ending.is_about_to_end(*pod)) continue;
      is_any_terminating = true;
      due = std::max(due, pod->deletion_timestamp + kLateEndingPod);
    }
    // Gangs that end for others have no terminating pods yet.
    const bool is_any_ending = ended.empty() && !is_any_terminating;
    return is_any_ending ? std::max(due, now_ + kEndingTime) : due;
  }
  // With a due time, all that ReservedNodes counts on: not only what had to end, since others may
  // use what more is free. Of too many some are left out: they may get longer deadlines.
  std::vector<std::string> find_counted_on(queue::ReservedFor terms,
                                           const std::vector<std::size_t>& ended,
                                           const gang::Reservation& reservation) {
    terms.due = reservation.due;
    std::set<std::string_view> jobs;
    const auto note = [&](const queue::Tenant& its) {
      const bool is_counted = terms.due || !its.latest_end;
      if (!is_counted || queue::is_reclaimable(terms, its)) return;
      if (jobs.size() < kMostCountedOn) jobs.insert(its.job);
    };
    for (const std::size_t candidate : ended) {
      note(tenant(facts_->running.candidates()[candidate].first()));
    }
    if (terms.due) {
      for (const NodeTenant& one : list_tenants_on(reservation)) {
        if (!one.is_ending && queue::ends_for(terms, one.terms())) note(one.terms());
      }
    }
    return {jobs.begin(), jobs.end()};
  }
  std::vector<NodeTenant> list_tenants_on(const gang::Reservation& reservation) {
    return list_tenants(snapshot_, work_, facts_->ending, collect_names(reservation), now_);
  }
  // The gang gets these nodes, instead of those that it may have.
  void take(const RefusedTurn& turn, const gang::Reservation& chosen) {
    reserved_.end(*turn.gang);
    displace(turn, chosen);
    turn.gang->reservation = chosen;
    turn.gang->reserve_after.reset();
    has_made_one_ = true;
    look_by(next_look_, now_);  // when this is stored: others may be kept off, or reclaimed
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

  // ---- reservations without a due time

  // What ends first was a guess. It was wrong if none of the jobs has ended after a while: then
  // jobs that have run for a shorter time are a better one. A guess that came true in part is kept,
  // and so is one without a better one. From the nodes that the gang gets then it does not turn
  // away before twice the time that it had those before: otherwise it would always turn to the
  // youngest jobs, and never start, where all run equally long.
  void renew(const RefusedTurn& turn, const std::optional<gang::Reservation>& chosen) {
    gang::Reservation& present = *turn.gang->reservation;
    Awaited left = find_awaited(present);
    const bool has_any_ended = left.jobs.size() < present.counts_on.size();
    const bool is_better =
        chosen && (chosen->due || (!has_any_ended && find_awaited(*chosen).oldest > left.oldest));
    if (!is_better) {
      present.counts_on = std::move(left.jobs);
      present.renew_after = now_ + kRenewPeriod;
      if (auto* entry = reserved_.find(*turn.gang)) entry->terms.counts_on = present.counts_on;
      return;
    }
    gang::Reservation next = *chosen;
    if (!next.due) {
      next.renew_after = now_ + std::clamp<SysTime::duration>(2 * (now_ - present.since),
                                                              kRenewPeriod, kLongestRenewPeriod);
    }
    take(turn, next);
  }
  // Jobs that the reservation counts on and that have not ended, and when the oldest one started.
  struct Awaited {
    std::vector<std::string> jobs;
    SysTime oldest = SysTime::max();
  };
  Awaited find_awaited(const gang::Reservation& reservation) {
    const auto& counted = reservation.counts_on;
    std::set<std::string_view> jobs;
    Awaited awaited;
    for (const NodeTenant& tenant : list_tenants_on(reservation)) {
      const bool is_counted =
          std::binary_search(counted.begin(), counted.end(), tenant.job, std::less<>());
      if (!is_counted || tenant.is_ending) continue;
      jobs.insert(tenant.job);
      awaited.oldest = std::min(awaited.oldest, tenant.workload.started_at.value_or(SysTime{}));
    }
    awaited.jobs.assign(jobs.begin(), jobs.end());
    return awaited;
  }

  // ---- taking nodes back

  void reclaim_due() {
    std::erase_if(memory_.reclaim_again, [this](const auto& one) {
      return one.second <= now_ || !is_credible(one.second, kReserveSearchAgain, now_);
    });
    for (const RefusedTurn& turn : queues_.refused) {
      if (!turn.gang->reservation || !is_asked(turn)) continue;
      // So that it does not end others again and again.
      if (turn.gang->has_stopped_preempting) {
        memory_.reclaim_again[key(turn)] = now_ + kReserveSearchAgain;
      }
      const ReservedNodes::Entry* entry = reserved_.find(*turn.gang);
      if (entry != nullptr && !entry->is_over && entry->can_reclaim) reclaim(turn, *entry);
    }
  }
  // Reservations of one queue are on different nodes, so they need not wait for each other.
  bool is_rate_used_up(const RefusedTurn& turn) const {
    const auto times = times_.find(tree_[find_queue(turn)].name);
    return times != times_.end() && times->second.size() >= queue::kMostPreemptions;
  }
  void reclaim(const RefusedTurn& turn, const ReservedNodes::Entry& entry) {
    if (const auto again = find_known(memory_.reclaim_again, key(turn))) {
      return look_by(next_look_, *again);
    }
    const gang::Gang& spec = turn.group->seen->group->spec.gangs[turn.gang->position];
    if (const auto after = preempts_after(spec, turn.gang->before, now_)) {
      return look_by(next_look_, *after);
    }
    if (is_rate_used_up(turn)) return look_by(next_look_, now_ + kReserveSearchAgain);
    if (!may_search()) return;
    memory_.reclaim_again[key(turn)] = now_ + kReserveSearchAgain;
    look_by(next_look_, now_ + kReserveSearchAgain);
    facts_.emplace(snapshot_, work_, queues_, now_);
    if (facts_->ending.is_requeue_late()) return;
    VictimTrials trials = make_trials(turn);
    if (trials.fits_without({})) return;  // with what is ending
    const auto found = queue::search_victims(
        find_reclaimable(entry),
        [&](std::span<const std::size_t> victims) { return trials.fits_without(victims); },
        kMostEndTrials);
    if (found.victims.empty() || found.victims.size() > kMostReclaimed) return;
    const RunningGangs& running = facts_->running;
    for (const std::size_t victim : found.victims) {
      const queue::Workload& first = running.candidates()[victim].first();
      turn.gang->victims.push_back(
          name_victim(running.gang(running.index(first)), turn.group->seen->group->meta.ns.str()));
      turn.gang->victims.back().is_for_reservation = true;
    }
    turn.gang->may_need_fewer = found.gave_up;
    begin_preempting(*turn.group, *turn.gang, std::move(trials.placed), tree_, find_queue(turn),
                     placer_);
    reserved_.end(*turn.gang);
    look_by(next_look_, now_);  // when this is stored
  }
  std::vector<std::size_t> find_reclaimable(const ReservedNodes::Entry& entry) {
    std::vector<std::size_t> found;
    RunningGangs& running = facts_->running;
    const auto& candidates = running.candidates();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (!queue::is_reclaimable(entry.terms, tenant(candidates[i].first()))) continue;
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

  const Snapshot& snapshot_;
  const queue::QueueTree& tree_;
  CycleWork& work_;
  Placer& placer_;
  ReservedNodes& reserved_;
  const QueueState& queues_;
  const queue::ReservationOptions& options_;
  const PreemptionTimes& times_;
  const bool may_begin_;
  ReservationMemory& memory_;
  const SysTime now_;
  std::optional<SysTime>& next_look_;
  std::map<const GangWork*, std::size_t> turns_;  // into QueueState::refused
  bool has_made_one_ = false;                     // a reservation, in this cycle
  std::optional<TrialFacts> facts_;               // of the search in this cycle
};

}  // namespace

bool keep_reservations(const Snapshot& snapshot, CycleWork& work, Placer& placer,
                       const QueueState& queues, const queue::ReservationOptions& options,
                       const PreemptionTimes& times, bool may_begin, ReservationMemory& memory,
                       SysTime now, std::optional<SysTime>& next_look) {
  if (!options.is_on() && placer.reserved().empty()) return false;
  return Reserver(snapshot, work, placer, queues, options, times, may_begin, memory, now, next_look)
      .run();
}

}  // namespace nervex::extender
