// server/decide/grow.h - what does one POST add to its job? Pure.
#pragma once

#include <cstddef>
#include <span>

#include "base/clock.h"
#include "base/error.h"
#include "gang/pod_group.h"
#include "job/types.h"
#include "server/decide/change.h"
#include "server/decide/gpu_split.h"
#include "server/decide/job_view.h"
#include "server/decide/listing.h"

namespace nervex::server {

// A request that is not merged (below) has its own member set and gang in the PodGroup, about 1 kB.
// This many, with job::kMaxPodsPerJob slots and placements, stay below the 1.5 MiB that etcd
// stores.
inline constexpr int kMaxEntriesPerJob = 1'000;

struct Limits {  // flags
  int replicas_per_request = kMaxReplicasPerRequest;
  int replicas_per_job = job::kMaxPodsPerJob;  // with the base replicas
};

// Adds one entry per requested role to the attempt in the status, and drops entries of earlier
// attempts. Ordinals are never reused in a job (server/decide/ordinals.h): `pods` are all known
// pods of the job, `group` the PodGroup of its attempt, if known. Learners with more than one GPU
// are split to fit the nodes of `cluster`. Ended replicas are removed if there is no capacity
// otherwise. `now` is the place of the new replicas in the queue. The answer names them.
//   kInvalid    the job has no template for a role, or no port for each of a learner's GPUs
//   kConflict   more than maxReplicas, not counting ended ones, or more than a job can hold
//   kTransient  multi-GPU learners without an AggregatorConfig, which wait for it; or too many
//               requests that wait for placement: they are merged once placed
Result<Change> grow(const job::Job& job, std::span<const PodPtr> pods, const AddRequest& request,
                    SysTime now, const Limits& limits = {}, const gang::PodGroup* group = nullptr,
                    const ClusterView& cluster = {});

// ---- merging entries
//
// Each POST is an entry of spec.requests with its own gang in the PodGroup, so that it starts or
// waits as a whole. Once placed, entries of equal kind need not be separate: they become one, and
// the controller moves their slots to one gang (controller/decide/objects/merged_gangs.h). A slot
// keeps its role, ordinal and incarnation, so names and pods stay. An entry whose pods do not all
// exist yet stays: if a pod is refused, the gang is requeued by the entry's id.

// Entries are merged above this number, not at once: below, users find each POST's gang by its id;
// above, one write of the PodGroup moves the slots of many requests.
inline constexpr std::size_t kMergeAbove = 100;

// Merges placed entries of the attempt into the oldest one of their kind: equal role, resources and
// GPU split. It keeps the earliest requestedAt. An entry is placed if each replica has ended, or
// has its pods and placements in gangs that the PodGroup reports as committed and complete. Does
// nothing without a PodGroup. `requests` are the view's, changed in place. Cost: replicas +
// placements + pods, each with log.
void merge_placed(const JobView& view, job::Requests& requests);

// The number of entries if all were placed and merged.
std::size_t count_kinds(const job::Requests& requests);

}  // namespace nervex::server
