// planner/recovery/restored.h - what can be recovered of a plan after the PodGroup's status was
// lost? Pure.
//
// A user may clear the status by hand. The pods know their slot, incarnation, placement number and
// node: a bound pod has a placement, and its gang is committed. Gangs without a bound pod are
// planned again, with numbers that were never used. Finished pods prove a commit only if every slot
// of the gang has a bound pod. Only a status that was wholly lost, without observedGeneration, is
// restored: any user who may create pods can bind and annotate one, and committed gangs are healed
// before others start. A gang that a live status lacks is new and waits its turn.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "gang/pod_group.h"

namespace nervex::planner {

// From the annotations of a pod that was or is being bound to this node, finished or not.
struct BoundSlot {
  std::string role;
  gang::SlotId slot;
  std::string node;
  std::int64_t placement = 0;
  bool is_finished = false;
};

// Every slot that the spec wants has a placement in the status, and all gangs are committed. Cost:
// sets and gangs.
bool has_all_placements(const gang::PodGroup& group);

// The status, if it was wholly lost with placements from such pods for wanted slots, and with
// numbers that continue above `highest`. nullopt: nothing to change.
std::optional<gang::PodGroupStatus> restored_status(const gang::PodGroup& group,
                                                    std::span<const BoundSlot> bound,
                                                    std::int64_t highest);

}  // namespace nervex::planner
