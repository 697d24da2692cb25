// extender/decide/gang_work.h - which slots of one gang have a placement, and which need one? Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "extender/decide/domains.h"
#include "extender/decide/ledger.h"
#include "extender/decide/view.h"

namespace nervex::extender {

// A slot that has a placement. A new placement has number 0.
struct PlacedSlot {
  const gang::MemberSet* set = nullptr;
  gang::Placement placement;
  bool is_counted = false;  // the snapshot has subtracted it: it is of a committed gang
};

// Points into the PodGroup that it was made from.
struct GangWork {
  std::string name;
  const GroupSeen* seen = nullptr;           // that it was made from
  const gang::GangStatus* before = nullptr;  // as the status has it; null: a new gang
  // It keeps the placements it has: committed, or the commit is being written.
  bool committed = false;
  bool is_stored_committed = false;  // not only being written
  bool is_reserved = false;          // the capacity of all in `placed` was taken from the ledger
  std::vector<const gang::MemberSet*> sets;
  std::vector<PlacedSlot> placed;
  std::vector<gang::MemberSet>
      missing;  // the sets with those of their slots that have no placement
  std::optional<placement::NoFit> no_fit;    // why they have none, if they cannot get one
  std::vector<placement::NodeLimit> limits;  // that new placements obey, for the whole gang
  std::vector<const OpenSlot*> open;         // of what is in `placed`
  std::vector<std::string> losses;  // placements that were taken from it in this cycle, and why
  bool is_paused = false;           // not planned again yet (refusals.h)
  bool is_rejected = false;         // they have none because the API server stores no such plan
  // Capacity that the sets of a gang without a plan take over from what is reserved: 0 for others.
  bool claims_reserved() const;

  // False: the gang does without such a pod for as long as it takes (MemberSet::heals_alone).
  bool is_of_quorum(std::string_view role) const;
  bool is_whole() const { return is_reserved && missing.empty(); }
  std::size_t wanted() const;   // slots
  std::size_t lacking() const;  // of them: those in `missing`
};

// The gangs of a PodGroup in the order of first mention in its spec; one without slots is left out.
// A slot has the placement that the status has for it, in whichever gang: the spec may move slots
// from one gang to another, and a gang that gets a committed placement is committed. Placements of
// slots that the spec does not want (any more, or with another incarnation) are left out. The
// capacity of committed gangs is reserved: the snapshot has subtracted it.
// Capacity that a gang which is not committed is to reserve (MemberSet::reserved_pods) is among its
// slots, as gang::reserved_slot(): it is planned with them, or nothing is. That of a committed gang
// is not: reserved_places.h.
std::vector<GangWork> gangs_of(const GroupSeen& seen);

// Of a committed gang, takes the placements whose pod is not bound on nodes that do not take it any
// more: the slot is missing then. Their capacity stays subtracted until the status is written. Not
// of pods that are created with their node: what becomes of those the kubelet or a lost node tells.
void drop_unbindable(GangWork& work, const Ledger& ledger);

// Gives a slot in `placed` another node than it has, if there is one; false if not. Its capacity on
// the first one stays subtracted as above.
bool move_slot(GangWork& work, PlacedSlot& slot, Ledger& ledger);

// Takes the capacity of a gang that is not committed, if every slot has a placement and all of them
// fit. Of a committed gang that of placements that came from a gang that is not; where one does not
// fit the slot is missing.
void recheck(GangWork& work, Ledger& ledger);
// Takes the capacity of all placements, whether they fit or not.
void take_unchecked(GangWork& work, Ledger& ledger);
// The gang gets no placements in this cycle, and keeps those that it has only if it is committed.
void reject(GangWork& work);

// The gang keeps the placements that it has only if it is committed.
void drop_plan(GangWork& work);

// Gives every slot without a placement one, or returns why that cannot be. What still fits stays
// where it is if the rest fits beside it; else the whole gang is planned again, and if that fails
// too it is left without placements. A committed gang keeps its placements and only gets what is
// missing, or as much of it as fits: it runs in part already, and what it gets nobody else can
// take. The job's own aggregator gets its place alone, as it is of use without the rest, and the
// rest without it.
std::optional<placement::NoFit> complete(GangWork& work, Ledger& ledger);

// Where the job has pods already that others have to be with: those of this gang but for `except`,
// and of others that are committed.
TakenDomains taken_domains(const GangWork& work, const Ledger& ledger,
                           const PlacedSlot* except = nullptr);

// Nodes with capacity for as many of these pods as possible, up to `count`. Takes nothing.
std::vector<std::string> find_nodes(const gang::MemberSet& set, int count, const Ledger& ledger,
                                    std::span<const placement::NodeLimit> limits,
                                    const TakenDomains& taken);

// What the gang's limits leave for the slots that have no placement.
std::vector<placement::NodeLimit> limits_left(const GangWork& work);

}  // namespace nervex::extender
