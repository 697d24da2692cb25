// extender/decide/view.h - on what are the extender's decisions made? Values, copied out of Plans.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "extender/decide/foreign_view.h"
#include "gang/pod_group.h"
#include "gang/slot.h"
#include "placement/cluster.h"
#include "queue/quota.h"
#include "queue/settled.h"

namespace nervex::extender {

using queue::QuotaPtr;
using PodGroupPtr = std::shared_ptr<const gang::PodGroup>;

// A slot of a committed gang whose pod does not run on the slot's node, as far as pods were seen.
struct OpenSlot {
  enum class Why {
    kUnbound,     // it has no pod, or its pod is not bound
    kNotStarted,  // created with its node, whose kubelet has not begun with it
    kRefused,     // not bound: kube-scheduler has refused it; `message`, `since` of its condition
    kTakenAway,   // stopped by the cluster: evicted, rejected by the kubelet; `message`
    kNodeLost,    // its node is lost; `message`
  };
  gang::Placement placement;
  Why why = Why::kUnbound;
  std::string message{};
  SysTime since{};
};

// How often this node's kubelet has rejected pods of that set, since this process watches.
struct NodeRejections {
  std::string set;
  std::string node;
  int times = 0;
};

// A bound pod that is being deleted and has not finished. Its slot gets no other pod before that.
struct EndingPod {
  std::string name;
  int incarnation = 0;
  SysTime until{};  // its deletionTimestamp: when its grace period is over
};

// A PodGroup in a snapshot.
struct GroupSeen {
  PodGroupPtr group;
  // A status was written and it is not known whether it was stored; `group` carries that status.
  // Its placements are reserved, and nothing is decided about it until the object has been read.
  bool unconfirmed = false;
  std::set<std::string> committing;  // gangs whose first bind is being written right now
  std::vector<OpenSlot> open{};      // of gangs that are stored as committed
  std::vector<NodeRejections> rejections{};
  // Why the slot's last pod is gone, by role and ordinal; of those that have no new one yet.
  std::map<std::pair<std::string, int>, std::string> losses{};
  // By role and ordinal; the one that takes longest. None on a lost node: those are removed.
  std::map<std::pair<std::string, int>, EndingPod> ending{};
  // Slots (role, ordinal) that the spec wants and that have no pod; sorted. Only filled where the
  // namespace has a ResourceQuota.
  std::vector<std::pair<std::string_view, int>> without_pod{};
  // As the status should have it; the sets of `group` have these requests already.
  std::vector<gang::EnlargedSet> enlarged{};
  // The stored status lacks what `group` has: it is to be written again.
  bool is_restored = false;

  bool is_committed(const gang::GangStatus& gang) const {
    return gang.committed || committing.count(gang.name) > 0;
  }
};

// Capacity of a node that pods of other owners are nominated for (status.nominatedNodeName): others
// are preempted for them, or they are about to be bound. As in kube-scheduler it counts as taken
// for what has the same priority or a lower one.
struct Nominated {
  std::string node;
  int priority = 0;
  kube::Resources requests;  // of all with this priority
};

// What the planner decides on.
struct Snapshot {
  // free = allocatable - occupying pods - committed placements whose pod is not bound.
  placement::Cluster nodes;
  std::vector<GroupSeen> groups;   // in no order
  std::vector<QuotaPtr> quotas{};  // of namespaces with PodGroups; by namespace and name
  // Gangs of other operators. Their nominated pods are not subtracted from `nodes`.
  std::vector<ForeignGangSeen> foreign{};
  std::vector<Nominated> nominated{};  // not of gangs; in no order
  // PodGroups whose gangs are all placed and committed, as far as spec and status say. `groups` has
  // those with something to decide all the same: a pod is lost, or not bound yet.
  std::shared_ptr<const queue::Settled> settled{};
};

// What is known about the slot that a pod names in its annotations.
struct SlotSeen {
  PodGroupPtr group;  // null: no PodGroup of that UID was seen
  // The slot's placement, if it has one and the spec still wants the slot, in any incarnation.
  std::optional<gang::Placement> placement;
  // The gang whose status has the placement; the spec may have moved the slot to another gang
  // since.
  std::string gang;
  bool committed = false;    // that gang
  kube::Resources requests;  // of the pod that was planned
  bool bind_last = false;    // as MemberSet::bind_last
  // Of the status as it was read: a pod with this number or a higher one is newer than that.
  std::int64_t next_placement = 0;
};

// A wanted slot of a gang, and how far its pod is. `set` points into the PodGroup beside it.
struct MemberSeen {
  enum class Pod {
    kUnbound,  // or there is none yet
    kAssumed,  // being bound
    // Created with its node (gang::is_direct()), whose kubelet has not begun with it, or has
    // rejected it. kube-scheduler has said nothing of such a pod, so the kubelet has to.
    kNotStarted,
    kBound,  // seen bound, or finished since
  };
  const gang::MemberSet* set = nullptr;
  gang::SlotId slot;
  std::optional<gang::Placement> placement;  // in whichever gang's plan
  Pod pod = Pod::kUnbound;                   // of that placement
  std::string refusal{};                     // what kube-scheduler says of it, if it refuses it
  // If it does: Refusal::unusable_claims.
  std::vector<std::string> unusable_claims{};
};

struct GangSeen {
  PodGroupPtr group;  // null: no PodGroup of that UID was seen
  bool committed = false;
  std::vector<MemberSeen> members;  // all that the spec wants, in its order
};

// A node on which capacity is reserved for gangs.
struct ReservedNode {
  std::string name;
  // allocatable - occupying pods - reserved placements; may be below zero. nullopt: the node is not
  // known (yet), as when kube-scheduler has seen before us that it is there again.
  std::optional<kube::Resources> spare;
};

}  // namespace nervex::extender
