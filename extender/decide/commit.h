// extender/decide/commit.h - may this gang be committed, and may this pod be bound to that node?
// Pure.
#pragma once

#include <span>
#include <string_view>

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
                             std::span<const gang::NodeView> nodes);

// May a pod of namespace `ns` for this slot be bound to this node, capacity aside? kConflict: not
// on the plan as it is now. kTransient: its PodGroup was not seen yet.
Result<Nothing> check_bind(const gang::PodSlot& slot, const SlotSeen& seen, std::string_view ns,
                           std::string_view node);

}  // namespace nervex::extender
