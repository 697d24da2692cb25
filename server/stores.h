// server/stores.h - what does this server know of the cluster, and where does it find the pod that
// asks? A store of each of five kinds, and reads of the API server itself.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "gang/pod_group.h"
#include "job/aggregator_config.h"
#include "job/types.h"
#include "kube/api.h"
#include "kube/cache/reflectors.h"
#include "kube/cache/store.h"
#include "kube/model/meta.h"
#include "kube/model/pod.h"
#include "server/decide/caller.h"
#include "server/decide/gpu_split.h"

namespace nervex::server {

using job::AggregatorConfig;

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
ClusterView cluster_view(const Stores& stores);
// Where aggregators listen; the role's default if there is no AggregatorConfig (any more).
int aggregator_port(const Stores& stores);

// A pod's JSON text as what the store holds.
Result<kube::Pod> decode_pod(std::string_view text);

// Adds all five kinds; of AggregatorConfigs only that one.
void add_watches(kube::Reflectors& watches, Stores& stores,
                 const kube::NamespacedName& aggregator_config);

// Finds the pod that asks, its job and its attempt.
//
// Thread-safe. From the cache it costs nothing; live it is up to three GETs.
//
// A cache may lag behind a coordinator that has just started, and a client never gets over a
// refusal: so no request is refused for what only the cache says.
class Lookup {
 public:
  Lookup(kube::Api& api, const Stores& stores) : api_(api), stores_(stores) {}

  Caller cached(const std::string& ns, const std::string& pod) const;
  // What does not exist is null in the result; kTransient if the API server would not say.
  Result<Caller> live(const std::string& ns, const std::string& pod) const;
  // `before`, which has a pod and a job, with the job as it is now: one GET, unless the job is in
  // another attempt by now. For a write that lost a race, most often against the job's status.
  Result<Caller> live_job(const Caller& before) const;
  // Of a pod that does not exist: no_such_pod(), by what the cache knows.
  Error why_not_there(const std::string& ns, const std::string& pod) const;

 private:
  kube::Api& api_;
  const Stores& stores_;
};

}  // namespace nervex::server
