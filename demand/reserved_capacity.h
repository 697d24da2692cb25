// demand/reserved_capacity.h - how much capacity does an attempt reserve for its coordinator's
// first requests, and which sets take it over? Pure.
//
// reservedReplicas of a role that are not base replicas have no pods. The base gang's set of the
// role says for how many capacity is planned with the gang and kept (MemberSet::reserved_pods).
// What is asked for later takes it over, in the write that adds its slots. It is never raised once
// the gang is committed: docs/adr/2026-11-22-reserved-capacity.md.
#pragma once

#include <cstddef>
#include <vector>

#include "gang/pod_group.h"
#include "job/types.h"

namespace nervex::demand {

// What it follows from. Borrows from the job.
struct Reservation {
  const job::Spec& spec;
  bool base_is_committed = false;
  bool has_ended = false;  // reservationSeconds are over: nothing is reserved
};

// reservedReplicas that are not base replicas; 0 if the reservation has ended.
int reserved_replicas(const Reservation& reservation, job::Role role);

// Sets reserved_pods of the base gang's sets and from_reserved of all others. `sets`: those that
// the PodGroup has, with what they reserve and took over, then from `first_new` on the new ones, in
// the order they were asked for. A new set takes over capacity of its role, as much as it has
// slots, if its pods ask for no more of any resource than those that capacity is reserved for. The
// pods of multi-GPU learners count as learners; if the template has several GPUs, the base gang's
// set of aggregators reserves one for each learner.
void reserve_capacity(std::vector<gang::MemberSet>& sets, std::size_t first_new,
                      const Reservation& reservation);

// A request for learners of that set may be for multi-GPU learners, each with an aggregator.
bool has_several_gpus(const gang::MemberSet& learners);

}  // namespace nervex::demand
