// planner/gang/gang_work.h - which slots of one gang have a placement, and which need one?
// Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "planner/facts/snapshot.h"
#include "planner/gang/gang_plan.h"
#include "planner/gang/ledger.h"

namespace nervex::planner {

// An obstacle keeps a gang from new placements in this cycle, also if nodes and queue have space.
// Of two the later one counts.
enum class Obstacle {
  kNone,
  kPaused,     // not committed: its last plans failed, and it is planned again later (refusals.h)
  kOverLimit,  // committed: pods taken from its job use what its queue allows; no_fit says so
  kRejected,   // the API server rejects a plan for it
  kPreempted,  // committed, and to end for another gang: until its controller has requeued it
};

// How a gang that had victims has stopped preempting in this cycle.
enum class StoppedPreemption {
  kNo,
  kAfterMark,  // its queue has counted the preemption, and its victims may end
  kWithdrawn,  // before any victim could be marked: the preemption does not count
};

// Capacity that is reserved for one pod, which does not exist: ReservedPlaces.
struct ReservedPlace {
  const gang::MemberSet* set = nullptr;
  std::string node;
};

// A gang of this suite. Points into the PodGroup that it was made from.
struct GangWork : GangPlan {
  std::string name;
  std::size_t position = 0;  // in PodGroupSpec::gangs
  gang::GangKind kind = gang::GangKind::kBase;
  const GroupSeen* seen = nullptr;           // it was made from this
  const gang::GangStatus* before = nullptr;  // from the status; null: a new gang
  std::vector<const gang::MemberSet*> sets;
  // All gangs of its PodGroup, and the capacity that is reserved beside them, in a cycle: topology
  // keeps their pods together. Empty outside of a cycle.
  std::span<const GangWork> siblings{};
  const std::vector<ReservedPlace>* reserved = nullptr;
  std::vector<gang::MemberSet> missing;  // the sets, each with its slots that have no placement
  // Sets with the slots that may wait (gang::may_wait()) and have no placement; not in `missing`.
  std::vector<gang::MemberSet> growing;
  std::vector<const OpenSlot*> open;  // of `placed`
  std::vector<std::string> losses;    // placements lost in this cycle, and why
  Obstacle obstacle = Obstacle::kNone;
  std::string preempted{};              // of Obstacle::kPreempted: what its status says
  std::optional<SysTime> plan_after{};  // of a paused gang, also if another obstacle counts
  // Starts have failed for what its start needs, too: before this it preempts nothing.
  std::optional<SysTime> preempts_after{};
  // What its status says beside `no_fit`: why nothing ends and no node is reserved for it.
  std::string note{};
  // Resources that kube-scheduler allocates for it where it is placed (delegated.h); only of a gang
  // that is not committed.
  std::vector<std::string> delegated{};
  // Not empty: it has nodes whose pods, those of the victims, have to end first.
  std::vector<gang::Victim> victims{};
  bool may_need_fewer = false;  // of the victims: the search ended at its limit in this cycle
  StoppedPreemption stopped_preemption = StoppedPreemption::kNo;
  std::optional<gang::Reservation> reservation{};  // while it waits
  std::optional<SysTime> reserve_after{};          // it has waited, but gets no other one before
  // As GangStatus::planned_run_seconds.
  std::optional<std::int64_t> planned_run_seconds{};

  void obstruct(Obstacle found) { obstacle = std::max(obstacle, found); }
  void preempt(std::string message) {
    obstruct(Obstacle::kPreempted);
    preempted = std::move(message);
  }
  bool is_preempted() const { return obstacle == Obstacle::kPreempted; }
  bool has_stopped_preempting() const { return stopped_preemption != StoppedPreemption::kNo; }
  // It keeps its placements.
  bool is_committed() const { return stage >= GangStage::kCommitting; }
  bool is_stored_committed() const { return stage == GangStage::kCommitted; }
  bool has_set(const gang::MemberSet* set) const;
  // The slot whose placement has this number, or end().
  std::vector<PlacedSlot>::iterator find_placed(std::int64_t number);
  // A set of this gang, which has no plan, takes over reserved capacity.
  bool claims_reserved() const;
  // The same, and it needs nothing beside that.
  bool is_within_reserved() const;

  bool is_whole() const { return is_assumed() && missing.empty(); }
  std::size_t wanted() const;   // slots
  std::size_t lacking() const;  // of them: those in `missing`
};

// The gangs of a PodGroup in the order of its spec, without those that have no
// slots. A slot has its placement from the status, in any gang: the spec may move slots between
// gangs, and a gang that gets a committed placement is committed. Placements of slots that the spec
// no longer wants, or wants with another incarnation, are left out. The capacity of committed gangs
// is reserved: the snapshot has subtracted it.
// Capacity that an uncommitted gang is to reserve (MemberSet::reserved_pods) is among its slots, as
// gang::reserved_slot(): it is planned with them or not at all. For a committed gang see
// reserved_places.h.
std::vector<GangWork> collect_gang_work(const GroupSeen& seen);

// Removes the unbound placements of a committed gang from nodes that no longer accept them: the
// slots become missing. Their capacity stays subtracted until the status is written. Ignores pods
// created with their node: the kubelet or a lost node decides about those.
void drop_unbindable(GangWork& work, Ledger& ledger);

// Takes the capacity of an uncommitted gang, if every slot has a placement and all of them fit. For
// a committed gang, takes that of placements from an uncommitted one; slots that do not fit become
// missing.
void recheck(GangWork& work, Ledger& ledger);
// Takes the capacity of an uncommitted plan if all of it is free there, else nothing: in a ledger
// of any kind, so that the gang's stage stays as it is.
bool try_take(const GangWork& work, Ledger& ledger);
// Takes the capacity of all placements even if they do not fit.
void take_unchecked(GangWork& work, Ledger& ledger);
// The plan of an uncommitted gang gives its capacity back.
void yield(GangWork& work, Ledger& ledger);
// The gang gets no placements in this cycle, and loses those it has unless it is committed.
void reject(GangWork& work);

// The gang loses its placements unless it is committed.
void drop_plan(GangWork& work);
// The same, even if it is committed.
void forget_placements(GangWork& work);
// Takes the placements that fit, within GangPlan::group_limits if they are not of reserved
// capacity; the other slots become missing.
void keep_what_fits(GangWork& work, Ledger& ledger);

// A slot that may wait, and got its placement in this cycle.
bool has_grown(const PlacedSlot& slot);

// The set with these slots alone.
gang::MemberSet with_slots(const gang::MemberSet& set, std::vector<gang::SlotId> slots);
// The set's slots and those of the capacity that is planned with them.
std::vector<gang::SlotId> all_slots(const gang::MemberSet& set);

}  // namespace nervex::planner
