// server/caches.h - what does this server remember of the cluster? Mirrors of five kinds.
#pragma once

#include <string>

#include "gang/pod_group.h"
#include "job/types.h"
#include "kube/api.h"
#include "kube/model/pod.h"
#include "kube/reflectors.h"
#include "kube/store.h"
#include "server/surroundings.h"

namespace nervex::server {

// Pods are indexed by the UID of their owner.
struct Stores {
  kube::Store<kube::Pod> pods{
      [](const kube::Pod& pod) { return pod.meta.owner ? pod.meta.owner->uid : std::string(); }};
  kube::Store<job::Job> jobs;
  kube::Store<gang::PodGroup> groups;
  kube::Store<GpuNode> gpu_nodes;
  kube::Store<AggregatorConfig> aggregator_configs;  // the one that aggregators are made from
};

// What is known now. Cost: the nodes with GPUs.
ClusterView view_of_cluster(const Stores& stores);
// Where aggregators listen; the role's default if there is no AggregatorConfig (any more).
int aggregator_port(const Stores& stores);

// A pod's JSON text as what the store holds.
Result<kube::Pod> decode_pod(std::string_view text);

// Adds all five kinds. `aggregator_config`: "namespace/name".
void add_watches(kube::Reflectors& watches, Stores& stores, const std::string& aggregator_config);

}  // namespace nervex::server
