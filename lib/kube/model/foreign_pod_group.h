// kube/model/foreign_pod_group.h - the PodGroup of scheduler-plugins
// (scheduling.x-k8s.io/v1alpha1), which other operators use for gang scheduling. Not the suite's
// own PodGroup, gang/pod_group.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "kube/model/meta.h"
#include "kube/model/pod.h"
#include "kube/model/resources.h"

namespace nervex::kube {

inline constexpr std::string_view kForeignGroupApiVersion = "scheduling.x-k8s.io/v1alpha1";
// A pod with this label belongs to the PodGroup of that name in its namespace.
inline constexpr std::string_view kForeignGroupLabel = "scheduling.x-k8s.io/pod-group";

struct ForeignPodGroupStatus {
  std::string phase;  // kPhasePending and the like
  std::string occupied_by;
  std::int64_t running = 0;
  std::int64_t succeeded = 0;
  std::int64_t failed = 0;
  std::optional<SysTime> schedule_start_time{};
  bool operator==(const ForeignPodGroupStatus&) const = default;
};

struct ForeignPodGroup {
  Meta meta;
  std::int64_t min_member = 0;  // 0 or 1: each pod by itself
  std::optional<std::int64_t> schedule_timeout_seconds{};
  Resources min_resources;  // without unreadable quantities
  ForeignPodGroupStatus status;
  // No object: it stands for the pod of this name and UID, which has no PodGroup: a gang of one.
  bool is_pod = false;
  bool operator==(const ForeignPodGroup&) const = default;
};

// Phases of sigs.k8s.io/scheduler-plugins v0.28.9, apis/scheduling/v1alpha1.
inline constexpr std::string_view kPhasePending = "Pending";        // fewer than minMember pods
inline constexpr std::string_view kPhaseScheduling = "Scheduling";  // too few of them run yet
inline constexpr std::string_view kPhaseRunning = "Running";        // minMember run or succeeded
inline constexpr std::string_view kPhaseFinished = "Finished";      // minMember succeeded
inline constexpr std::string_view kPhaseFailed = "Failed";

// kInvalid: not JSON, or metadata.name is missing.
Result<ForeignPodGroup> decode_foreign_pod_group(std::string_view json);
Json encode_foreign_status(const ForeignPodGroupStatus& status);

// "" if the pod names none.
const std::string& foreign_group_name(const Meta& pod);
// Keeps what foreign_group_name() and planning such pods need.
PodFilter with_foreign_groups(PodFilter filter);

}  // namespace nervex::kube
