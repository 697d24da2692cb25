// planner/bind/bind_view.h - what do filter, holds and binds decide on? Values, copied out of the
// cluster cache.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gang/objects.h"
#include "gang/slot.h"
#include "kube/model/objects.h"
#include "kube/model/resources.h"
#include "planner/facts/foreign_view.h"

namespace nervex::planner {

// What is known about the slot in a pod's annotations.
struct SlotSeen {
  gang::PodGroupPtr group;  // null: no PodGroup of that UID was seen
  // The slot's placement, if any, while the spec wants the slot, in any incarnation.
  std::optional<gang::Placement> placement;
  // The gang whose status has the placement; the spec may have moved the slot since.
  std::string gang;
  bool committed = false;    // `gang` is committed
  kube::Resources requests;  // of the pod as planned
  bool bind_last = false;    // as MemberSet::bind_last
  // From the status as it was read: a pod with this number or a higher one is newer than that.
  std::int64_t next_placement = 0;
};

// A wanted slot of a gang, and the state of its pod. `set` points into the PodGroup beside it.
struct MemberSeen {
  enum class Pod {
    kUnbound,  // or no pod yet
    kAssumed,  // being bound
    // Created with its node (gang::is_direct()); its kubelet has not started it, or has rejected
    // it. kube-scheduler never checks such a pod, so the kubelet has to.
    kNotStarted,
    kBound,  // seen bound, or finished since
  };
  const gang::MemberSet* set = nullptr;
  gang::SlotId slot;
  std::optional<gang::Placement> placement;  // in any gang's plan
  Pod pod = Pod::kUnbound;                   // of that placement
  std::string refusal{};                     // kube-scheduler's message, if it refuses the pod
  // In that case: Refusal::unusable_claims.
  std::vector<std::string> unusable_claims{};
};

struct GangSeen {
  gang::PodGroupPtr group;  // null: no PodGroup of that UID was seen
  bool committed = false;
  std::vector<MemberSeen> members;  // all wanted by the spec, in its order
};

// A node on which capacity is reserved for gangs.
struct ReservedNode {
  std::string name;
  // allocatable - occupying pods - reserved placements; may be negative. nullopt: the node is not
  // known (yet), for example if kube-scheduler saw before us that it came back.
  std::optional<kube::Resources> spare;
};

struct NamedPod {
  std::string name;
  std::string uid;
};

}  // namespace nervex::planner
