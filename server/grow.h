// server/grow.h - what does one POST add to its job? Pure.
#pragma once

#include <span>

#include "base/error.h"
#include "gang/pod_group.h"
#include "job/types.h"
#include "server/envelope.h"
#include "server/listing.h"
#include "server/request.h"
#include "server/surroundings.h"

namespace nervex::server {

// Bounds of spec.requests, which is a part of one API object of at most 1.5 MiB.
// Those that have ended make room when there is none otherwise.
inline constexpr int kMaxRequestedPerJob = 10'000;  // pods of one attempt
inline constexpr int kMaxEntriesPerJob = 2'000;

struct Limits {  // flags
  int replicas_per_request = kMaxReplicasPerRequest;
  int replicas_per_job = kMaxRequestedPerJob;
};

struct Growth {
  job::Requests requests;  // the whole new spec.requests
  Listing added;           // the addresses of what is new, which exist as soon as it is written
  bool changes = false;    // false: nothing was asked for
};

// One new entry per role asked for, in the attempt that the status names; entries of attempts
// before it are dropped. Ordinals are never used again in a job (server/ordinals.h): `pods` are all
// pods of the job that are known, `group` the PodGroup of its attempt, if known. Learners with more
// than one GPU are split as the nodes `around` suggest.
//   kInvalid    the job has no template for a role, or no port for each of a learner's GPUs
//   kConflict   more than maxReplicas, not counting what has ended, or beyond what a job can hold
//   kTransient  multi-GPU learners without an AggregatorConfig: they wait for it
Result<Growth> grow(const job::Job& job, std::span<const PodPtr> pods, const AddRequest& request,
                    const Limits& limits = {}, const gang::PodGroup* group = nullptr,
                    const Surroundings& around = {});

}  // namespace nervex::server
