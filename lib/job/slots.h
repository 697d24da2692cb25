// job/slots.h - which replicas does a job want now, and which pods does each of them have? Pure.
//
// A replica, as clients count them, is a collector, a learner or a multi-GPU learner: an aggregator
// and one ddp-learner pod per item of its entry's GPU split, placed, replaced and deleted as a
// whole. A replica's ordinal is unique in its role for the life of the job. A multi-GPU learner's
// pods are numbered in their own roles: the aggregator has the learner's ordinal, the ddp-learners
// have that ordinal and the following ones. So such a learner uses as many ordinals as it has
// ddp-learners.
#pragma once

#include <optional>
#include <vector>

#include "job/types.h"

namespace nervex::job {

struct Replica {
  Role role = Role::kCollector;         // kCollector or kLearner
  Slot slot;                            // with its current incarnation
  const RequestEntry* entry = nullptr;  // null: a base replica. Borrowed from the job
  bool operator==(const Replica&) const = default;
};

struct ReplicaPod {
  Role role = Role::kCollector;
  Slot slot;
  int gpus = 0;        // of a ddp-learner: its own; else 0
  int start_rank = 0;  // of a ddp-learner: number of GPUs in earlier pods
  bool operator==(const ReplicaPod&) const = default;
};

// A slot's incarnation increases when a client reports its pod as failed (spec.requests) and when
// the controller replaces it (status.replaced). Each writes the number after the one it saw, and
// the larger number counts. So a repeated or concurrent replacement counts once.
Slot current_slot(const Job& job, Role role, Slot slot);

// A removal of a base replica through the replicas API applies to the job's current attempt. It is
// over when `replicas` of its role has another value than at the removal: then that number counts,
// as for any workload that is scaled. status.returned remembers it, so that the old value does not
// remove the replica again. Removals with id 0 last for the attempt: the replica had ended, or
// continues as a requested one, or an older version removed it.
bool is_removed(const Job& job, const BaseChange& change);
// The highest id of the removals of `role` that are over: for status.returned.
std::int64_t returned_through(const Job& job, Role role);
// Base replicas of `role` that `replicas` counts and the replicas API has removed.
int count_removed(const Job& job, Role role);

// The replicas of `role`, kCollector or kLearner, that the job wants in its current attempt, ended
// ones included: base replicas that were not removed, then requested ones, by ordinal. Excludes
// replicas without a name left. None without a template. Cost: replicas + changes x log(changes).
std::vector<Replica> wanted_replicas(const Job& job, Role role);
// Replicas that wanted_replicas() excludes: their pods were replaced until no name was left. The
// controller gives them names of a fresh ordinal (status.continued); when it has none left,
// nervex-server moves them to other ordinals.
std::vector<Replica> exhausted_replicas(const Job& job, Role role);

// The pods of a replica: one pod, or for a multi-GPU learner the aggregator and then the
// ddp-learners.
std::vector<ReplicaPod> replica_pods(const Replica& replica);

// The number of ordinals that one replica of the entry uses: at least 1.
int count_ordinals(const RequestEntry& entry);

// The next ordinal that no request has used. Collectors have their own counter; all other roles
// count as learners.
inline int& next_ordinal(Requests& requests, Role role) {
  return role == Role::kCollector ? requests.next_collector : requests.next_learner;
}
inline int next_ordinal(const Requests& requests, Role role) {
  return role == Role::kCollector ? requests.next_collector : requests.next_learner;
}

// A ddp-learner pod's position in its learner.
struct DdpPlace {
  Slot learner;        // the learner's slot in its pods' incarnation; also the first pod's
  int index = 0;       // 0: the first pod, where the others connect
  int gpus = 0;        // the pod's own
  int start_rank = 0;  // GPUs in earlier pods
  int world_size = 0;  // GPUs of all pods
  bool operator==(const DdpPlace&) const = default;
};
// The position of that slot's ddp-learner. nullopt: no learner of the entry has such a pod. Cost:
// the entry's slots + split.
std::optional<DdpPlace> place_of_ddp_learner(const RequestEntry& entry, Slot slot);

inline bool is_multi_gpu(const RequestEntry& entry) { return !entry.gpu_split.empty(); }

// Pods of one replica of the entry: a multi-GPU learner is an aggregator and its ddp-learners.
inline int pods_per_replica(const RequestEntry& entry) {
  return is_multi_gpu(entry) ? 1 + static_cast<int>(entry.gpu_split.size()) : 1;
}

}  // namespace nervex::job
