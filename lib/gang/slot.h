// gang/slot.h - which slot of which PodGroup does this pod fill? Stored as annotations on the pod.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "gang/pod_group.h"
#include "kube/model/pod.h"

namespace nervex::gang {

inline constexpr std::string_view kPodGroupUidAnnotation = "nervex.sensetime.com/pod-group-uid";
inline constexpr std::string_view kSlotAnnotation =
    "nervex.sensetime.com/slot";  // "collector/4096"
inline constexpr std::string_view kIncarnationAnnotation = "nervex.sensetime.com/incarnation";
inline constexpr std::string_view kPlacementAnnotation = "nervex.sensetime.com/placement";
// The queue in which the gang of the pod counts; absent: the root.
inline constexpr std::string_view kQueueAnnotation = "nervex.sensetime.com/queue";

// The schedulerName of the pods that are bound through the extender.
inline constexpr std::string_view kSchedulerName = "nervex-scheduler";

struct PodSlot {
  std::string pod_group_uid;
  std::string role;
  SlotId slot;
  std::int64_t placement = 0;
  bool operator==(const PodSlot&) const = default;
};

// The namespace of an object and the UID of its controlling owner.
//
// Anyone who may create pods may write annotations: a pod counts for the PodGroup that it names
// only if both have the same origin, which is the job's. After `delete --cascade=orphan` neither
// has an owner. A pod cannot be created with the owner of another namespace: the garbage collector
// deletes it. docs/reference/marks.md.
struct Origin {
  kube::SharedString ns;
  kube::Shared<kube::OwnerRef> owner;

  explicit Origin(const kube::Meta& meta) : ns(meta.ns), owner(meta.owner) {}
  std::string_view owner_uid() const { return owner ? owner->uid : std::string_view(); }
  bool operator==(const Origin& other) const {
    return ns == other.ns && owner_uid() == other.owner_uid();
  }
};

// nullopt: not a pod of a gang, or invalid annotations.
std::optional<PodSlot> pod_slot(const kube::Pod& pod);
std::map<std::string, std::string> annotations_for(const PodSlot& slot);

// "collector/4096"
std::string slot_key(std::string_view role, int ordinal);

// The keys that pod_slot() needs, and kQueueAnnotation.
std::vector<std::string> slot_annotation_keys();
// `filter` that also keeps these keys, those of outage_tolerations.h, and the scheduler's last
// message on such pods.
kube::PodFilter with_slot_annotations(kube::PodFilter filter);

}  // namespace nervex::gang
