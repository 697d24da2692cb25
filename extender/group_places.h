// extender/group_places.h - which capacity does one PodGroup hold, and which slot has which place?
// A part of Plans, guarded by its lock.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "extender/node_table.h"
#include "extender/slot_pods.h"
#include "extender/view.h"

namespace nervex::extender {

// Counts the PodGroup's places in the node table for as long as it lives.
class GroupPlaces {
 public:
  GroupPlaces(NodeTable& nodes, const SlotPods& pods) : nodes_(nodes), pods_(pods) {}
  ~GroupPlaces() { release_all(); }
  GroupPlaces(const GroupPlaces&) = delete;
  GroupPlaces& operator=(const GroupPlaces&) = delete;

  void set_group(PodGroupPtr group);
  // Not null: a status that may have been stored or not; its places are held beside the known ones.
  void set_attempted(PodGroupPtr attempted);
  // Whether the gang's places count as committed though its status does not say so yet.
  void set_committing(const std::string& gang, bool committing);
  // A pod of that slot was bound or is gone.
  void refresh(const gang::PodSlot& slot);

  const PodGroupPtr& group() const { return group_; }
  const PodGroupPtr& attempted() const { return attempted_; }
  const std::set<std::string>& committing() const { return committing_; }
  SlotSeen seen(std::string_view role, int ordinal) const;

 private:
  struct Place {
    gang::Placement placement;
    const gang::MemberSet* set = nullptr;  // of group_ or attempted_
    const gang::PodGroup* group = nullptr;
    const gang::GangStatus* gang = nullptr;  // of that group's status
    bool committed = false;
    bool bound = false;
  };

  void hold_all();
  void release_all();
  void add_places(const gang::PodGroup& group);
  void count(const Place& place, bool add);

  NodeTable& nodes_;
  const SlotPods& pods_;
  PodGroupPtr group_;
  PodGroupPtr attempted_;
  std::set<std::string> committing_;
  std::map<std::int64_t, Place> places_;  // by number, of wanted slots
  // Role and ordinal to number, of group_ alone.
  std::map<std::pair<std::string, int>, std::int64_t> numbers_;
};

}  // namespace nervex::extender
