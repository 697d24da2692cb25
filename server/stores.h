// server/stores.h - what does this server cache of the cluster, and how does it find the calling
// pod? A store for each of five kinds, and live reads of the API server.
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

// The current view. Cost: the nodes with GPUs.
ClusterView cluster_view(const Stores& stores);
// The port of aggregators; the role's default if there is no AggregatorConfig.
int aggregator_port(const Stores& stores);

// A pod's JSON text in the store's form.
Result<kube::Pod> decode_pod(std::string_view text);
// A PodGroup's, without what its pods ask for: users decide how large that is.
Result<gang::PodGroup> decode_group(std::string_view text);

// Adds watches of all five kinds; of AggregatorConfigs only the one in use.
void add_watches(kube::Reflectors& watches, Stores& stores,
                 const kube::NamespacedName& aggregator_config);

// Finds the calling pod, its job and its attempt. Thread-safe. Free from the cache; live it costs
// up to three GETs. The cache may lag behind a coordinator that has just started, and a client
// never recovers from a refusal: so the cache alone never refuses a request.
class Lookup {
 public:
  Lookup(kube::Api& api, const Stores& stores) : api_(api), stores_(stores) {}

  Caller cached(const std::string& ns, const std::string& pod) const;
  // Missing objects are null in the result; kTransient if the API server gave no answer.
  Result<Caller> live(const std::string& ns, const std::string& pod) const;
  // `before`, which has a pod and a job, with the current job: one GET, unless the job is in
  // another attempt. For a write that lost a race, usually against the job's status.
  Result<Caller> live_job(const Caller& before) const;
  // For a pod that does not exist: no_such_pod(), according to the cache.
  Error why_not_there(const std::string& ns, const std::string& pod) const;

 private:
  kube::Api& api_;
  const Stores& stores_;
};

}  // namespace nervex::server
