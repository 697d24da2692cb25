// planner/gang/gang_domains.h - in which domains do the pods of a gang belong? Pure.
//
// Topology, pod affinity and node classes (placement/topology.h) hold for all gangs of a PodGroup
// together, and for the capacity that is reserved for it.
#pragma once

#include "placement/topology.h"
#include "planner/gang/gang_work.h"
#include "planner/gang/ledger.h"

namespace nervex::planner {

// Where pods of the job are that others have to join: those of this gang except `except`, those of
// other gangs that have placements, and reserved capacity; and how the gang may use node classes.
// Replicas of a job that runs may be on nodes of several; but the pods of a multi-GPU learner, of
// which a request has several sets, work in step. Cost: none if no set of the PodGroup asks for a
// domain, else its placements.
placement::DomainFacts find_domain_facts(const GangWork& work, const Ledger& ledger,
                                         const PlacedSlot* except = nullptr);

// The placements, which the ledger counts, keep what their sets say of domains: topology spread,
// topology, node classes. Pods that others have started since the plan may have changed which
// domain has the fewest, other gangs of the PodGroup may be elsewhere, and labels of nodes change.
bool keeps_domains(const GangWork& work, const Ledger& ledger);

}  // namespace nervex::planner
