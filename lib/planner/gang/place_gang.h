// planner/gang/place_gang.h - which nodes do the slots of one gang get? Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "placement/topology.h"
#include "planner/gang/gang_work.h"
#include "planner/gang/ledger.h"

namespace nervex::planner {

// Gives a slot in `placed` a different node; false if there is none. Its capacity on the old node
// stays subtracted, as by drop_unbindable() (gang_work.h).
bool move_slot(GangWork& work, PlacedSlot& slot, Ledger& ledger);

// Gives every slot without a placement one, or returns why that fails. Placements that still fit
// stay if the rest fits beside them; otherwise the whole gang is planned again, and if that fails
// it has no placements. A committed gang keeps its placements and gets as many of the missing ones
// as fit: it already runs in part, and no other gang can take what it gets. The job's own
// aggregator is placed separately, as it is useful without the rest, and the rest without it.
std::optional<gang::NoFit> complete(GangWork& work, Ledger& ledger);

// Nodes with capacity for as many of these pods as possible, at most `count`. Takes nothing.
std::vector<std::string> find_nodes(const gang::MemberSet& set, int count, const Ledger& ledger,
                                    const placement::PlanLimits& limits,
                                    const placement::DomainFacts& facts);

}  // namespace nervex::planner
