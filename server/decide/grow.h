// server/decide/grow.h - what does one POST add to its job? Pure.
#pragma once

#include <cstddef>
#include <span>

#include "base/error.h"
#include "gang/pod_group.h"
#include "job/types.h"
#include "server/decide/change.h"
#include "server/decide/gpu_split.h"
#include "server/decide/job_view.h"
#include "server/decide/listing.h"

namespace nervex::server {

// A request that is not merged with others (below) has a member set and a gang of
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

// ---- merging entries
//
// Each POST is an entry of spec.requests and a gang of its own in the PodGroup, so that it starts
// whole or waits whole. Once it is placed there is nothing left to keep apart: entries of equal
// kind become one, and the controller moves their slots to one gang
// (controller/decide/objects/merged_gangs.h). A slot keeps its role, ordinal and incarnation, so
// names and pods stay what they are. An entry whose pods are still to be created stays: if one is
// refused, the gang is taken back by the entry's id.

// Entries are merged when there are so many, not at once: below, each POST stays a gang that people
// find by its id; above, one write of the PodGroup moves the slots of many requests.
inline constexpr std::size_t kMergeAbove = 100;

// Merges the entries of the attempt that are placed into the oldest one of their kind: equal role,
// resources and GPU split. Placed is one whose replicas have each ended, or have their pods, and
// places in gangs that the PodGroup says are committed and whole. Nothing without a PodGroup.
// `requests` is what becomes of the view's. Cost: replicas + placements + pods, each with log.
void merge_placed(const JobView& view, job::Requests& requests);

// How many entries there are at least, if all were placed.
std::size_t count_kinds(const job::Requests& requests);

}  // namespace nervex::server
