// extender/observe/parts/group_placements.h - which capacity do the plans of one PodGroup reserve?
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "extender/observe/parts/node_table.h"
#include "extender/observe/parts/slot_pods.h"
#include "gang/slot.h"
#include "planner/bind/bind_view.h"
#include "planner/facts/snapshot.h"

namespace nervex::extender {

// The placements of one PodGroup's slots. Reserves their capacity in the node table during its
// lifetime.
class GroupPlacements {
 public:
  GroupPlacements(NodeTable& nodes, const SlotPods& pods) : nodes_(nodes), pods_(pods) {}
  ~GroupPlacements() { release_all(); }
  GroupPlacements(const GroupPlacements&) = delete;
  GroupPlacements& operator=(const GroupPlacements&) = delete;

  void set_group(gang::PodGroupPtr group);
  // Not null: a status that may or may not be stored; its placements are reserved in addition to
  // the known ones.
  void set_attempted(gang::PodGroupPtr attempted);
  // Whether the gang's placements already count as committed before the status says so.
  void set_committing(const std::string& gang, bool committing);
  // A pod of that slot was bound, deleted, refused or stopped.
  void refresh(const gang::PodSlot& slot);

  // At least one slot of a committed gang is open.
  bool is_open() const { return !open_.empty(); }
  const gang::PodGroupPtr& group() const { return group_; }
  const gang::PodGroupPtr& attempted() const { return attempted_; }
  const std::set<std::string>& committing() const { return committing_; }
  planner::SlotSeen seen(std::string_view role, int ordinal) const;
  planner::GangSeen seen(std::string_view name) const;
  // Open slots of committed gangs, by placement number. Cost: their number.
  std::vector<planner::OpenSlot> open_slots() const;
  // An attempted status lacks this placement.
  bool may_lose(std::int64_t placement) const;
  // Placements whose slots have had their last pod: they use no capacity.
  const planner::FinishedPlacements& finished() const { return finished_; }
  // `other` takes the placement of a pod that is or is being bound from a committed gang.
  bool supersedes_bound(const gang::PodGroup& other) const;

 private:
  struct Reservation {
    gang::Placement placement;
    const gang::MemberSet* set = nullptr;  // of group_ or attempted_
    const gang::PodGroup* group = nullptr;
    const gang::GangStatus* gang = nullptr;  // of that group's status
    bool committed = false;
    bool bound = false;
    bool over = false;  // a pod of the slot has finished: it gets no other
  };

  void reserve_all();
  void release_all();
  void add_placements(const gang::PodGroup& group);
  void see_pods(Reservation& reservation) const;
  bool waits_for_kubelet(const Reservation& reservation) const;
  std::optional<planner::OpenSlot> open_slot(const Reservation& reservation) const;
  void refresh(std::int64_t number);
  void count(const Reservation& reservation, bool add);
  void note_open(std::int64_t number, const Reservation& reservation);
  void add_reserved(const gang::PodGroup& group);
  void count_reserved(bool add);

  NodeTable& nodes_;
  const SlotPods& pods_;
  gang::PodGroupPtr group_;
  gang::PodGroupPtr attempted_;
  std::set<std::string> committing_;
  std::map<std::int64_t, Reservation> reservations_;  // by placement number; wanted slots only
  std::set<std::int64_t> open_;                       // open ones, of committed gangs
  planner::FinishedPlacements finished_;
  // Capacity without a slot, by set and node.
  struct ReservedPods {
    const gang::MemberSet* set = nullptr;  // of group_ or attempted_
    int count = 0;                         // the larger of both
    bool committed = false;
  };
  std::map<std::pair<std::string_view, std::string_view>, ReservedPods> reserved_;
  // Role and ordinal to number, of group_ alone.
  std::map<std::pair<std::string, int>, std::int64_t> numbers_;
};

}  // namespace nervex::extender
