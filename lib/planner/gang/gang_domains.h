// planner/gang/gang_domains.h - in which domains do the pods of a gang belong? Pure.
//
// Topology, pod affinity and node classes (placement/topology.h) hold for all gangs of a PodGroup
// together, and for the capacity that is reserved for it.
#pragma once

#include "placement/domain_terms.h"
#include "planner/gang/gang_work.h"
#include "planner/gang/ledger.h"

namespace nervex::planner {

// The domains that new pods of the gang have to join: those of its own pods except `except`, of
// other gangs of the PodGroup that have placements, and of reserved capacity. Also how it may use
// node classes: replicas of a job that runs may be on nodes of several; but the pods of a multi-GPU
// learner, of which a request has several sets, work in step. Cost: none if no set of the PodGroup
// asks for a domain, else its placements.
placement::DomainFacts find_domain_facts(const GangWork& work, const Ledger& ledger,
                                         const PlacedSlot* except = nullptr);

// False: the placements no longer keep topology, pod affinity or node classes of their sets,
// because labels of nodes have changed, or other gangs of the PodGroup are elsewhere.
bool keeps_topology(const GangWork& work, const Ledger& ledger);
// The same, and the topology spread constraints of the sets: pods that others have started since
// the plan may have changed which domain has the fewest. The ledger counts the placements.
bool keeps_domains(const GangWork& work, const Ledger& ledger);

}  // namespace nervex::planner
