// extender/observe/parts/slot_pods.h - which pods were or are being bound for which slot?
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "gang/slot.h"
#include "kube/pod_condition.h"
#include "planner/bind/bind_view.h"
#include "planner/facts/snapshot.h"
#include "planner/recovery/restored.h"
#include "queue/slot_use.h"

namespace nervex::extender {

// Pods may be seen before their PodGroup. When it is known, only pods of its origin count
// (gang/slot.h).
class SlotPods {
 public:
  // The PodGroup exists, or has another owner now.
  void set_group(const kube::Meta& group);
  void erase_group(const std::string& group_uid);

  // The pod of a slot was bound to a node.
  void add(const gang::PodSlot& slot, const kube::Pod& pod);
  // That pod, bound or not, was deleted.
  void remove(const gang::PodSlot& slot, const kube::Pod& pod);

  // A pod of namespace `ns` was or is being bound for this placement: its capacity counts as the
  // pod's own, or the pod has finished.
  bool is_bound(const std::string& group_uid, std::string_view ns,
                const gang::Placement& placement) const;
  // The state of the pod of namespace `ns` for this placement. Cost: log(slots).
  planner::MemberSeen::Pod state(const std::string& group_uid, std::string_view ns,
                                 const gang::Placement& placement) const;
  // A pod of this slot and incarnation has finished, for any placement: the slot gets no other pod.
  bool has_finished(const std::string& group_uid, std::string_view ns, std::string_view role,
                    gang::SlotId slot) const;
  // The kubelet has started the pod of this placement, or the pod has finished on its own.
  bool has_started(const std::string& group_uid, std::string_view ns,
                   const gang::Placement& placement) const;
  bool is_seen_bound(const gang::PodSlot& slot, std::string_view pod_uid) const;
  // Another pod of its namespace that was or is being bound for the slot, and has not finished.
  // nullopt: none.
  std::optional<planner::NamedPod> other_live_pod(const gang::PodSlot& slot,
                                                  const kube::Pod& pod) const;

  // That pod is not bound. Records whether kube-scheduler has refused it.
  void set_unbound(const gang::PodSlot& slot, const kube::Pod& pod);
  // kube-scheduler's message if it refused the pod of this placement; else "".
  std::string refusal(const std::string& group_uid, std::string_view ns,
                      const gang::Placement& placement) const;
  // Its pod has schedulingGates: kube-scheduler ignores it.
  bool is_gated(const std::string& group_uid, std::string_view ns,
                const gang::Placement& placement) const;
  // Why no pod runs for this placement, if so. Finished pods count as running unless the cluster
  // stopped them. Cost: the pods of the slot.
  std::optional<planner::OpenSlot> open_slot(const std::string& group_uid, std::string_view ns,
                                             const gang::Placement& placement) const;

  // A pod of that PodGroup was or is being bound and has not finished. `ns` empty: in any
  // namespace. Cost: its slots.
  bool has_live_pod(const std::string& group_uid, std::string_view ns) const;
  // The same, of a placement up to `through` that is not one of `except`.
  bool has_live_pod(const std::string& group_uid, std::string_view ns, std::int64_t through,
                    const std::set<std::int64_t>& except) const;
  // Those of placements of this set, or of all if it is empty, that have not finished.
  std::vector<kube::PodKey> live_pods(const std::string& group_uid, std::string_view ns,
                                      const std::set<std::int64_t>& placements) const;
  // A pod of that PodGroup was or is being bound.
  bool has_any(const std::string& group_uid) const;
  // When the grace period of the last of its pods that are being deleted ends; nullopt: none is.
  // `ns` empty: in any namespace.
  std::optional<SysTime> ends_at(const std::string& group_uid, std::string_view ns) const;
  // Pods of that PodGroup and namespace that are being deleted: GroupSeen::ending. Cost: their
  // number.
  std::map<std::pair<std::string, int>, planner::EndingPod> ending(const std::string& group_uid,
                                                                   std::string_view ns) const;

  // What a slot is planned to use.
  struct Plan {
    std::string_view role;
    gang::SlotId slot;
    std::string_view node;                      // of its placement; "": it has none
    const kube::Resources* requests = nullptr;  // of its set
    bool counts_pods = false;                   // queue::list_counted_slots() has it
  };
  // Without the indices; nullopt: it uses what is planned. Cost: the pods of the slot.
  std::optional<queue::OtherUse> other_use(const std::string& group_uid, std::string_view ns,
                                           const Plan& plan) const;
  // All pods of the slot that exist, bound or not, are `existing`, and have finished in an earlier
  // incarnation.
  bool are_all_outdated(const std::string& group_uid, std::string_view ns, std::string_view role,
                        gang::SlotId slot, std::size_t existing) const;

  // Pods of that PodGroup and namespace that were or are being bound, by slot. Cost: their number.
  std::vector<planner::BoundSlot> bound(const std::string& group_uid, std::string_view ns) const;

  // This pod is being bound to that node for the slot, until it is added or removed.
  void assume(const gang::PodSlot& slot, const kube::Pod& pod, const std::string& node);
  void forget(const gang::PodSlot& slot, std::string_view pod_uid);

 private:
  struct BoundPod {
    std::string name;
    gang::Origin origin;
    std::string node;    // empty: being bound
    std::string target;  // the node, while it is being bound
    std::int64_t placement = 0;
    bool finished = false;
    kube::SharedString node_lost{};   // why its node counts as lost
    kube::SharedString taken_away{};  // why the cluster stopped it
    int incarnation = 0;
    bool has_started = false;
    kube::Resources requests{};  // of a bound pod
  };
  struct Refusal {
    std::string pod_uid;
    kube::SharedString message;
    SysTime since{};
  };
  using PlacementKey = std::tuple<std::string, std::string, std::int64_t>;
  using SlotName = std::pair<std::string, int>;                     // role and ordinal
  using PodsOfSlot = std::map<std::string, BoundPod, std::less<>>;  // by pod UID

  struct Group {
    std::optional<gang::Origin> origin;  // nullopt: not known
    std::map<SlotName, PodsOfSlot> slots;

    // `ns` empty: in any namespace.
    bool has(const BoundPod& pod, std::string_view ns) const {
      return (ns.empty() || pod.origin.ns == ns) && (!origin || *origin == pod.origin);
    }
  };
  // The pods of a slot, those of other origins among them: `group` says which count.
  struct Found {
    const Group& group;
    const PodsOfSlot& pods;
  };

  Found find(const std::string& group_uid, const SlotName& name) const;
  bool is_of_other(const std::string& group_uid, const gang::Origin& pod) const;
  void erase(const gang::PodSlot& slot, std::string_view pod_uid);

  std::map<std::string, Group> groups_;  // by PodGroup UID
  // By PodGroup UID, the pod's namespace, and placement number.
  std::map<PlacementKey, Refusal> refusals_;
  std::map<PlacementKey, std::string> gated_;  // the pod's UID, by the same key
  struct Ending {
    SlotName slot;
    gang::Origin origin;
    planner::EndingPod pod;
  };
  std::map<std::pair<std::string, std::string>, Ending> ending_;  // by PodGroup UID and pod UID
};

}  // namespace nervex::extender
