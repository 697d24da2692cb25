// extender/commit.h - may this gang's first pod be bound, on what is known now? Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "extender/view.h"

namespace nervex::extender {

// "" if every member of the gang still has its place; else the reason, for people: the plan is not
// whole, slots of it have moved to another gang, a node is gone or no longer allowed, or has too
// little capacity.
//
// `nodes` are those of the places, sorted by name; their free = allocatable - occupying pods -
// committed places of others whose pod is not bound. Plans of others that are not committed do not
// count.
std::string check_commit(const gang::PodGroup& group, std::string_view gang,
                         std::span<const gang::NodeView> nodes);

// Why a pod of namespace `ns` for this slot must not be bound to this node; "" if it may be,
// capacity aside.
std::string check_bind(const gang::PodSlot& slot, const SlotSeen& seen, std::string_view ns,
                       std::string_view node);

}  // namespace nervex::extender
