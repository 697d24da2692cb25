// extender/decide/reserved_places.h - what becomes of the capacity that a committed gang has
// reserved for requests? Pure.
//
// The base gang of a job may reserve capacity for pods that the job's coordinator will ask for
// (MemberSet::reserved_pods). It is planned and committed with the gang (gang_work.h) and stands in
// its status (GangStatus::reserved). From then on it is looked after here:
// docs/adr/2026-11-22-reserved-capacity.md.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "extender/decide/gang_work.h"
#include "extender/decide/ledger.h"
#include "extender/decide/view.h"

namespace nervex::extender {

// Of one PodGroup, within one cycle. Borrows from the PodGroup.
class ReservedPlaces {
 public:
  // What the status has, if the base gang is committed: the snapshot has subtracted it. What is
  // reserved for sets that the spec does not have any more is left out, as in Plans.
  explicit ReservedPlaces(const GroupSeen& seen);

  // Gives up what is on nodes that were deleted or hold more than they can: no pod runs there yet.
  // Before anything else is taken from the ledger.
  void leave_overfull_nodes(Ledger& ledger);
  // Hands places to the sets that take them over (MemberSet::from_reserved) while their gang has no
  // plan, and gives back what nothing in the spec asks for. A plan that was dropped leaves its
  // places to its sets.
  void hand_over(const std::vector<GangWork>& gangs, Ledger& ledger);
  // As extender::complete() of gang_work.h, of a gang of the same PodGroup: its slots go to the
  // places reserved for it, and to others what has none there. If it does not fit the places stay
  // reserved.
  std::optional<placement::NoFit> complete(GangWork& gang, Ledger& ledger);
  // The same of a committed gang that found no place for all that is missing: it may use what is
  // reserved, for requests that have not come. What it does not need stays reserved.
  std::optional<placement::NoFit> heal(GangWork& gang, Ledger& ledger);
  // Reserves what is lacking, and anew what is on nodes that take no such pod now. What finds no
  // place is lacking, or stays where it is. `gang`: any of the PodGroup.
  void restore(Ledger& ledger, const GangWork& gang);

  // For the status, by set and node.
  std::vector<gang::ReservedCapacity> places() const;

 private:
  struct Place {  // of one pod
    const gang::MemberSet* set = nullptr;
    std::string node;
  };

  std::optional<placement::NoFit> complete_on_places(GangWork& gang, Ledger& ledger);
  void keep(const gang::MemberSet& set, int count, Ledger& ledger);
  void take_dropped_plan(const gang::MemberSet& set, const GangWork& gang, Ledger& ledger);
  void take_over(const gang::MemberSet& from, const gang::MemberSet& to, int count, Ledger& ledger);
  int count(const gang::MemberSet& set) const;
  const gang::MemberSet* find_set(std::string_view name) const;

  const gang::PodGroup* group_ = nullptr;
  bool is_committed_ = false;
  std::vector<Place> places_;
  std::vector<std::pair<const gang::MemberSet*, int>> wanted_;  // known after hand_over()
};

// As the status has it, of numbers of pods by the name of their set and node.
using PodCounts = std::map<std::pair<std::string_view, std::string_view>, int>;
std::vector<gang::ReservedCapacity> reserved_capacity(const PodCounts& counts);

// "capacity for 2 learners is reserved", "... for 1 of 2 learners ..."; "" if none is or should be.
std::string describe_reserved(const gang::PodGroup& group,
                              const std::vector<gang::ReservedCapacity>& reserved);

}  // namespace nervex::extender
