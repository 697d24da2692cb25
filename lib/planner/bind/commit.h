// planner/bind/commit.h - may this gang be committed, and may this pod be bound to that node?
// Pure.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "placement/cluster.h"
#include "planner/bind/bind_view.h"

namespace nervex::planner {

// kConflict, with a reason for people, unless every member of the gang still has its placement: the
// plan is not whole, slots have moved to another gang, a node was deleted, no longer allowed or has
// too little capacity; or the capacity that the plan reserves is gone.
//
// `nodes` are those of the placements and of reserved capacity, sorted by name; their free =
// allocatable - occupying pods - others' committed placements whose pod is not bound. Uncommitted
// plans of others do not count.
Result<Nothing> check_commit(const gang::PodGroup& group, std::string_view gang,
                             std::span<const placement::NodeView> nodes);

// May a pod of namespace `ns` for this slot be bound to this node, capacity aside? kConflict: not
// part of the current plan. kTransient: its PodGroup was not seen yet.
Result<Nothing> check_bind(const gang::PodSlot& slot, const SlotSeen& seen, std::string_view ns,
                           std::string_view node);

// Placements that `after` adds to slots of committed gangs, compared with `before`: for the
// planner's status writes. In the order of the status.
std::vector<const gang::Placement*> added_placements(const gang::PodGroupStatus& before,
                                                     const gang::PodGroupStatus& after);

// True if these nodes have capacity for them; the nodes' free capacity excludes committed
// placements. Capacity that the PodGroup has reserved itself and that `after` releases counts as
// free.
bool have_capacity(const gang::PodGroup& after, const gang::PodGroupStatus& before,
                   std::span<const placement::NodeView> nodes);

}  // namespace nervex::planner
