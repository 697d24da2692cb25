// extender/gang_work.h - what is there and what is missing of one gang's plan? Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "extender/ledger.h"
#include "extender/view.h"

namespace nervex::extender {

// A slot that has a place. A new place has number 0.
struct PlacedSlot {
  const gang::MemberSet* set = nullptr;
  gang::Placement placement;
  bool is_counted = false;  // the snapshot has subtracted it: it stands in a committed gang
};

// Points into the PodGroup that it was made from.
struct GangWork {
  std::string name;
  const gang::GangStatus* before = nullptr;  // as the status has it; null: a new gang
  // It keeps the places it has: committed, or the commit is being written.
  bool committed = false;
  bool is_stored_committed = false;  // not only being written
  bool holds = false;  // the places in `placed` were taken from the ledger, all of them
  std::vector<const gang::MemberSet*> sets;
  std::vector<PlacedSlot> placed;
  std::vector<gang::MemberSet> missing;  // the sets with those of their slots that have no place
  std::optional<gang::NoFit> no_fit;     // why they have none, if they cannot get one
  bool is_rejected = false;              // they have none because no API server stores such a plan

  bool is_whole() const { return holds && missing.empty(); }
  std::size_t wanted() const;  // slots
};

// The gangs of a PodGroup in the order of first mention in its spec; one without slots is left out.
// A slot has the place that the status knows for it, in whichever gang it stands: the spec may move
// slots from one gang to another, and a gang that gets a committed place is committed. Places of
// slots that the spec does not want (any more, or with another incarnation) are left out.
// Committed gangs hold their places: the snapshot has subtracted them.
std::vector<GangWork> gangs_of(const GroupSeen& seen);

// Takes the places of a gang that is not committed, if every slot has one and all of them fit: then
// it holds them. Of a committed gang those that came from one that is not; where they do not fit
// the slot is missing.
void recheck(GangWork& work, Ledger& ledger);
// Takes them whether they fit or not.
void hold_blindly(GangWork& work, Ledger& ledger);
// A gang that is not whole stays as it is, for this cycle: it gets no placements, and what it has
// counts only if it is committed.
void reject(GangWork& work);

// Gives every slot that has no place one, or answers why that cannot be. What still fits stays
// where it is if the rest fits beside it; else the gang is planned again, and if that fails too it
// is left without places. A committed gang keeps its places and only gets what is missing.
std::optional<gang::NoFit> complete(GangWork& work, Ledger& ledger);

}  // namespace nervex::extender
