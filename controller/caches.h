// controller/caches.h - what does the controller know of the cluster? One store per watched kind.
#pragma once

#include <string_view>

#include "controller/cleared_attempts.h"
#include "controller/objects.h"
#include "controller/priority.h"
#include "gang/pod_group.h"
#include "job/types.h"
#include "kube/model/pod.h"
#include "kube/store.h"

namespace nervex::controller {

// The queue's key, and that of the index, of pods in this namespace that have our finalizer and no
// job as their owner. No job is called so.
inline std::string orphans_key(const std::string& ns) { return ns + "/"; }

// Pods are indexed by the key of the owning job, the others by its uid. Thread-safe, as the stores
// are.
struct Caches {
  Caches();

  kube::Store<job::Job> jobs;
  kube::Store<kube::Pod> pods;
  kube::Store<Service> services;
  kube::Store<gang::PodGroup> pod_groups;
  kube::Store<AggregatorConfig> aggregator_configs;
  kube::Store<PriorityClass> priority_classes;
  // Not a kind: coordinators that are gone, as they were last seen, if they were marked as about to
  // be disrupted. The latest of each job.
  kube::Store<kube::Pod> disrupted_coordinators;
  // Not a kind either: what live reads have shown.
  ClearedAttempts cleared_attempts;
};

// Codecs from an object's JSON text, as the stores keep it.
Result<job::Job> decode_cached_job(std::string_view json);
Result<kube::Pod> decode_cached_pod(std::string_view json);
Result<gang::PodGroup> decode_cached_pod_group(std::string_view json);

}  // namespace nervex::controller
