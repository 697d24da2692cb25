// job/slots.h - which replicas does a job want now, and which pods is each of them? Pure.
//
// A replica, as clients count them, is a collector, a learner, or a multi-GPU learner, which is an
// aggregator and one ddp-learner pod per item of its entry's GPU split and is placed,
// replaced and deleted as a whole. A replica's ordinal is unique in its role for the life of the
// job. The pods of a multi-GPU learner carry numbers of their own roles: the aggregator the
// learner's ordinal, the ddp-learners that one and those that follow; so such a learner uses up as
// many ordinals as it has ddp-learners.
#pragma once

#include <optional>
#include <vector>

#include "job/types.h"

namespace nervex::job {

struct Replica {
  Role role = Role::kCollector;         // kCollector or kLearner
  Slot slot;                            // with the incarnation that it has now
  const RequestEntry* entry = nullptr;  // null: a base replica. Borrowed from the job
  bool operator==(const Replica&) const = default;
};

struct ReplicaPod {
  Role role = Role::kCollector;
  Slot slot;
  int gpus = 0;        // of a ddp-learner: its own; else 0
  int start_rank = 0;  // of a ddp-learner: the GPUs of those before it
  bool operator==(const ReplicaPod&) const = default;
};

// The incarnation of a slot counts up whenever a client names its pod as failed (spec.requests) and
// whenever the controller replaces it (status.replaced). Both write the number that comes next
// after the one they saw, and the larger one counts: doing either twice, or both at once, makes one
// replacement.
Slot current_slot(const Job& job, Role role, Slot slot);

// The replicas of `role`, kCollector or kLearner, that the job wants in its current attempt, those
// that have ended included: the base replicas, but for what was removed, then what was requested,
// by ordinal. Neither those that have no name left. None without a template. Cost: replicas
// + changes x log(changes).
std::vector<Replica> wanted_replicas(const Job& job, Role role);
// Those that were left out: their pods were replaced so often that no name is left for the next
// one. The controller gives them the names of a fresh ordinal (status.continued) when it sees them;
// when it has none left, nervex-server lets them go on as replicas of other ordinals.
std::vector<Replica> exhausted_replicas(const Job& job, Role role);

// The pods of a replica: itself, or of a multi-GPU learner the aggregator and then the
// ddp-learners.
std::vector<ReplicaPod> pods_of(const Replica& replica);

// Ordinals that one replica of the entry uses up: at least 1.
int ordinals_of(const RequestEntry& entry);

// The next ordinal that no request has used. Collectors have a counter of their own; all other
// roles count as learners.
inline int& next_ordinal(Requests& requests, Role role) {
  return role == Role::kCollector ? requests.next_collector : requests.next_learner;
}
inline int next_ordinal(const Requests& requests, Role role) {
  return role == Role::kCollector ? requests.next_collector : requests.next_learner;
}

// What a ddp-learner pod is within its learner.
struct DdpPlace {
  Slot learner;        // the learner's own, in its pods' incarnation; also the first pod's
  int index = 0;       // 0: the first pod, where the others meet
  int gpus = 0;        // the pod's own
  int start_rank = 0;  // the GPUs of the pods before it
  int world_size = 0;  // the GPUs of all
  bool operator==(const DdpPlace&) const = default;
};
// Where the ddp-learner of that slot stands. nullopt: no learner of the entry has such a pod. Cost:
// the entry's slots + split.
std::optional<DdpPlace> place_of_ddp_learner(const RequestEntry& entry, Slot slot);

inline bool is_multi_gpu(const RequestEntry& entry) { return !entry.gpu_split.empty(); }

}  // namespace nervex::job
