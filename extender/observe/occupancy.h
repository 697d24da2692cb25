// extender/observe/occupancy.h - what capacity is used and reserved, for which slots and PodGroups?
// The parts of Plans, guarded by its lock.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "extender/cycle/snapshot.h"
#include "extender/cycle/waiting.h"
#include "extender/recovery/restored.h"
#include "gang/slot.h"
#include "kube/model/node.h"
#include "kube/model/pod.h"
#include "kube/model/resources.h"
#include "placement/cluster.h"

namespace nervex::extender {

using NodePtr = std::shared_ptr<const kube::Node>;

// Used and reserved capacity of each node. Pods and placements may name unknown nodes (not yet
// seen, or deleted): they count as soon as the node is known.
class NodeTable {
 public:
  void set_node(const std::string& name, const NodePtr& node);  // null: deleted

  // Capacity that pods occupy.
  void use(const std::string& node, const kube::Resources& amount);
  void stop_using(const std::string& node, const kube::Resources& amount);
  // Capacity of placements whose pods are not bound.
  void reserve(const std::string& node, const kube::Resources& amount, bool committed);
  void release(const std::string& node, const kube::Resources& amount, bool committed);
  // Capacity that pods outside of gangs are nominated for. `stays`: it is now used, or nominated
  // again; otherwise the node has gained it.
  void nominate(const std::string& node, int priority, const kube::Resources& amount);
  void withdraw(const std::string& node, int priority, const kube::Resources& amount, bool stays);
  std::vector<Nominated> nominated() const;

  // Known nodes, free = allocatable - used - reserved for committed gangs. Cached: a call costs the
  // nodes whose capacity changed since the last one, or all nodes if one was added, deleted or
  // relevantly changed. Use a copy on one thread only.
  const placement::Cluster& cluster() const;
  // Known nodes by name, free = allocatable - used - all reserved. Cost: nodes, and arithmetic for
  // those that changed since the last call.
  std::vector<placement::NodeView> spare_views() const;
  // Net changes since the last call; all nodes at the first call. Cost: nodes that were touched.
  std::vector<NodeChange> take_changes();
  // Something is reserved on this node, and it exceeds the capacity beside nominated pods.
  bool is_overfull(std::string_view name) const;
  // For a request of this priority: capacity of nominated pods of the same or a higher priority is
  // not free.
  std::optional<placement::NodeView> view(std::string_view name, int priority) const;
  // nullopt if nothing is reserved on it.
  std::optional<ReservedNode> reserved_node(std::string_view name) const;

 private:
  struct Entry {
    NodePtr node;
    kube::Resources used;
    kube::Resources reserved;  // committed or not
    kube::Resources reserved_committed;
    // allocatable - used - reserved_committed, if `is_free_known`.
    mutable kube::Resources free;
    mutable bool is_free_known = false;
    // As take_changes() left it. An unknown node has no spare capacity.
    NodePtr shown_node;
    kube::Resources shown_spare;
    bool is_touched = false;          // since take_changes(): its name is in touched_
    bool has_lost_nominated = false;  // since take_changes(): a nominated pod was withdrawn
    mutable std::size_t row = 0;      // in cluster_
    mutable bool is_changed = false;  // since cluster_ has read it
  };
  using Entries = std::map<std::string, Entry, std::less<>>;
  // The entry is about to change.
  Entry& touch(const std::string& name);
  void drop_if_empty(const std::string& name);
  static const kube::Resources& free_resources(const Entry& entry);
  static kube::Resources spare_resources(const Entry& entry);
  void rebuild() const;

  Entries entries_;
  // By node and priority. Not part of `spare`: requests of a higher priority may take it.
  std::map<std::string, std::map<int, kube::Resources>, std::less<>> nominated_;
  bool are_changes_taken_ = false;  // false: changes are not collected (not the leader)
  std::vector<std::string> touched_;
  // The cluster() cache, and what changed since.
  mutable placement::Cluster cluster_;
  mutable bool is_outdated_ = true;              // rebuild all of it
  mutable std::vector<const Entry*> changed_{};  // otherwise: known nodes that changed
};

// Which pods were bound for which slot. Pods may be seen before their PodGroup: the UID in their
// annotation is enough.
class SlotPods {
 public:
  // The pod of a slot was bound to a node.
  void add(const gang::PodSlot& slot, const kube::Pod& pod);
  // That pod, bound or not, was deleted.
  void remove(const gang::PodSlot& slot, const kube::Pod& pod);

  // A pod of namespace `ns` was or is being bound for this placement: its capacity counts as the
  // pod's own, or the pod has finished.
  bool is_bound(const std::string& group_uid, std::string_view ns,
                const gang::Placement& placement) const;
  // The state of the pod of namespace `ns` for this placement. Cost: log(slots).
  MemberSeen::Pod state(const std::string& group_uid, std::string_view ns,
                        const gang::Placement& placement) const;
  // A pod of this slot and incarnation has finished, for any placement: the slot gets no other pod.
  bool has_finished(const std::string& group_uid, std::string_view ns, std::string_view role,
                    gang::SlotId slot) const;
  // The kubelet has started the pod of this placement, or the pod has finished on its own.
  bool has_started(const std::string& group_uid, std::string_view ns,
                   const gang::Placement& placement) const;
  bool is_seen_bound(const gang::PodSlot& slot, std::string_view pod_uid) const;
  struct Named {
    std::string name;
    std::string uid;
  };
  // Another pod of its namespace that was or is being bound for the slot, and has not finished.
  // nullopt: none.
  std::optional<Named> other_live_pod(const gang::PodSlot& slot, const kube::Pod& pod) const;

  // That pod is not bound. Records whether kube-scheduler has refused it.
  void set_unbound(const gang::PodSlot& slot, const kube::Pod& pod);
  // kube-scheduler's message if it refused the pod of this placement; else "".
  std::string refusal(const std::string& group_uid, std::string_view ns,
                      const gang::Placement& placement) const;
  // Its pod has schedulingGates: kube-scheduler ignores it.
  bool is_gated(const std::string& group_uid, std::string_view ns,
                const gang::Placement& placement) const;
  // Why no pod runs for this placement, if so. Finished pods count as running unless the cluster
  // stopped them. Cost: the pods of the slot.
  std::optional<OpenSlot> open_slot(const std::string& group_uid, std::string_view ns,
                                    const gang::Placement& placement) const;

  // Pods of that PodGroup and namespace that are being deleted: GroupSeen::ending. Cost: their
  // number.
  std::map<std::pair<std::string, int>, EndingPod> ending(const std::string& group_uid,
                                                          std::string_view ns) const;

  // Pods of that PodGroup and namespace that were or are being bound, by slot. Cost: their number.
  std::vector<BoundSlot> bound(const std::string& group_uid, std::string_view ns) const;

  // This pod is being bound to that node for the slot, until it is added or removed.
  void assume(const gang::PodSlot& slot, const kube::Pod& pod, const std::string& node);
  void forget(const gang::PodSlot& slot, std::string_view pod_uid);

 private:
  struct BoundPod {
    std::string name;
    std::string ns;
    std::string node;    // empty: being bound
    std::string target;  // the node, while it is being bound
    std::int64_t placement = 0;
    bool finished = false;
    kube::SharedString node_lost{};   // why its node counts as lost
    kube::SharedString taken_away{};  // why the cluster stopped it
    int incarnation = 0;
    bool has_started = false;
  };
  struct Refusal {
    std::string pod_uid;
    kube::SharedString message;
    SysTime since{};
  };
  using PlacementKey = std::tuple<std::string, std::string, std::int64_t>;
  using SlotName = std::pair<std::string, int>;                     // role and ordinal
  using PodsOfSlot = std::map<std::string, BoundPod, std::less<>>;  // by pod UID

  const PodsOfSlot& find(const std::string& group_uid, const SlotName& name) const;
  void erase(const gang::PodSlot& slot, std::string_view pod_uid);

  std::map<std::string, std::map<SlotName, PodsOfSlot>> groups_;  // by PodGroup UID
  // By PodGroup UID, the pod's namespace, and placement number.
  std::map<PlacementKey, Refusal> refusals_;
  std::map<PlacementKey, std::string> gated_;  // the pod's UID, by the same key
  struct Ending {
    SlotName slot;
    std::string ns;
    EndingPod pod;
  };
  std::map<std::pair<std::string, std::string>, Ending> ending_;  // by PodGroup UID and pod UID
};

// The placements of one PodGroup's slots. Reserves their capacity in the node table during its
// lifetime.
class GroupPlacements {
 public:
  GroupPlacements(NodeTable& nodes, const SlotPods& pods) : nodes_(nodes), pods_(pods) {}
  ~GroupPlacements() { release_all(); }
  GroupPlacements(const GroupPlacements&) = delete;
  GroupPlacements& operator=(const GroupPlacements&) = delete;

  void set_group(PodGroupPtr group);
  // Not null: a status that may or may not be stored; its placements are reserved in addition to
  // the known ones.
  void set_attempted(PodGroupPtr attempted);
  // Whether the gang's placements already count as committed before the status says so.
  void set_committing(const std::string& gang, bool committing);
  // A pod of that slot was bound, deleted, refused or stopped.
  void refresh(const gang::PodSlot& slot);

  // At least one slot of a committed gang is open.
  bool is_open() const { return !open_.empty(); }
  const PodGroupPtr& group() const { return group_; }
  const PodGroupPtr& attempted() const { return attempted_; }
  const std::set<std::string>& committing() const { return committing_; }
  SlotSeen seen(std::string_view role, int ordinal) const;
  GangSeen seen(std::string_view name) const;
  // Open slots of committed gangs, by placement number. Cost: their number.
  std::vector<OpenSlot> open_slots() const;
  // An attempted status lacks this placement.
  bool may_lose(std::int64_t placement) const;
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
  std::optional<OpenSlot> open_slot(const Reservation& reservation) const;
  void refresh(std::int64_t number);
  void count(const Reservation& reservation, bool add);
  void note_open(std::int64_t number, const Reservation& reservation);
  void add_reserved(const gang::PodGroup& group);
  void count_reserved(bool add);

  NodeTable& nodes_;
  const SlotPods& pods_;
  PodGroupPtr group_;
  PodGroupPtr attempted_;
  std::set<std::string> committing_;
  std::map<std::int64_t, Reservation> reservations_;  // by placement number; wanted slots only
  std::set<std::int64_t> open_;                       // open ones, of committed gangs
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
