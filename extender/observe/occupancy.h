// extender/observe/occupancy.h - what capacity is used and reserved, for which slot and PodGroup?
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

#include "extender/decide/restored.h"
#include "extender/decide/view.h"
#include "extender/decide/waiting.h"
#include "gang/slot.h"
#include "kube/model/node.h"
#include "kube/model/pod.h"
#include "kube/model/resources.h"
#include "placement/cluster.h"

namespace nervex::extender {

using NodePtr = std::shared_ptr<const kube::Node>;

// What is used and reserved on each node. Pods and placements may name nodes that are not known
// (yet, or any more): they count as soon as the node is known.
class NodeTable {
 public:
  void set_node(const std::string& name, const NodePtr& node);  // null: deleted

  // Capacity that pods occupy.
  void use(const std::string& node, const kube::Resources& amount);
  void stop_using(const std::string& node, const kube::Resources& amount);
  // Capacity of placements whose pod is not bound.
  void reserve(const std::string& node, const kube::Resources& amount, bool committed);
  void release(const std::string& node, const kube::Resources& amount, bool committed);
  // Capacity that a pod is nominated for, of others than gangs. `stays`: it is used from now on, or
  // nominated again; else the node has gained it.
  void nominate(const std::string& node, int priority, const kube::Resources& amount);
  void withdraw(const std::string& node, int priority, const kube::Resources& amount, bool stays);
  std::vector<Nominated> nominated() const;

  // Known nodes, free = allocatable - used - reserved for committed gangs. Kept from call to call:
  // the cost is that of the nodes whose capacity changed since the last one, and of all nodes if
  // one came or went, or changed in a way that plans depend on. A copy is to be used by one thread.
  const placement::Cluster& cluster() const;
  // Known nodes by name, free = allocatable - used - all that is reserved. Cost: nodes, and
  // arithmetic for those that changed since the last call.
  std::vector<placement::NodeView> spare_views() const;
  // What changed between the last call and now, as far as a difference is left; of all nodes at the
  // first call. Cost: nodes that were touched.
  std::vector<NodeChange> take_changes();
  // Something is reserved on this node, and more than it has room for, beside nominated pods.
  bool is_overfull(std::string_view name) const;
  // For something of this priority: what nominated pods of the same one or a higher one ask for is
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
    // As take_changes() left it. Spare capacity of no node is nothing.
    NodePtr shown_node;
    kube::Resources shown_spare;
    bool is_touched = false;          // since: its name is in touched_
    bool has_lost_nominated = false;  // since: a pod is not nominated for it any more
    mutable std::size_t row = 0;      // in cluster_
    mutable bool is_changed = false;  // since cluster_ has read it
  };
  using Entries = std::map<std::string, Entry, std::less<>>;
  // It is about to change.
  Entry& touch(const std::string& name);
  void drop_if_empty(const std::string& name);
  static const kube::Resources& free_of(const Entry& entry);
  static kube::Resources spare_of(const Entry& entry);
  void rebuild() const;

  Entries entries_;
  // By node and priority. Not in `spare`: what has a higher priority may take it.
  std::map<std::string, std::map<int, kube::Resources>, std::less<>> nominated_;
  bool are_changes_taken_ = false;  // else nobody asks for them: not the leader
  std::vector<std::string> touched_;
  // What cluster() has read, and what changed since.
  mutable placement::Cluster cluster_;
  mutable bool is_outdated_ = true;              // all of it
  mutable std::vector<const Entry*> changed_{};  // of known nodes, if it is not
};

// Which pods were bound for which slot. Pods may be seen before their PodGroup: the UID that their
// annotation names is all it takes.
class SlotPods {
 public:
  // A pod of a slot that was bound to a node.
  void add(const gang::PodSlot& slot, const kube::Pod& pod);
  // That pod, bound or not, was deleted.
  void remove(const gang::PodSlot& slot, const kube::Pod& pod);

  // A pod of namespace `ns` was bound for this placement, or is being bound: its capacity is
  // counted as the pod's own, or the pod has finished.
  bool is_bound(const std::string& group_uid, std::string_view ns,
                const gang::Placement& placement) const;
  // How far the pod of namespace `ns` for this placement is. Cost: log(slots).
  MemberSeen::Pod state(const std::string& group_uid, std::string_view ns,
                        const gang::Placement& placement) const;
  // A pod of this slot and incarnation has finished, whatever placement it was bound for: the slot
  // gets no other one.
  bool has_finished(const std::string& group_uid, std::string_view ns, std::string_view role,
                    gang::SlotId slot) const;
  // The kubelet has begun with the pod of this placement; or it has finished by itself.
  bool has_started(const std::string& group_uid, std::string_view ns,
                   const gang::Placement& placement) const;
  bool is_seen_bound(const gang::PodSlot& slot, std::string_view pod_uid) const;
  struct Named {
    std::string name;
    std::string uid;
  };
  // Another pod of its namespace that was bound for the slot, or is being bound, and has not
  // finished. nullopt: there is none.
  std::optional<Named> other_live_pod(const gang::PodSlot& slot, const kube::Pod& pod) const;

  // That pod is not bound. Remembers whether kube-scheduler has refused it.
  void set_unbound(const gang::PodSlot& slot, const kube::Pod& pod);
  // What kube-scheduler said when it refused the pod of this placement; "" if it did not.
  std::string refusal(const std::string& group_uid, std::string_view ns,
                      const gang::Placement& placement) const;
  // Its pod has schedulingGates: kube-scheduler does not look at it.
  bool is_gated(const std::string& group_uid, std::string_view ns,
                const gang::Placement& placement) const;
  // Why nothing runs for this placement, if so. Finished pods count as running unless something
  // stopped them. Cost: the pods of the slot.
  std::optional<OpenSlot> open_slot(const std::string& group_uid, std::string_view ns,
                                    const gang::Placement& placement) const;

  // Pods of that PodGroup and namespace that are being deleted: GroupSeen::ending. Cost: as many as
  // there are.
  std::map<std::pair<std::string, int>, EndingPod> ending(const std::string& group_uid,
                                                          std::string_view ns) const;

  // The pods of that PodGroup and namespace that were bound, or are being bound, by slot. Cost: as
  // many as there are.
  std::vector<BoundSlot> bound(const std::string& group_uid, std::string_view ns) const;

  // From now on this pod is being bound to that node for the slot; until it is added or removed.
  void assume(const gang::PodSlot& slot, const kube::Pod& pod, const std::string& node);
  void forget(const gang::PodSlot& slot, std::string_view pod_uid);

 private:
  struct BoundPod {
    std::string name;
    std::string ns;
    std::string node;    // empty: being bound
    std::string target;  // where to, if it is being bound
    std::int64_t placement = 0;
    bool finished = false;
    kube::SharedString node_lost{};   // why its node counts as lost
    kube::SharedString taken_away{};  // what stopped it
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
  std::map<PlacementKey, std::string> gated_;  // by the same; the pod's UID
  struct Ending {
    SlotName slot;
    std::string ns;
    EndingPod pod;
  };
  std::map<std::pair<std::string, std::string>, Ending> ending_;  // by PodGroup UID and pod UID
};

// Which slot of one PodGroup has which placement. Reserves the capacity of its placements in the
// node table for as long as it lives.
class GroupPlacements {
 public:
  GroupPlacements(NodeTable& nodes, const SlotPods& pods) : nodes_(nodes), pods_(pods) {}
  ~GroupPlacements() { release_all(); }
  GroupPlacements(const GroupPlacements&) = delete;
  GroupPlacements& operator=(const GroupPlacements&) = delete;

  void set_group(PodGroupPtr group);
  // Not null: a status that may have been stored or not; its placements are reserved beside the
  // known ones.
  void set_attempted(PodGroupPtr attempted);
  // Whether the gang's placements count as committed though its status does not say so yet.
  void set_committing(const std::string& gang, bool committing);
  // A pod of that slot was bound, deleted or refused, or was stopped.
  void refresh(const gang::PodSlot& slot);

  // A slot of a committed gang is.
  bool is_open() const { return !open_.empty(); }
  const PodGroupPtr& group() const { return group_; }
  const PodGroupPtr& attempted() const { return attempted_; }
  const std::set<std::string>& committing() const { return committing_; }
  SlotSeen seen(std::string_view role, int ordinal) const;
  GangSeen seen(std::string_view gang) const;
  // Those of committed gangs, in the order of their numbers. Cost: as many as there are.
  std::vector<OpenSlot> open_slots() const;
  // There is an attempted status without this placement.
  bool may_lose(std::int64_t placement) const;
  // `status` takes the placement of a pod that is bound, or is being bound, from a committed gang.
  bool supersedes_bound(const gang::PodGroup& other) const;

 private:
  struct Reservation {
    gang::Placement placement;
    const gang::MemberSet* set = nullptr;  // of group_ or attempted_
    const gang::PodGroup* group = nullptr;
    const gang::GangStatus* gang = nullptr;  // of that group's status
    bool committed = false;
    bool bound = false;
    bool over = false;  // a pod of the slot has finished: it gets no other one
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
  std::map<std::int64_t, Reservation> reservations_;  // by placement number, of wanted slots
  std::set<std::int64_t> open_;                       // those of committed gangs that are open
  // Capacity without a slot, by set and node.
  struct ReservedPods {
    const gang::MemberSet* set = nullptr;  // of group_ or attempted_
    int count = 0;                         // the larger one of the two
    bool committed = false;
  };
  std::map<std::pair<std::string_view, std::string_view>, ReservedPods> reserved_;
  // Role and ordinal to number, of group_ alone.
  std::map<std::pair<std::string, int>, std::int64_t> numbers_;
};

}  // namespace nervex::extender
