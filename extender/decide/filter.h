// extender/decide/filter.h - on which of these nodes may the pod be bound? Pure; O(1) for gang
// pods.
//
// Filter may run twice, or without a bind after it: it has no side effects. Its messages are
// constant while the state is: a changed message patches the pod's condition, which requeues the
// pod.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "extender/decide/view.h"
#include "gang/slot.h"
#include "kube/model/extender_api.h"

namespace nervex::extender {

struct FilterView {
  bool synced = false;
  std::optional<gang::PodSlot> slot;  // of a gang's pod
  SlotSeen seen;                      // if it is one
  // Else: those of the named nodes on which capacity is reserved, in the order of the names.
  std::vector<ReservedNode> reserved;
  std::optional<ForeignPodSeen> foreign{};  // of a pod of a foreign gang: what is known of that
};

// A gang's pod: its planned node alone; of a foreign gang that is the node it is nominated for, by
// the pod as kube-scheduler knows it. Any other pod: the named nodes where it takes no reserved
// capacity. Error, so that kube-scheduler retries: the caches are not synced, or older than the
// pod.
kube::FilterResult filter(const kube::FilterArgs& args, const FilterView& view);

// kube-scheduler repeats what filter said in the pod's condition. Is this from an answer that the
// pod's nominated node was refused by the scheduler's own checks, or that its gang waits?
bool names_refused_node(std::string_view message, std::string_view node);
bool says_group_waits(std::string_view message, std::string_view group);

}  // namespace nervex::extender
