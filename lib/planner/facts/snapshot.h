// planner/facts/snapshot.h - which state does a scheduling cycle decide on? Values, copied out of
// the cluster cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gang/objects.h"
#include "gang/pod_group.h"
#include "kube/model/objects.h"
#include "placement/cluster.h"
#include "planner/facts/foreign_view.h"
#include "queue/facts.h"

namespace nervex::planner {

// A slot of a committed gang whose pod was not seen to run on the slot's node.
struct OpenSlot {
  enum class Why {
    kUnbound,     // no pod, or an unbound pod
    kNotStarted,  // created with its node, whose kubelet has not started it
    kRefused,     // unbound: kube-scheduler refused it; `message`, `since` of its condition
    kTakenAway,   // stopped by the cluster: evicted, rejected by the kubelet; `message`
    kNodeLost,    // its node is lost; `message`
  };
  gang::Placement placement;
  Why why = Why::kUnbound;
  std::string message{};
  SysTime since{};
  // By the cluster: its controller is about to want the next incarnation, or the next attempt.
  bool is_stopped() const { return why == Why::kTakenAway || why == Why::kNodeLost; }
};

// How often this node's kubelet has rejected pods of that set since this process started watching.
struct NodeRejections {
  std::string set;
  std::string node;
  int times = 0;
};

// A bound pod that is being deleted and has not finished. Its slot gets no new pod before that.
struct EndingPod {
  std::string name;
  int incarnation = 0;
  SysTime until{};  // its deletionTimestamp: the end of its grace period
};

// What has become of a gang that is to end for another one (gang::Victim).
enum class VictimState {
  kRuns,    // has placements of that start, perhaps until its controller requeues it
  kEnding,  // has none, and some of their pods have not finished
  kGone,
};

// Placement numbers of slots whose pods have finished: they use no capacity.
using FinishedPlacements = std::set<std::int64_t>;

// A PodGroup that runs, with nothing to decide.
struct RunningGroup {
  gang::PodGroupPtr group;
  FinishedPlacements finished;
  queue::Settled::Workloads workloads{};  // as those of GroupSeen
  std::shared_ptr<const queue::OtherUses> uses{};

  queue::Workload make_workload(std::size_t index) const {
    return workloads ? (*workloads)[index] : queue::make_workload(*group, index, uses.get());
  }
};

// A PodGroup in a snapshot.
struct GroupSeen {
  gang::PodGroupPtr group;
  // A status was written and may or may not be stored; `group` carries that status. Its placements
  // are reserved, and nothing is decided about it until the object has been read.
  bool unconfirmed = false;
  std::set<std::string> committing;  // gangs whose first bind is being written
  std::vector<OpenSlot> open{};      // of gangs that are stored as committed
  std::vector<NodeRejections> rejections{};
  // Why the slot's last pod was lost, by role and ordinal; only slots without a new pod.
  std::map<std::pair<std::string, int>, std::string> losses{};
  // By role and ordinal; the pod that ends last. None on lost nodes: those pods are removed.
  std::map<std::pair<std::string, int>, EndingPod> ending{};
  // Slots (role, ordinal) that the spec wants and that have no pod; sorted. Filled only if the
  // namespace has a ResourceQuota.
  std::vector<std::pair<std::string_view, int>> without_pod{};
  // As the status should be; the sets of `group` already have these requests.
  std::vector<gang::EnlargedSet> enlarged{};
  // Of `group`'s gangs, in their order: kept with it, so that a cycle does not sum up their
  // requests. Null: list_workloads(*group, uses). The cycle knows better their queue and state.
  queue::Settled::Workloads workloads{};
  // Of its slots; null: none.
  std::shared_ptr<const queue::OtherUses> uses{};
  // They are in Snapshot::facts. A pod is lost, or not bound yet.
  bool is_settled = false;
  // The stored status lacks parts of `group`: write it again.
  bool is_restored = false;
  // Of its gangs that are preempting, by name: in the order of GangStatus::victims.
  std::map<std::string, std::vector<VictimState>, std::less<>> victims{};
  bool is_victim = false;  // a gang that is preempting names it
  // Of its gangs that are not committed: "data=missing" (extender/observe/parts/volumes.h).
  std::vector<std::string> unusable_claims{};
  // Empty when `running` is, unless a gang of it is preempted.
  FinishedPlacements finished{};

  // The gang at this index of PodGroupSpec::gangs.
  queue::Workload make_workload(std::size_t index) const {
    return workloads ? (*workloads)[index] : queue::make_workload(*group, index, uses.get());
  }
  bool is_committed(const gang::GangStatus& gang) const {
    return gang.committed || committing.count(gang.name) > 0;
  }
};

// Capacity of a node for which pods of other owners are nominated (status.nominatedNodeName):
// others are preempted for them, or they are about to be bound. As in kube-scheduler it counts as
// taken for pods of the same or a lower priority.
struct Nominated {
  std::string node;
  int priority = 0;
  kube::Resources requests;  // of all with this priority
};

// The input of the planner.
struct Snapshot {
  // free = allocatable - occupying pods - committed placements whose pod is not bound.
  placement::Cluster nodes;
  std::vector<GroupSeen> groups;  // in no order
  // Queues, quotas, and the workloads that use capacity and wait for nothing. Those are of
  // PodGroups whose gangs are all placed and committed according to spec and status
  // (GroupSeen::is_settled).
  queue::Facts facts{};
  // Gangs of other operators. Their nominated pods are not subtracted from `nodes`.
  std::vector<ForeignGangSeen> foreign{};
  std::vector<Nominated> nominated{};  // not of gangs; in no order
  // PodGroups that are not in `groups`. In a cycle they are listed, and so is `terminating`, only
  // while a gang waits and workloads may end for it: with reservations, or if a queue preempts.
  std::vector<RunningGroup> running{};
  // Pods of any owner that are being deleted and occupy a node.
  std::vector<kube::PodPtr> terminating{};
};

}  // namespace nervex::planner
