// extender/decide/commit.h - may this gang be committed, and may this pod be bound to that node?
// Pure.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "extender/decide/view.h"

namespace nervex::extender {

// kConflict, with a reason for people, unless every member of the gang still has its placement: the
// plan is not whole, slots of it have moved to another gang, a node was deleted or is no longer
// allowed, or has too little capacity; or the capacity that it reserves is not there any more.
//
// `nodes` are those of the placements and of reserved capacity, sorted by name; their free =
// allocatable - occupying pods - committed placements of others whose pod is not bound. Plans of
// others that are not committed do not count.
Result<Nothing> check_commit(const gang::PodGroup& group, std::string_view gang,
                             std::span<const placement::NodeView> nodes);

// May a pod of namespace `ns` for this slot be bound to this node, capacity aside? kConflict: not
// on the plan as it is now. kTransient: its PodGroup was not seen yet.
Result<Nothing> check_bind(const gang::PodSlot& slot, const SlotSeen& seen, std::string_view ns,
                           std::string_view node);

// What `after` gives to slots of committed gangs, beside what `before` has: for status writes of
// the planner. In the order of the status.
std::vector<const gang::Placement*> new_places(const gang::PodGroupStatus& before,
                                               const gang::PodGroupStatus& after);

// There is capacity for them on these nodes, whose free capacity is that beside what is committed.
// Capacity that the PodGroup has reserved itself and `after` gives up counts as free.
bool have_room(const gang::PodGroup& after, const gang::PodGroupStatus& before,
               std::span<const placement::NodeView> nodes);

}  // namespace nervex::extender
