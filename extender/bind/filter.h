// extender/bind/filter.h - on which of these nodes may the pod be bound? Pure; O(1) for gang
// pods.
//
// Filter may run twice, or without a bind after it, so it has no side effects. Its messages are
// constant while the state is: a changed message patches the pod's condition, which requeues the
// pod.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "extender/bind/bind_view.h"
#include "gang/slot.h"
#include "kube/model/extender_api.h"

namespace nervex::extender {

struct FilterView {
  bool synced = false;
  std::optional<gang::PodSlot> slot;  // of a gang's pod
  SlotSeen seen;                      // of that slot
  // Without a slot: the named nodes with reserved capacity, in the order of the names.
  std::vector<ReservedNode> reserved;
  std::optional<ForeignPodSeen> foreign{};  // of a foreign gang's pod
};

// A gang's pod: only its planned node; for a foreign gang that is the nominated node in the pod
// that kube-scheduler sends. Any other pod: the named nodes where it takes no reserved capacity.
// Error, so that kube-scheduler retries: the caches are not synced, or older than the pod.
kube::FilterResult filter(const kube::FilterArgs& args, const FilterView& view);

// kube-scheduler copies filter's answer into the pod's condition. Does the message say that the
// scheduler's own checks refused the nominated node, or that the pod's gang waits?
bool names_refused_node(std::string_view message, std::string_view node);
bool says_group_waits(std::string_view message, std::string_view group);

}  // namespace nervex::extender
