// extender/watches.h - what does the extender watch, and what wakes the planner? Wiring, no
// decisions.
#pragma once

#include <string>

#include "extender/act/lost_nodes.h"
#include "extender/act/planner.h"
#include "extender/act/simulator.h"
#include "extender/bind/bind.h"
#include "extender/bind/holds.h"
#include "extender/observe/watch_updates.h"
#include "kube/api.h"
#include "kube/cache/reflectors.h"
#include "kube/cache/store.h"
#include "planner/simulation/simulation.h"

namespace nervex::extender {

// The reflector sink of each kind: updates the store and the cluster cache, notifies `holds`, and
// wakes `planner` if the change matters.
kube::ReflectorSink node_sink(kube::Store<kube::Node>& store, WatchUpdates& updates,
                              Planner& planner, LostNodes* lost_nodes = nullptr);
kube::ReflectorSink pod_sink(kube::Store<kube::Pod>& store, WatchUpdates& updates, Holds& holds,
                             Planner& planner, LostNodes* lost_nodes = nullptr);
kube::ReflectorSink group_sink(kube::Store<gang::PodGroup>& store, WatchUpdates& updates,
                               Holds& holds, Planner& planner);

// Claims and volumes: only those that a PodGroup's pods mount matter.
kube::ReflectorSink claim_sink(kube::Store<kube::Claim>& store, WatchUpdates& updates,
                               Planner& planner);
kube::ReflectorSink volume_sink(kube::Store<kube::Volume>& store, WatchUpdates& updates,
                                Planner& planner);

// ResourceQuotas: limits and usage.
kube::ReflectorSink quota_sink(kube::Store<kube::Quota>& store, WatchUpdates& updates,
                               Planner& planner);

// Queues and namespaces: any gang that waits may be affected.
kube::ReflectorSink queue_sink(kube::Store<queue::Queue>& store, WatchUpdates& updates,
                               Planner& planner);
kube::ReflectorSink namespace_sink(kube::Store<kube::Namespace>& store, WatchUpdates& updates,
                                   Planner& planner);

kube::ReflectorSink device_class_sink(kube::Store<kube::DeviceClass>& store, WatchUpdates& updates,
                                      Planner& planner);

// PodGroups of other operators; pod_sink notifies `holds` about their pods.
kube::ReflectorSink foreign_group_sink(kube::Store<kube::ForeignPodGroup>& store,
                                       WatchUpdates& updates, Holds& holds, Planner& planner);

kube::ReflectorSink simulation_sink(kube::Store<planner::Simulation>& store, Simulator& simulator);

struct Stores {
  kube::Store<kube::Node> nodes;
  kube::Store<kube::Pod> pods;
  kube::Store<gang::PodGroup> groups;
  VolumeStores volumes;
  kube::Store<kube::Quota> quotas;
  kube::Store<queue::Queue> queues;
  kube::Store<kube::Namespace> namespaces;
  kube::Store<kube::DeviceClass> device_classes;
  kube::Store<kube::ForeignPodGroup> foreign_groups;
  kube::Store<planner::Simulation> simulations;
};

// Adds all kinds.
void add_watches(kube::Reflectors& watches, Stores& stores, WatchUpdates& updates, Holds& holds,
                 Planner& planner, LostNodes& lost_nodes, Simulator& simulator);

}  // namespace nervex::extender
