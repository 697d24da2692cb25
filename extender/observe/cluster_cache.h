// extender/observe/cluster_cache.h - which capacity is used and reserved, for which pods and gangs?
// The extender's single view of the cluster.
//
// Updated with each change, so that filter costs one look-up. A new process reads it from the API
// again, except the capacity of writes in progress, what is remembered of pods (PodHistory), and
// whether a gang of another operator was whole (whole_with). Each user gets the part of it that it
// needs.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "extender/observe/bind_cache.h"
#include "extender/observe/parts/cluster_state.h"
#include "extender/observe/planner_cache.h"
#include "extender/observe/watch_updates.h"

namespace nervex::extender {

// Thread-safe.
class ClusterCache {
 private:
  ClusterState state_;

 public:
  // Reads PodGroups from `groups`, their volumes from `volumes` and, for a new selector, `pods`;
  // folds API replies into `groups`. All arguments must outlive this.
  ClusterCache(kube::Store<gang::PodGroup>& groups, const kube::Store<kube::Pod>& pods,
               const VolumeStores& volumes, const Clock& clock)
      : state_(groups, pods, volumes, clock) {}
  ClusterCache(const ClusterCache&) = delete;
  ClusterCache& operator=(const ClusterCache&) = delete;

  // `observe` gets the PodGroup's UID after each fold(), without the lock: the watch does not
  // report what the store already has. Call before any other.
  void observe_folds(std::function<void(const std::string& uid)> observe) {
    state_.observe_fold = std::move(observe);
  }

  // The planner gets these labels, and queues the one of node classes. Call before any other.
  void set_node_labels(const placement::NodeLabels& labels) {
    MutexLock lock(state_.mutex);
    state_.queues.set_class_label(labels.node_class);
    state_.nodes.set_labels(labels);
  }

  WatchUpdates updates{state_};
  PlannerCache planner{state_};
  BindCache binds{state_};
};

}  // namespace nervex::extender
