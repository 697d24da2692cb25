// extender/filter.h - on which of these nodes may the pod be bound? Pure; O(1) for gang pods.
//
// Filter may run twice, or without a bind after it: it has no side effects. Its messages are
// constant while the state is: a changed message patches the pod's condition, which requeues the
// pod.
#pragma once

#include <optional>
#include <vector>

#include "extender/view.h"
#include "gang/slot.h"
#include "kube/model/extender_api.h"

namespace nervex::extender {

struct FilterView {
  bool synced = false;
  std::optional<gang::PodSlot> slot;  // of a gang's pod
  SlotSeen seen;                      // if it is one
  // Else: those of the named nodes on which capacity is reserved, in the order of the names.
  std::vector<ReservedNode> reserved;
};

// A gang's pod: its planned node alone. Any other pod: the named nodes where it takes no reserved
// capacity. Error, so that kube-scheduler retries: the caches are not synced, or older than the
// pod.
kube::FilterResult filter(const kube::FilterArgs& args, const FilterView& view);

}  // namespace nervex::extender
