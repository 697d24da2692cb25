// planner/reserved_nodes/reserved_nodes.h - how much of the nodes that are reserved for gangs
// that wait is kept from other gangs in this cycle? Pure.
//
// The head is the waiting gang that has the reservation, its tenants are the workloads on these
// nodes. With a due time, what the head needs beyond what tenants free in time is kept; without
// one, all that it needs; never more than is free now. The rest of the nodes is free for everybody.
//
// Kept capacity may be used by a gang whose turn comes before the head's, and after that by one
// that queue::may_start() allows: it ends in time, or the head can reclaim what it takes. When the
// head is about to get its nodes (NodeBalance::is_due), no gang behind it and none that the head
// would reclaim may use it. Committed gangs may for slots that they have lost, though not to grow
// and not to reserve capacity again, and so may requests that need nothing beside the capacity that
// their job has reserved.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/facts/cycle_facts.h"
#include "planner/facts/next_look.h"
#include "planner/facts/snapshot.h"
#include "planner/gang/ledger.h"
#include "planner/reserved_nodes/tenants.h"
#include "planner/reserved_nodes/weigh_nodes.h"
#include "planner/work/cycle_state.h"
#include "planner/work/group_work.h"
#include "queue/reservation.h"

namespace nervex::planner {

// A reservation is given up when it has been impossible for so long: others took its nodes, or one
// is lost. Not at once, as pods of a deleted job run on for a moment.
inline constexpr std::chrono::seconds kLongestBroken{60};
// Since the last tenant should have ended, and nothing is left to reclaim.
inline constexpr std::chrono::minutes kLongestOverdue{10};
// Then the same gang may reserve again.
inline constexpr std::chrono::seconds kReserveAgain{60};

// The gang gives its reservation up.
void lapse(GangWork& gang, SysTime now);

// What the gang reserves on each node: host ports and places apart from its kind, too.
NodeAmounts sum_reserved(const gang::PodGroup& group, const gang::Reservation& reservation);

// Lives within one cycle. Borrows its arguments.
class ReservedNodes {
 public:
  struct Entry {
    GroupWork* group = nullptr;
    GangWork* gang = nullptr;
    queue::ReservedFor terms;
    std::vector<std::string_view> reclaiming_queues;  // terms borrows them
    NodeAmounts wanted;
    NodeBalance balance;
    bool is_ranked = false;  // its queue serves by rank: neither FIFO nor fairUsers
    // Why it did not get its nodes a moment ago; kNotSearched: it may try.
    gang::PreemptionOutcome reclaim = gang::PreemptionOutcome::kNotSearched;
    bool is_reached = false;  // in this pass: who is served from now on comes after it
    bool is_over = false;     // it started, or the reservation lapsed

    GangKey key() const { return {group->seen->group->meta.uid, gang->name}; }
  };
  using Indices = std::vector<std::size_t>;  // of entries()

  // After what runs was healed, before anything starts. Gangs whose reservations cannot be kept
  // lose them; plans that would end too late are dropped.
  ReservedNodes(const CycleFacts& facts, CycleWork& work, Ledger& ledger, ReservationMemory& memory,
                NextLook& next_look);

  std::vector<Entry>& entries() { return entries_; }
  const std::vector<Entry>& entries() const { return entries_; }
  bool empty() const { return entries_.empty(); }
  Entry* find(const GangWork& gang);
  // queue::find_reclaiming_queues().
  std::vector<std::string_view> find_reclaiming_queues(std::string_view queue) const {
    return queue::find_reclaiming_queues(facts_.tree(), facts_.options.preemption, queue);
  }
  // Gangs with a reservation that preempt. They are not among the entries: they have their nodes.
  std::size_t reclaiming() const { return reclaiming_; }
  // Nodes were reserved in this cycle, which what was decided before did not know.
  bool has_new() const { return has_new_; }
  void note_new() { has_new_ = true; }
  // Less of a node is kept than in the last cycle, and no change of the node shows it.
  bool keeps_less() const { return keeps_less_; }

  void begin_pass();
  // It is the gang's turn.
  void reach(const GangWork& gang);
  // Where the order of service is that of ranks: all before this one have had their turn.
  void reach_before(const queue::Rank& rank);
  void end(const GangWork& gang);

  // A gang is planned without `all` first, so that it uses no reserved node without need, and then
  // without `forbidden`.
  struct Blocking {
    Indices all;        // reservations that are not over, without its own
    Indices forbidden;  // of these: whose kept capacity it may not use
  };
  Blocking find_blocking(const GroupWork& work, const GangWork& gang) const;
  // The reservations on whose nodes the gang may not preempt.
  Indices find_closed(const GroupWork& work, const GangWork& gang) const;
  // The reservations whose kept capacity the job may not use when it reserves capacity for its
  // requests again (ReservedPlaces::restore()).
  Indices find_forbidden(const GroupWork& work) const;
  Indices find_kept() const;     // all that are not over
  Indices find_reached() const;  // of these: closed to gangs of other operators
  // For a plan: hold, plan, release what was held. No node gets less than nothing by it: what may
  // start there has used a part of what is kept.
  using Held = std::vector<std::pair<std::string_view, kube::Resources>>;  // nodes of entries()
  Held hold(const Indices& indices, Ledger& ledger) const;
  static void release(const Held& held, Ledger& ledger);
  // For trials in which more becomes free: nothing of these nodes may be used.
  void close(const Indices& indices, Ledger& ledger) const;
  std::vector<ReservedBy> name(const Indices& indices) const;
  // Sets GangStatus::planned_run_seconds of base gangs that are planned and not committed yet.
  void note_promises(CycleWork& work) const;

 private:
  void collect(CycleWork& work, ReservationMemory& memory);
  void lapse_overlapping();
  bool is_unchanged(const Entry& entry, const Ledger& ledger) const;
  void weigh(const std::vector<NodeTenant>& tenants, Ledger& ledger);
  queue::Workload make_candidate(const GroupWork& work, const GangWork& gang) const;
  bool is_served_after(const Entry& entry, const GangWork& plan, queue::Usage usage,
                       const Ledger& ledger) const;
  bool drop_late_plans(const Entry& entry, std::vector<NodeTenant>& tenants, Ledger& ledger) const;
  std::optional<SysTime> find_first_late(const Entry& entry,
                                         const std::vector<NodeTenant>& tenants) const;
  void note_shares(Ledger& ledger, ReservationMemory& memory);

  const CycleFacts& facts_;
  CycleWork& work_;
  const SysTime now_;
  std::vector<Entry> entries_;
  std::size_t reclaiming_ = 0;
  bool keeps_less_ = false;
  bool has_new_ = false;
};

}  // namespace nervex::planner
