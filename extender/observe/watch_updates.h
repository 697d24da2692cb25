// extender/observe/watch_updates.h - how do watch events change the cluster cache, and does the
// planner have to look?
#pragma once

#include <string>

#include "extender/observe/parts/cluster_state.h"

namespace nervex::extender {

// Whether a change of a gang's pod can affect a plan.
bool matters(const kube::PodPtr& before, const kube::PodPtr& after);

// Thread-safe: each kind from one thread, every `after` being the next `before`.
class WatchUpdates {
 public:
  explicit WatchUpdates(ClusterState& state) : state_(state) {}

  void node_changed(const kube::NodePtr& before, const kube::NodePtr& after);
  // Does the planner have to look?
  enum class Look {
    kNo,
    // Only if a gang waits for capacity.
    kAtCapacity,
    // Always: a gang may be within its ResourceQuota now, because a pod that was counted as planned
    // exists; a pod is larger than planned; a gang's pod does not run as planned, or was the last
    // to be bound; or a node with reserved capacity has less than that. A pod that was bound as
    // planned is no reason: it uses its own reservation.
    kNow,
  };
  Look pod_changed(const kube::PodPtr& before, const kube::PodPtr& after);
  // True if a gang of that namespace waits.
  bool quota_changed(const QuotaPtr& before, const QuotaPtr& after);
  // Any gang may be affected.
  void queue_changed(const QueuePtr& before, const QueuePtr& after);
  // True if it may affect a gang that waits: there are queues.
  bool namespace_changed(const NamespacePtr& before, const NamespacePtr& after);
  // A list of all pods begins, and has ended: `pods` has the result. No watch event reports a pod
  // that was created and deleted while the watch was down, so a list forgets assumed pods that it
  // lacks, if they were assumed before it began. True if there were any: their capacity is free.
  void pod_list_begins();
  bool pods_listed(const kube::Store<kube::Pod>& pods);
  // The store has a new state of this PodGroup (namespace/name), or none. By any thread.
  void group_changed(const std::string& key) { state_.group_changed(key); }
  // The stores have a new state of this claim (namespace/name) or volume, or none. True if a
  // PodGroup depends on it. Cost: PodGroups. By any thread.
  bool claim_changed(const std::string& key);
  bool volume_changed(const std::string& name);
  // True if other resources are left to kube-scheduler now. Cost: then nodes.
  bool device_class_changed(const kube::DeviceClassPtr& before, const kube::DeviceClassPtr& after);
  // PodGroups of other operators; and whether their kind is not installed.
  void foreign_group_changed(const kube::ForeignGroupPtr& before,
                             const kube::ForeignGroupPtr& after);
  void set_foreign_kind_missing(bool is_missing);

 private:
  struct PodChange;
  void move_slot_pod(const PodChange& change) REQUIRES(state_.mutex);
  void note_bound(const gang::PodSlot& slot, const kube::Pod& pod) REQUIRES(state_.mutex);
  void note_created_or_refused(const PodChange& change) REQUIRES(state_.mutex);
  bool learn_requests(const gang::PodSlot& slot, const kube::Pod& pod) REQUIRES(state_.mutex);
  void forget_assumed(const kube::PodPtr& before, const kube::PodPtr& after) REQUIRES(state_.mutex);
  Look look_after_gang_pod(const kube::PodPtr& before, const kube::PodPtr& after)
      REQUIRES(state_.mutex);

  ClusterState& state_;
};

}  // namespace nervex::extender
