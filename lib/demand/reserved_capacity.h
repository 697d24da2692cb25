// demand/reserved_capacity.h - how much capacity does an attempt reserve for its coordinator's
// first requests, and which sets take it over? Pure.
//
// reservedReplicas of a role beyond its base replicas have no pods. The base gang's set of the role
// says how many pods' capacity is planned and kept with the gang (MemberSet::reserved_pods). Later
// requests take it over in the write that adds their slots. It never grows after the gang is
// committed: docs/adr/2026-11-22-reserved-capacity.md.
#pragma once

#include <vector>

#include "gang/pod_group.h"
#include "job/types.h"

namespace nervex::demand {

// The inputs of the reservation. Borrows from the job.
struct Reservation {
  const job::Spec& spec;
  bool base_is_committed = false;
  bool has_ended = false;  // reservationSeconds are over: no capacity is reserved
};

// reservedReplicas beyond the base replicas; 0 after the reservation has ended.
int reserved_replicas(const Reservation& reservation, job::Role role);

// Sets reserved_pods of the base gang's sets and from_reserved of all others. `gangs`: the
// PodGroup's, with their current reservations. `added`: those of their sets that are new, of other
// gangs than the base gang, in request order. Such a set takes over its role's capacity, up to its
// number of slots, if its pods request no more of any resource than the pods the capacity is
// reserved for. Pods of multi-GPU learners count as learners; if the template has several GPUs, the
// base gang's set of aggregators reserves one for each learner.
void reserve_capacity(std::vector<gang::Gang>& gangs, const std::vector<gang::MemberSet*>& added,
                      const Reservation& reservation);

// Requests for learners of that set may ask for multi-GPU learners, each with an aggregator.
bool has_several_gpus(const gang::MemberSet& learners);

}  // namespace nervex::demand
