// planner/bind/filter.h - on which of these nodes may the pod be bound? Pure; O(1) for gang
// pods.
//
// Filter may run twice, or without a bind after it, so it has no side effects. Its messages are
// constant while the state is: a changed message patches the pod's condition, which requeues the
// pod.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "gang/slot.h"
#include "kube/model/extender_api.h"
#include "planner/bind/bind_view.h"

namespace nervex::planner {

struct FilterView {
  bool synced = false;
  std::optional<gang::PodSlot> slot;  // of a gang's pod
  SlotSeen seen;                      // of that slot
  // Without a slot: the named nodes with reserved capacity, in the order of the names.
  std::vector<ReservedNode> reserved;
  std::optional<ForeignPodSeen> foreign{};  // of a foreign gang's pod, or of a plain one
  bool is_stray = false;                    // names a job as its owner, and no slot
};

// A gang's pod: only its planned node; for a foreign gang or a plain pod that is the nominated node
// in the pod that kube-scheduler sends. Pods that never wait: the named nodes where they take no
// reserved capacity.
// Error, so that kube-scheduler retries: the caches are not synced, or older than the pod.
kube::FilterResult filter(const kube::FilterArgs& args, const FilterView& view);

// kube-scheduler copies filter's answer into the pod's condition. Does the message say that the
// scheduler's own checks refused the nominated node, or that this gang (describe_foreign()) waits?
bool names_refused_node(std::string_view message, std::string_view node);
bool says_gang_waits(std::string_view message, std::string_view gang);

}  // namespace nervex::planner
