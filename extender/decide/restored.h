// extender/decide/restored.h - what is left of a plan when the PodGroup's status was lost? Pure.
//
// Somebody may empty the status by hand, in whole or in part. The pods know their slot, incarnation
// and placement number, and where they are: a bound pod has a place, and its gang is committed.
// What has no bound pod is planned again, under numbers that were never given out. Pods that have
// finished prove a commit only if every slot of the gang has a bound one. Of a gang for which the
// status says why it waits they prove none: anybody who may create pods can bind one himself and
// annotate it, and what is committed is healed before others start.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "gang/pod_group.h"

namespace nervex::extender {

// By the annotations of a pod that was bound to this node, or is being bound, finished or not.
struct BoundSlot {
  std::string role;
  gang::SlotId slot;
  std::string node;
  std::int64_t placement = 0;
  bool is_finished = false;
};

// Every slot that the spec wants has a placement in the status, of gangs that are all committed.
// Cost: sets and gangs.
bool has_all_placements(const gang::PodGroup& group);

// The status with the placements of such pods where wanted slots have none; and with numbers that
// continue above `highest`. nullopt: there is nothing to change. A number that the status has given
// to another slot is not used.
std::optional<gang::PodGroupStatus> restored_status(const gang::PodGroup& group,
                                                    std::span<const BoundSlot> bound,
                                                    std::int64_t highest);

}  // namespace nervex::extender
