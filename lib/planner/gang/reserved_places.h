// planner/gang/reserved_places.h - what happens to the capacity that a committed gang has
// reserved for requests? Pure.
//
// The base gang of a job may reserve capacity for pods that the job's coordinator will request
// (MemberSet::reserved_pods). It is planned and committed with the gang (gang_work.h) and recorded
// in its status (GangStatus::reserved). This class maintains it afterwards:
// docs/adr/2026-11-22-reserved-capacity.md.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/facts/snapshot.h"
#include "planner/gang/gang_work.h"
#include "planner/gang/ledger.h"

namespace nervex::planner {

// For one PodGroup and one cycle. Borrows from the PodGroup.
class ReservedPlaces {
 public:
  // Starts from the status if the base gang is committed: the snapshot has subtracted it. Capacity
  // for sets that are no longer in the spec is left out, as in the cluster cache.
  explicit ReservedPlaces(const GroupSeen& seen);

  // Releases what is on deleted or overfull nodes: no pod runs there yet. Call before anything else
  // is taken from the ledger.
  void leave_overfull_nodes(Ledger& ledger);
  // Hands places to the sets that take them over (MemberSet::from_reserved) while their gang has no
  // plan, and gives back what nothing in the spec requests. A dropped plan leaves its places to its
  // sets.
  void hand_over(const std::vector<GangWork>& gangs, Ledger& ledger);
  // A gang of the same PodGroup gets nodes as by planner::complete() of place_gang.h: its slots use
  // the places reserved for it, and other nodes for the rest. If it does not fit the places stay
  // reserved.
  std::optional<gang::NoFit> complete(GangWork& gang, Ledger& ledger);
  // The same for a committed gang that found no node for all missing slots: it may use capacity
  // reserved for requests that have not come. What it does not need stays reserved.
  std::optional<gang::NoFit> heal(GangWork& gang, Ledger& ledger);
  // Reserves missing places, and moves those on nodes that no longer accept such a pod. A place
  // without another node stays, or remains missing. `gang`: any of the PodGroup.
  void restore(Ledger& ledger, const GangWork& gang);

  // Calls it with set, node and number of pods for what is reserved for sets of the gang.
  template <typename Visit>
  void visit(const GangWork& gang, const Visit& visit) const {
    for (const ReservedPlace& place : places_) {
      if (gang.has_set(place.set)) visit(*place.set, place.node, 1);
    }
  }
  const std::vector<ReservedPlace>& all() const { return places_; }
  // For the status, by set and node.
  std::vector<gang::ReservedCapacity> places() const;

 private:
  std::optional<gang::NoFit> complete_on_places(GangWork& gang, Ledger& ledger);
  void keep(const gang::MemberSet& set, int count, Ledger& ledger);
  void take_dropped_plan(const gang::MemberSet& set, const GangWork& gang, Ledger& ledger);
  void take_over(const gang::MemberSet& from, const gang::MemberSet& to, int count, Ledger& ledger);
  int count(const gang::MemberSet& set) const;

  const gang::PodGroup* group_ = nullptr;
  bool is_committed_ = false;
  std::vector<ReservedPlace> places_;
  std::vector<std::pair<const gang::MemberSet*, int>> wanted_;  // known after hand_over()
};

// As in the status: number of pods by the names of set and node.
using PodCounts = std::map<std::pair<std::string_view, std::string_view>, int>;
std::vector<gang::ReservedCapacity> reserved_capacity(const PodCounts& counts);
// For all of these pods.
std::vector<gang::ReservedCapacity> reserved_capacity(const std::vector<PlacedSlot>& placed);

// "capacity for 2 learners is reserved", "... for 1 of 2 learners ..."; "" if none is or should be.
std::string describe_reserved(const gang::PodGroup& group,
                              const std::vector<gang::ReservedCapacity>& reserved);

}  // namespace nervex::planner
