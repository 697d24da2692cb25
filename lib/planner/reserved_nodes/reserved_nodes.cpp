#include "planner/reserved_nodes/reserved_nodes.h"

#include <algorithm>
#include <utility>

#include "planner/recovery/refusals.h"
#include "planner/work/queue_use.h"
#include "planner/work/start_blocker.h"
#include "queue/backlog.h"
#include "queue/settled.h"

namespace nervex::planner {
namespace {

using Outcome = gang::PreemptionOutcome;

// Others may use more of the node, because less of it is kept.
bool is_less_kept(const NodeShare& before, const NodeShare& now) {
  const auto& kept = before.kept.amounts();
  return std::any_of(kept.begin(), kept.end(), [&](const kube::ResourceAmount& was) {
    return now.kept.get(was.name) < was.amount &&
           now.left.get(was.name) > before.left.get(was.name);
  });
}

// It gets no turn in this cycle: its plan was dropped a moment ago, or it is not known whether
// its status was stored.
bool has_no_turn(const ReservedNodes::Entry& entry) {
  return entry.gang->plan_after || entry.group->seen->unconfirmed;
}

// Reservation::since, if the clock of the leader that wrote it was ahead: moved to now, so that
// jobs that start from now on count as started after it; but to no time at which a job that runs,
// and did not, would. Until then, by this clock, jobs that start are not counted on: they are not
// reclaimed if their deadlines are raised.
SysTime start_of_next(const Snapshot& snapshot, SysTime since, SysTime now) {
  SysTime next = now;
  const auto see = [&](const gang::PodGroup& group) {
    const auto* base = gang::find_gang(group.status, gang::kBaseGang);
    const bool ran_before =
        base != nullptr && base->committed && base->started_at && *base->started_at < since;
    if (ran_before) next = std::max(next, *base->started_at + SysTime::duration(1));
  };
  for (const GroupSeen& seen : snapshot.groups) see(*seen.group);
  for (const RunningGroup& running : snapshot.running) see(*running.group);
  return std::min(since, next);
}

// The head comes before the tenant, whose turn it is. If the head gets no turn in this cycle, ranks
// say so for two gangs of a queue that serves by rank. Elsewhere shares of queues or of users
// decide the order, or the time; and a gang that grows comes last: then the head is the earlier
// one.
bool is_before(const ReservedNodes::Entry& entry, const queue::Workload& tenant) {
  if (entry.is_reached || !has_no_turn(entry)) return entry.is_reached;
  const bool is_ranked = entry.is_ranked && entry.group->queue.name == tenant.queue;
  return !is_ranked || tenant.is_elastic || entry.terms.head < queue::rank(tenant);
}

// The tenant, whose turn it is, may not use what is kept. Not even before the head's turn if the
// head would reclaim it at once.
bool keeps_off(const ReservedNodes::Entry& entry, const queue::Tenant& tenant) {
  if (entry.is_over) return false;
  if (entry.balance.is_due && queue::is_reclaimable(entry.terms, tenant)) return true;
  return is_before(entry, *tenant.workload) &&
         (entry.balance.is_due || !queue::may_start(entry.terms, tenant));
}

// The same for a tenant that preempts there: it would end others and be ended itself, or end too
// late if its victims are slow.
bool keeps_from_preempting(const ReservedNodes::Entry& entry, const queue::Tenant& tenant) {
  if (entry.is_over) return false;
  if (queue::is_reclaimable(entry.terms, tenant)) return true;
  return is_before(entry, *tenant.workload) &&
         (entry.balance.is_due ||
          !queue::may_start(entry.terms, tenant, queue::kLongestPreemption));
}

// When its tenants should have ended long ago, pods that are being deleted included.
std::optional<SysTime> find_overdue(const ReservedNodes::Entry& entry) {
  if (!entry.terms.due) return std::nullopt;
  const SysTime due = *entry.terms.due;
  return std::clamp(entry.balance.last_end, due, due + queue::kLongestEnding) + kLongestOverdue;
}

bool can_still_reclaim(const ReservedNodes::Entry& entry) {
  return entry.balance.can_reclaim && entry.reclaim != Outcome::kNotEnough &&
         entry.reclaim != Outcome::kSearchGaveUp;
}

template <typename Is>
ReservedNodes::Indices find_all(const std::vector<ReservedNodes::Entry>& entries, Is is_one) {
  ReservedNodes::Indices found;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (is_one(entries[i])) found.push_back(i);
  }
  return found;
}

// The gang wants the pods that the reservation is for.
bool has_same_pods(const GangWork& gang, const gang::Reservation& reservation) {
  std::map<std::string_view, std::size_t> pods;
  for (const gang::ReservedCapacity& entry : reservation.nodes) {
    pods[entry.set] += static_cast<std::size_t>(entry.count);
  }
  return pods.size() == gang.sets.size() &&
         std::all_of(gang.sets.begin(), gang.sets.end(), [&](const gang::MemberSet* set) {
           const auto reserved = pods.find(set->name);
           return reserved != pods.end() && reserved->second == all_slots(*set).size();
         });
}

}  // namespace

void lapse(GangWork& gang, SysTime now) {
  gang.reservation.reset();
  gang.reserve_after = now + kReserveAgain;
}

NodeAmounts sum_reserved(const gang::PodGroup& group, const gang::Reservation& reservation) {
  NodeAmounts amounts;
  for (const gang::ReservedCapacity& entry : reservation.nodes) {
    const gang::MemberSet* set = gang::find_set(group.spec, entry.set);
    if (set == nullptr) continue;
    for (int i = 0; i < entry.count; ++i) amounts[entry.node] += set->shape.requests;
  }
  return amounts;
}

ReservedNodes::ReservedNodes(const CycleFacts& facts, CycleWork& work, Ledger& ledger,
                             ReservationMemory& memory, NextLook& next_look)
    : facts_(facts), work_(work), now_(facts.now) {
  collect(work, memory);
  const auto broken = std::exchange(memory.broken, {});
  if (entries_.empty()) {
    memory.shares.clear();
    return;
  }
  NodeNames nodes;
  for (const Entry& entry : entries_) {
    for (const auto& [node, amount] : entry.wanted) nodes.insert(node);
  }
  lapse_overlapping();
  const Ending ending(facts, work);
  std::vector<NodeTenant> tenants = list_tenants(facts, work, ending, nodes);
  weigh(tenants, ledger);
  bool is_any_dropped = false;
  for (const Entry& entry : entries_) {
    is_any_dropped = drop_late_plans(entry, tenants, ledger) || is_any_dropped;
  }
  if (is_any_dropped) weigh(tenants, ledger);  // others counted on what these plans were to use
  for (Entry& entry : entries_) {
    if (entry.is_over) continue;
    const bool is_possible = entry.balance.lacking.empty() && is_unchanged(entry, ledger);
    entry.balance.needs_reclaim = entry.balance.needs_reclaim && is_possible;
    const GangKey key = entry.key();
    const auto known = broken.find(key);
    const SysTime since = known == broken.end() ? now_ : std::min(known->second, now_);
    const auto overdue = find_overdue(entry);
    if (overdue && *overdue > now_) next_look.at(*overdue);
    const bool is_overdue = overdue && *overdue <= now_ && !can_still_reclaim(entry);
    const bool must_lapse = is_possible ? is_overdue : since + kLongestBroken <= now_;
    if (!is_possible) memory.broken.emplace(key, since);  // also until the lapse is stored
    if (must_lapse && !entry.group->seen->unconfirmed) {
      lapse(*entry.gang, now_);
      entry.is_over = true;
      entry.balance.kept.clear();
    } else if (!must_lapse && !is_possible) {
      next_look.at(since + kLongestBroken);
    }
    if (const auto late = find_first_late(entry, tenants)) next_look.at(*late);
  }
  note_shares(ledger, memory);
}

void ReservedNodes::collect(CycleWork& work, ReservationMemory& memory) {
  for (GroupWork* group : work.groups) {
    for (GangWork& gang : group->gangs) {
      if (!gang.reservation) continue;
      if (!gang.victims.empty()) {
        ++reclaiming_;
        continue;
      }
      const bool is_kept = facts_.options.reservation.is_on() && !gang.is_committed() &&
                           has_same_pods(gang, *gang.reservation);
      if (!is_kept) {
        if (group->seen->unconfirmed) continue;
        gang.reservation.reset();
        memory.again.erase({group->seen->group->meta.uid, gang.name});
        continue;
      }
      // It is planned, or its status cannot be stored: then no plan can, either.
      if (gang.is_assumed() || group->is_rejected(Rejection::Extent::kAnyStatus)) continue;
      Entry& entry = entries_.emplace_back();
      entry.group = group;
      entry.gang = &gang;
      const gang::Gang& spec = group->seen->group->spec.gangs[gang.position];
      queue::Rank head = group->rank();
      if (spec.queued_since) head.queued_since = *spec.queued_since;
      if (gang.reservation->due && gang.reservation->since > now_) {
        gang.reservation->since = start_of_next(facts_.snapshot, gang.reservation->since, now_);
      }
      entry.terms = {
          head, gang.reservation->since, gang.reservation->due, gang.reservation->counts_on, {}};
      entry.wanted = sum_reserved(*group->seen->group, *gang.reservation);
      entry.reclaiming_queues = find_reclaiming_queues(group->queue.name);
      const queue::QueueTree& tree = facts_.tree();
      if (const auto queue = tree.find(group->queue.name)) {
        entry.is_ranked =
            tree[*queue].order != queue::Queue::Order::kFifo && !tree[*queue].fair_users;
      }
      const auto reclaim = memory.reclaims.find(entry.key());
      if (reclaim != memory.reclaims.end()) entry.reclaim = reclaim->second.outcome;
    }
  }
  for (Entry& entry : entries_) entry.terms.reclaiming_queues = entry.reclaiming_queues;
}

// Another gang has got nodes of this one, and the leader ended before it wrote so; or one of the
// two was reclaiming its nodes, and stopped. In one queue the gang that is served earlier keeps its
// own; of two queues shares have decided, so the later reservation counts.
void ReservedNodes::lapse_overlapping() {
  const auto began = [this](const Entry& entry) { return std::min(entry.terms.since, now_); };
  for (Entry& entry : entries_) {
    const bool is_displaced =
        std::any_of(entries_.begin(), entries_.end(), [&](const Entry& other) {
          const bool has_any_stopped =
              entry.gang->has_stopped_preempting() || other.gang->has_stopped_preempting();
          const bool is_of_queue = other.group->queue.name == entry.group->queue.name;
          const bool is_before = has_any_stopped || is_of_queue || began(other) == began(entry)
                                     ? other.terms.head < entry.terms.head
                                     : began(other) > began(entry);
          return &other != &entry && !other.is_over && is_before &&
                 std::any_of(entry.wanted.begin(), entry.wanted.end(),
                             [&](const auto& one) { return other.wanted.count(one.first) > 0; });
        });
    if (!is_displaced || entry.group->seen->unconfirmed) continue;
    lapse(*entry.gang, now_);
    entry.is_over = true;
  }
}

bool ReservedNodes::is_unchanged(const Entry& entry, const Ledger& ledger) const {
  const auto& nodes = entry.gang->reservation->nodes;
  return std::all_of(nodes.begin(), nodes.end(), [&](const gang::ReservedCapacity& one) {
    const gang::MemberSet* set = gang::find_set(entry.group->seen->group->spec, one.set);
    return set != nullptr && ledger.is_allowed(*set, one.node);
  });
}

void ReservedNodes::weigh(const std::vector<NodeTenant>& tenants, Ledger& ledger) {
  for (Entry& entry : entries_) {
    if (entry.is_over) continue;
    const bool may_reclaim = entry.reclaim == Outcome::kNotSearched &&
                             !find_failure_pause(*entry.group, *entry.gang, now_);
    ledger.count_for(entry.group->priority());
    entry.balance = weigh_nodes(entry.terms, entry.wanted, tenants, may_reclaim, ledger);
  }
}

// It would get its turn after the head if it had no plan. `usage`: with the plan.
bool ReservedNodes::is_served_after(const Entry& entry, const GangWork& plan, queue::Usage usage,
                                    const Ledger& ledger) const {
  const queue::QueueTree& tree = facts_.tree();
  const auto make_waiting = [](const GroupSeen& seen, std::size_t position,
                               const std::string& queue) {
    queue::Workload workload = seen.make_workload(position);
    workload.state = queue::Workload::State::kWaiting;
    workload.queue = queue;
    return workload;
  };
  std::vector<queue::Workload> two{
      make_waiting(*entry.group->seen, entry.gang->position, entry.group->queue.name),
      make_waiting(*plan.seen, plan.position, plan.seen->group->status.queue.name)};
  if (!tree.is_root_alone()) {
    queue::Workload planned = plan.seen->make_workload(plan.position);
    set_class_requests(planned, *plan.seen->group, plan.seen->uses.get(), facts_.snapshot);
    usage.remove(tree, queue::find_home(tree, planned), planned);
  }
  const kube::Resources capacity =
      tree.is_root_alone() ? kube::Resources() : ledger.nodes().allocatable();
  queue::Backlog backlog(tree, capacity, std::move(usage), two);
  const auto first = backlog.next();
  return first && first->workload == two.data();
}

// Plans that were to end in time, or that could be reclaimed: they were not bound for long, or have
// lost their limit or `preemptible`. And those that can be reclaimed when nothing else keeps the
// head from its nodes. They get their turn again.
bool ReservedNodes::drop_late_plans(const Entry& entry, std::vector<NodeTenant>& tenants,
                                    Ledger& ledger) const {
  const NodeBalance& balance = entry.balance;
  if (balance.lacking.empty() && !balance.waits_for_plans) return false;
  std::optional<queue::Usage> usage;  // with all plans that are left
  const auto is_behind = [&](const GangWork& plan) {
    if (!usage) usage = count_use(work_, facts_.queues(), ledger);
    return is_served_after(entry, plan, *usage, ledger);
  };
  bool is_any_dropped = false;
  std::erase_if(tenants, [&](const NodeTenant& tenant) {
    if (tenant.plan == nullptr || tenant.plan->seen->unconfirmed) return false;
    const bool is_in_the_way = balance.waits_for_plans && tenant.is_on(entry.wanted) &&
                               queue::is_reclaimable(entry.terms, tenant.terms());
    const bool may_not_stay = !is_in_the_way && tenant.is_on(balance.lacking) &&
                              !queue::ends_for(entry.terms, tenant.terms()) &&
                              is_behind(*tenant.plan);
    if (!is_in_the_way && !may_not_stay) return false;
    yield(*tenant.plan, ledger);
    usage.reset();
    if (tenant.plan->reservation) lapse(*tenant.plan, now_);  // it has just preempted on them
    is_any_dropped = true;
    return true;
  });
  return is_any_dropped;
}

// When a plan that ends in time would not any more, as nothing was bound until then.
std::optional<SysTime> ReservedNodes::find_first_late(
    const Entry& entry, const std::vector<NodeTenant>& tenants) const {
  std::optional<SysTime> first;
  if (!entry.terms.due) return first;
  for (const NodeTenant& tenant : tenants) {
    const bool is_in_time = tenant.plan != nullptr && tenant.latest_end &&
                            *tenant.latest_end <= *entry.terms.due && tenant.is_on(entry.wanted);
    if (!is_in_time) continue;
    look_by(first, now_ + (*entry.terms.due - *tenant.latest_end) + std::chrono::seconds(1));
  }
  return first;
}

// More is left for others if a tenant may be reclaimed, or ends in time, since the last cycle.
void ReservedNodes::note_shares(Ledger& ledger, ReservationMemory& memory) {
  const auto last = std::exchange(memory.shares, {});
  for (const Entry& entry : entries_) {
    if (entry.is_over) continue;
    const GangKey key = entry.key();
    ledger.count_for(entry.group->priority());
    const auto before = last.find(key);
    auto& shares = memory.shares[key];
    for (const auto& [node, wanted] : entry.wanted) {
      const auto at = ledger.nodes().find(node);
      if (!at) continue;
      NodeShare& share = shares[node];
      if (const auto kept = entry.balance.kept.find(node); kept != entry.balance.kept.end()) {
        share.kept = kept->second;
      }
      share.left = ledger.nodes().free(*at);
      share.left -= share.kept;
      if (before == last.end()) continue;
      const auto known = before->second.find(node);
      keeps_less_ =
          keeps_less_ || (known != before->second.end() && is_less_kept(known->second, share));
    }
  }
}

ReservedNodes::Entry* ReservedNodes::find(const GangWork& gang) {
  const auto at = std::find_if(entries_.begin(), entries_.end(),
                               [&](const Entry& entry) { return entry.gang == &gang; });
  return at == entries_.end() ? nullptr : &*at;
}

void ReservedNodes::begin_pass() {
  for (Entry& entry : entries_) entry.is_reached = false;
}

void ReservedNodes::reach(const GangWork& gang) {
  if (Entry* entry = find(gang)) entry->is_reached = true;
}

void ReservedNodes::reach_before(const queue::Rank& rank) {
  for (Entry& entry : entries_) entry.is_reached = entry.terms.head < rank;
}

void ReservedNodes::end(const GangWork& gang) {
  if (Entry* entry = find(gang)) {
    entry->is_over = true;
    entry->balance.kept.clear();
  }
}

// As if it started now.
queue::Workload ReservedNodes::make_candidate(const GroupWork& work, const GangWork& gang) const {
  queue::Workload workload = work.seen->make_workload(gang.position);
  workload.queue = work.queue.name;
  if (gang.kind == gang::GangKind::kBase) {
    const queue::QueueTree& tree = facts_.tree();
    const auto queue = tree.find(work.queue.name);
    workload.longest_run = queue::longest_run(
        work.seen->group->spec, queue ? tree.max_runtime_seconds(*queue) : std::nullopt);
  }
  return workload;
}

ReservedNodes::Blocking ReservedNodes::find_blocking(const GroupWork& work,
                                                     const GangWork& gang) const {
  Blocking blocking;
  if (entries_.empty() || gang.is_committed() || gang.is_within_reserved()) return blocking;
  const queue::Workload workload = make_candidate(work, gang);
  const queue::Tenant tenant{&workload, queue::latest_end(workload, now_)};
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if (entry.is_over || entry.gang == &gang) continue;
    blocking.all.push_back(i);
    if (keeps_off(entry, tenant)) blocking.forbidden.push_back(i);
  }
  return blocking;
}

ReservedNodes::Indices ReservedNodes::find_closed(const GroupWork& work,
                                                  const GangWork& gang) const {
  if (entries_.empty()) return {};
  const queue::Workload workload = make_candidate(work, gang);
  const queue::Tenant tenant{&workload, queue::latest_end(workload, now_)};
  return find_all(entries_, [&](const Entry& entry) {
    return entry.gang != &gang && keeps_from_preempting(entry, tenant);
  });
}

ReservedNodes::Indices ReservedNodes::find_forbidden(const GroupWork& work) const {
  Indices forbidden;
  if (entries_.empty()) return forbidden;
  for (const GangWork& gang : work.gangs) {
    if (gang.kind != gang::GangKind::kBase || !gang.is_committed()) continue;
    const queue::Workload job = work.seen->make_workload(gang.position);
    const queue::Tenant tenant{&job, queue::latest_end(job)};
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (keeps_off(entries_[i], tenant)) forbidden.push_back(i);
    }
  }
  return forbidden;
}

ReservedNodes::Indices ReservedNodes::find_kept() const {
  return find_all(entries_, [](const Entry& entry) { return !entry.is_over; });
}

ReservedNodes::Indices ReservedNodes::find_reached() const {
  return find_all(entries_, [](const Entry& entry) {
    return (entry.is_reached || has_no_turn(entry)) && !entry.is_over;
  });
}

ReservedNodes::Held ReservedNodes::hold(const Indices& indices, Ledger& ledger) const {
  Held held;
  for (const std::size_t i : indices) {
    for (const auto& [node, kept] : entries_[i].balance.kept) {
      const auto at = ledger.nodes().find(node);
      if (!at) continue;
      const bool is_free = ledger.nodes().first_lacking(*at, kept).empty();
      held.emplace_back(node, is_free ? kept : at_most(kept, ledger.nodes().free(*at)));
      ledger.hold(held.back().second, node);
    }
  }
  return held;
}

void ReservedNodes::release(const Held& held, Ledger& ledger) {
  for (const auto& [node, amount] : held) ledger.hold(amount, node, -1);
}

void ReservedNodes::note_promises(CycleWork& work) const {
  if (!facts_.options.reservation.is_on()) return;
  for (GroupWork* group : work.groups) {
    for (GangWork& gang : group->gangs) {
      if (gang.kind != gang::GangKind::kBase || gang.is_committed() || !gang.is_whole()) continue;
      const auto run =
          queue::longest_run(group->seen->group->spec, group->queue.max_runtime_seconds);
      gang.planned_run_seconds.reset();
      if (run) gang.planned_run_seconds = run->count();
    }
  }
}

void ReservedNodes::close(const Indices& indices, Ledger& ledger) const {
  for (const std::size_t i : indices) {
    for (const auto& [node, amount] : entries_[i].wanted) {
      const auto at = ledger.nodes().find(node);
      if (at) ledger.hold(ledger.nodes().node(*at).allocatable, node);
    }
  }
}

std::vector<ReservedBy> ReservedNodes::name(const Indices& indices) const {
  std::vector<ReservedBy> names;
  names.reserve(indices.size());
  for (const std::size_t i : indices) {
    const Entry& entry = entries_[i];
    names.push_back(
        {entry.group->seen->group->meta.uid, entry.gang->name, entry.terms.since, entry.terms.due});
  }
  return names;
}

}  // namespace nervex::planner
