// server/decide/job_view.h - which replicas does a client count, and at which addresses? Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "gang/pod_group.h"
#include "job/names.h"
#include "job/slots.h"
#include "job/types.h"
#include "server/decide/listing.h"

namespace nervex::server {

// The input of a decision about one job's replicas. Borrowed.
struct JobView {
  const job::Job& job;
  std::span<const PodPtr> pods{};         // all known pods of the job, of any attempt
  const gang::PodGroup* group = nullptr;  // of the job's attempt; null: unknown
  int aggregator_port =
      job::default_port(job::Role::kAggregator);  // as the AggregatorConfig has it
};

// The pod whose address stands for the replica: its own, or for a multi-GPU learner its aggregator.
job::ReplicaPod addressed_pod(const job::Replica& replica);

// Adds the address of the pod of that role and slot to the matching list.
void add_address(Listing& listing, const job::Job& job, job::Role role, job::Slot slot,
                 int aggregator_port);

// The replicas of `role` (kCollector, kLearner) that a client counts: wanted and not ended, even if
// the pod does not exist yet or is being replaced. By ordinal: base replicas first, the newest
// last. Borrows from the view's job. Cost: replicas + pods.
std::vector<job::Replica> living_replicas(const JobView& view, job::Role role);
// The other wanted replicas: their pods have finished by themselves, and may be deleted.
std::vector<job::Replica> ended_replicas(const JobView& view, job::Role role);

}  // namespace nervex::server
