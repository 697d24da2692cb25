// placement/explain_domains.h - why is there no domain for the pods of a gang? Pure.
#pragma once

#include <vector>

#include "gang/no_fit.h"
#include "placement/domain_capacity.h"

namespace nervex::placement {

// No domain that a term may use (`domains`: DomainCapacity::list()) holds its pods. NeverFits if
// none would in the empty cluster, and no pods with the term run. Cost: as DomainCapacity, and a
// plan if no domain holds any pod.
gang::NoFit explain_limit(const DomainCapacity& gang, const DomainTerm& term,
                          const std::vector<Domain>& domains, const PlanLimits& limits);

// Adds the smallest domain that the unplaced set needs. Nodes outside of it are not counted.
void note_domain(const DomainCapacity& gang, gang::UnplacedSet& unplaced);

// True if each term has one domain alone that would hold its pods in the empty cluster: what is
// proven of that domain is proven of the gang.
bool has_one_domain(const DomainCapacity& gang);
// InsufficientCapacity for NeverFits and NeverFitsTogether: other domains may hold the pods.
gang::NoFit without_proof(gang::NoFit no_fit);

}  // namespace nervex::placement
