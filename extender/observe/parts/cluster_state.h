// extender/observe/parts/cluster_state.h - what does the cluster cache consist of? One lock over
// its parts.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "extender/observe/parts/assumed_pods.h"
#include "extender/observe/parts/cached_groups.h"
#include "extender/observe/parts/existing_pods.h"
#include "extender/observe/parts/foreign_gangs.h"
#include "extender/observe/parts/matching_pods.h"
#include "extender/observe/parts/node_table.h"
#include "extender/observe/parts/orphaned_pods.h"
#include "extender/observe/parts/queue_facts.h"
#include "extender/observe/parts/slot_pods.h"
#include "extender/observe/parts/terminating_pods.h"
#include "extender/observe/parts/volumes.h"
#include "kube/cache/store.h"

namespace nervex::extender {

// No I/O under the lock.
struct ClusterState {
  ClusterState(kube::Store<gang::PodGroup>& group_store, const kube::Store<kube::Pod>& all_pods,
               const VolumeStores& volume_stores, const Clock& time)
      : store(group_store), pod_store(all_pods), volumes(volume_stores), clock(time) {}

  // The store has a new state of this PodGroup (namespace/name), or none.
  void group_changed(const std::string& key);
  // As BindCache::fold().
  void fold(gang::PodGroup group);
  // The pod is not being bound any more.
  void release_assumed(const gang::PodSlot& slot, const std::string& pod_uid) REQUIRES(mutex);

  kube::Store<gang::PodGroup>& store;
  const kube::Store<kube::Pod>& pod_store;
  const VolumeStores& volumes;
  const Clock& clock;
  std::function<void(const std::string& uid)> observe_fold = [](const std::string&) {};

  Mutex mutex;
  CondVar commit_ended;
  NodeTable nodes GUARDED_BY(mutex);
  SlotPods pods GUARDED_BY(mutex);
  ExistingPods existing GUARDED_BY(mutex);
  std::map<std::string, kube::DeviceClassPtr> device_classes GUARDED_BY(mutex);
  QueueFacts queues GUARDED_BY(mutex);
  CachedGroups groups GUARDED_BY(mutex){nodes, pods, existing, volumes, queues};
  ForeignGangs foreign GUARDED_BY(mutex);
  OrphanedPods orphaned GUARDED_BY(mutex);
  TerminatingPods terminating GUARDED_BY(mutex);
  MatchingPods matching GUARDED_BY(mutex){nodes, pod_store};
  AssumedPods assumed GUARDED_BY(mutex){nodes, foreign};
};

}  // namespace nervex::extender
