// server/caches.h - what does this server remember of the cluster? Mirrors of five kinds.
#pragma once

#include <string>

#include "gang/pod_group.h"
#include "job/types.h"
#include "kube/api.h"
#include "kube/model/pod.h"
#include "kube/reflector.h"
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

// One object's JSON text as what the stores hold.
Result<kube::Pod> decode_own_pod(std::string_view text);
Result<job::Job> decode_job_text(std::string_view text);
Result<gang::PodGroup> decode_group_text(std::string_view text);

// Keeps `stores` equal to the API server: one thread per kind from start() until destroyed.
class Caches {
 public:
  // `aggregator_config`: "namespace/name".
  Caches(kube::Api& api, Stores& stores, const std::string& aggregator_config);
  void start();
  // "" once all kinds are listed, else which is missing. Thread-safe.
  std::string not_ready() const;

 private:
  kube::Reflector pods_;
  kube::Reflector jobs_;
  kube::Reflector groups_;
  kube::Reflector nodes_;
  kube::Reflector aggregator_configs_;
};

}  // namespace nervex::server
