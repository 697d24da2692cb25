// extender/observe/parts/cached_groups.h - which PodGroups are there, and which of them wait, run
// or are settled?
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "extender/observe/parts/commits.h"
#include "extender/observe/parts/effective_group.h"
#include "extender/observe/parts/group_placements.h"
#include "extender/observe/parts/pod_history.h"
#include "extender/observe/parts/queue_facts.h"

namespace nervex::extender {

struct CachedGroup {
  CachedGroup(NodeTable& nodes, const SlotPods& pods) : placements(nodes, pods) {}
  // To plan with: see EffectiveGroup.
  const gang::PodGroupPtr& group() const { return placements.group(); }
  // A pod of this slot was created or refused. Counts only for an uncommitted plan.
  void note_progress(const gang::PodSlot& slot, bool is_created, MonoTime now);
  // A pod of this slot came to its bind.
  void note_held(const gang::PodSlot& slot, MonoTime now);

  gang::PodGroupPtr stored;  // as read
  EffectiveGroup effective;
  GroupPlacements placements;
  Commits commits;
  PodHistory history;
  // Of group()'s slots; null: none.
  std::shared_ptr<const queue::OtherUses> uses;
  queue::Settled::Workloads workloads;  // of group()'s gangs, in their order; without node classes
  bool is_settled = false;              // according to spec and status
  std::string waits_in;                 // the namespace, if a gang has no plan; else ""
  std::vector<std::string> victims;     // PodGroup UIDs that its gangs which are preempting name
};

class CachedGroups {
 public:
  CachedGroups(NodeTable& nodes, const SlotPods& pods, const ExistingPods& existing,
               const VolumeStores& volumes, QueueFacts& queues)
      : nodes_(nodes), pods_(pods), existing_(existing), volumes_(volumes), queues_(queues) {}

  // Null: no PodGroup of that UID was seen.
  CachedGroup* find(std::string_view uid);
  const CachedGroup* find(std::string_view uid) const;
  // Null also if the pod does not count for it: it is of another origin (gang/slot.h).
  CachedGroup* find_for(std::string_view uid, const kube::Pod& pod);
  const std::map<std::string, CachedGroup, std::less<>>& all() const { return by_uid_; }

  // The API server's object of this key (namespace/name) is `stored`, of a known or a new UID.
  void set(const std::string& key, const gang::PodGroupPtr& stored);
  // The UID of the PodGroup that had this key and is not `stored`, which may be null; nullopt:
  // none.
  std::optional<std::string> erase_replaced(const std::string& key,
                                            const gang::PodGroupPtr& stored);
  // What its pods or volumes show has changed.
  void refresh(CachedGroup& entry) { set_stored(entry, entry.stored); }
  // The same for those that depend on volumes that `is_one` chooses. True if there were any.
  bool refresh_if(const std::function<bool(const VolumesUsed&)>& is_one);
  // A pod of that slot was bound, deleted, refused or stopped.
  void refresh_slot(const gang::PodSlot& slot);

  // Counts the PodGroups again whose pods use something else since the last call, or whose queue
  // was deleted.
  void update_use();
  // The classes of nodes have changed.
  void recount_settled();

  // A gang that is preempting names it.
  bool is_victim(const std::string& uid) const { return victims_.count(uid) > 0; }
  // Of these gangs that are preempting: GroupSeen::victims.
  std::map<std::string, std::vector<planner::VictimState>, std::less<>> see_victims(
      const gang::PodGroup& group) const;
  // Of one gang that is preempting.
  bool are_victims_gone(const gang::PodGroup& group, const gang::GangStatus& gang) const;
  // Where the pods of a victim of that group are. Empty: its PodGroup was deleted, and was not of
  // the same namespace.
  std::string find_namespace(const gang::PodGroup& group, const gang::Victim& victim) const;

  // A gang of this namespace has no plan.
  bool is_any_waiting(const std::string& ns) const { return waiting_.count(ns) > 0; }

 private:
  void set_stored(CachedGroup& entry, const gang::PodGroupPtr& stored);
  void set_waits_in(CachedGroup& entry, const std::string& ns);
  void list_use(CachedGroup& entry);
  void note_homes();
  void note_use(const CachedGroup& entry, const gang::PodSlot& slot);
  void count_settled(const CachedGroup& entry);
  void set_victims(CachedGroup& entry, const gang::PodGroupStatus& status);
  planner::VictimState see_victim(const gang::PodGroup& preemptor,
                                  const gang::Victim& victim) const;

  NodeTable& nodes_;
  const SlotPods& pods_;
  const ExistingPods& existing_;
  const VolumeStores& volumes_;
  QueueFacts& queues_;  // gets the workloads of CachedGroup::is_settled
  std::map<std::string, CachedGroup, std::less<>> by_uid_;
  std::map<std::string, std::string, std::less<>> uids_;  // by namespace/name
  std::multiset<std::string> victims_;                    // CachedGroup::victims of all
  std::map<std::string, int> waiting_;  // PodGroups with a gang that has no plan, by namespace
  std::set<std::string> changed_use_;   // PodGroup UIDs, for update_use()
};

// check_commit() of this gang on the node table. `group`: the entry's, or the one about to be
// written.
Result<Nothing> check_capacity(CachedGroup& entry, const gang::PodGroup& group,
                               const std::string& gang, const NodeTable& nodes);

}  // namespace nervex::extender
