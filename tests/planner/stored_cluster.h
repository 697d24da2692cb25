// tests/planner/stored_cluster.h - which objects does the API server have, and what does a
// scheduling cycle see of them? Tests and simulations change them between cycles.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/facts/snapshot.h"
#include "queue/report.h"
#include "tests/queue/builders.h"
#include "tests/support/gang_builders.h"

namespace nervex::testing {

inline queue::Queue for_all(queue::Queue queue) {
  queue.namespace_selector = {};
  return queue;
}

// It takes what it may from others.
inline queue::Queue a_taking_queue(queue::Queue queue) {
  queue.reclaim = queue::Queue::Reclaim::kAny;
  queue.preemption = queue::Queue::Preemption::kLowerPriority;
  return for_all(std::move(queue));
}

inline placement::NodeView node_of_class(const std::string& name, const char* node_class) {
  return view(labelled(a_node(name, 8), "class", node_class));
}

// Of each of its pods.
inline int gpus_of(const gang::PodGroup& group) {
  return static_cast<int>(group.spec.gangs[0].members[0].shape.requests.get(kGpu));
}

// Each gang has one set, and all are in namespace "rl". Pods of a committed gang use its nodes;
// objects of their own are only those that are being deleted.
struct StoredCluster {
  gang::PodGroup* find(std::string_view name);
  gang::PodGroup& get(std::string_view name) { return *find(name); }
  const gang::PodGroup* find_uid(std::string_view uid) const;
  gang::PodGroup* find_uid(std::string_view uid);
  // A gang that preempts names it as a victim; any gang of the PodGroup if `gang` is empty.
  bool is_named(std::string_view uid, std::string_view gang = "") const;

  // ---- queues

  // Cycles see the queues as they are now.
  void set_tree();
  // What a cycle says of their preemptions, which the next one sees.
  void store(const std::vector<queue::Report>& reports);

  // The Queue of the gang for which this one ends counts it in its rate, which is not exceeded. The
  // root has none.
  bool is_counted(std::string_view uid, std::string_view gang) const;

  // ---- pods that are being deleted

  void terminate(const gang::PodGroup& group, const gang::GangStatus& gang,
                 const gang::Placement& placement, SysTime until);
  bool is_terminating(const gang::PodGroup& group, std::int64_t placement) const;
  // Its slot has that placement still: the pod was evicted.
  bool is_placed(const kube::Pod& pod) const;

  // ---- the controller's part

  // The next attempt of the job is a PodGroup of its own, without requests. `until`: of the pods.
  void requeue(gang::PodGroup& group, SysTime until);
  // The pods of the request have their next incarnation.
  void requeue_request(gang::PodGroup& group, std::size_t gang, SysTime until);
  // All pods of the gang that are not being deleted yet.
  void terminate(const gang::PodGroup& group, const gang::GangStatus& gang, SysTime until);

  // ---- kube-scheduler's part

  // Binds a planned gang; false: its nodes lack the capacity.
  bool try_bind(gang::GangStatus& gang, const gang::PodGroup& group, SysTime now) const;

  // ---- what cycles see

  std::vector<placement::NodeView> free_nodes() const;
  std::int64_t free_gpus(std::string_view node) const;  // of a node that exists
  // `sees_ending`: also pods that are being deleted, as if workloads may be preempted.
  planner::Snapshot snapshot(bool sees_ending = true) const;

  std::vector<queue::Queue> queues;
  std::vector<placement::NodeView> nodes;  // empty
  std::vector<gang::PodGroup> groups;
  std::vector<kube::PodPtr> terminating;
  std::optional<std::int64_t> gpu_quota;                    // ResourceQuota "gpus" of the namespace
  std::vector<std::pair<std::string, int>> others;          // pods of another scheduler: node, GPUs
  std::set<std::pair<std::string, std::int64_t>> finished;  // PodGroup UID, placement
  std::set<std::pair<std::string, std::int64_t>> lost;      // the same, on nodes that are lost
  std::vector<std::string> unusable_claims;                 // "data=missing", of all jobs
  std::set<std::string, std::less<>> unconfirmed;  // PodGroups by name: stored, but not known to be
  std::shared_ptr<const queue::QueueTree> tree = std::make_shared<const queue::QueueTree>();

 private:
  planner::VictimState see_victim(const gang::Victim& victim) const;
  planner::GroupSeen see(const gang::PodGroup& group) const;
  queue::OtherUses list_uses(const gang::PodGroup& group) const;
  std::vector<queue::Workload> list_orphaned() const;
  void add_quota(planner::Snapshot& snapshot) const;
};

// What ends a name for each further attempt of a job.
inline constexpr std::string_view kAgain = "-again";

}  // namespace nervex::testing
