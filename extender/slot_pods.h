// extender/slot_pods.h - which pods were bound for which slot? A part of Plans, guarded by its
// lock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "gang/slot.h"
#include "kube/model/pod.h"

namespace nervex::extender {

// Pods may be seen before their PodGroup: the UID that their annotation names is all it takes.
class SlotPods {
 public:
  // A pod of a slot that was bound to a node.
  void add(const gang::PodSlot& slot, const kube::Pod& pod);
  // That pod, bound or not, is gone.
  void remove(const gang::PodSlot& slot, const kube::Pod& pod);

  // A pod of namespace `ns` was bound for this place, or is being bound: its capacity is counted as
  // the pod's own, or it is over.
  bool is_bound(const std::string& group_uid, std::string_view ns,
                const gang::Placement& placement) const;
  bool is_seen_bound(const gang::PodSlot& slot, std::string_view pod_uid) const;
  struct Named {
    std::string name;
    std::string uid;
  };
  // Another pod of its namespace that was bound for the slot, or is being bound, and has not
  // finished. nullopt: there is none.
  std::optional<Named> other_live_pod(const gang::PodSlot& slot, const kube::Pod& pod) const;

  // From now on this pod is being bound to that node for the slot; until it is added or removed.
  void assume(const gang::PodSlot& slot, const kube::Pod& pod, const std::string& node);
  void forget(const gang::PodSlot& slot, std::string_view pod_uid);

 private:
  struct BoundPod {
    std::string name;
    std::string ns;
    std::string node;    // empty: being bound
    std::string target;  // where to, if it is being bound
    std::int64_t placement = 0;
    bool finished = false;
  };
  using SlotName = std::pair<std::string, int>;                     // role and ordinal
  using PodsOfSlot = std::map<std::string, BoundPod, std::less<>>;  // by pod UID

  const PodsOfSlot& find(const std::string& group_uid, const SlotName& name) const;
  void erase(const gang::PodSlot& slot, std::string_view pod_uid);

  std::map<std::string, std::map<SlotName, PodsOfSlot>> groups_;  // by PodGroup UID
};

}  // namespace nervex::extender
