// server/decide/grow.h - what does one POST add to its job? Pure.
#pragma once

#include <span>

#include "base/error.h"
#include "gang/pod_group.h"
#include "job/types.h"
#include "server/decide/change.h"
#include "server/decide/gpu_split.h"
#include "server/decide/listing.h"

namespace nervex::server {

// A request that is not merged with others (server/decide/merge.h) has a member set and a gang of
// its own in the PodGroup, of about 1 kB. So many of them, and job::kMaxPodsPerJob slots and
// placements, stay below the 1.5 MiB that etcd stores.
inline constexpr int kMaxEntriesPerJob = 1'000;

struct Limits {  // flags
  int replicas_per_request = kMaxReplicasPerRequest;
  int replicas_per_job = job::kMaxPodsPerJob;  // with the base replicas
};

// One new entry per role asked for, in the attempt that the status names; entries of attempts
// before it are dropped. Ordinals are never used again in a job (server/decide/ordinals.h): `pods`
// are all pods of the job that are known, `group` the PodGroup of its attempt, if known. Learners
// with more than one GPU are split as the nodes of `cluster` suggest. Replicas that have ended go
// when there is no capacity left otherwise. The answer names what is new.
//   kInvalid    the job has no template for a role, or no port for each of a learner's GPUs
//   kConflict   more than maxReplicas, not counting what has ended, or beyond what a job can hold
//   kTransient  multi-GPU learners without an AggregatorConfig: they wait for it; or too many
//               requests that wait for placement: once placed, they are merged
Result<Change> grow(const job::Job& job, std::span<const PodPtr> pods, const AddRequest& request,
                    const Limits& limits = {}, const gang::PodGroup* group = nullptr,
                    const ClusterView& cluster = {});

}  // namespace nervex::server
