#include "kube/model/disruption.h"

#include <algorithm>
#include <array>

namespace nervex::kube {
namespace {

struct Row {
  std::string_view theirs;
  std::string_view ours;
};

// status.reason as the kubelet (pkg/kubelet/eviction, preemption, nodeshutdown, lifecycle) and the
// node lifecycle controller of Kubernetes 1.36 write it.
constexpr std::array<Row, 13> kPodReasons{{{"Evicted", kEvicted},
                                           {"Preempting", kPreempted},
                                           {"NodeLost", kNodeLost},
                                           {"NodeShutdown", kNodeShutdown},
                                           {"Terminated", kNodeShutdown},
                                           {"UnexpectedAdmissionError", kRejected},
                                           {"NodeAffinity", kRejected},
                                           {"NodePorts", kRejected},
                                           {"TopologyAffinityError", kRejected},
                                           // a NoExecute taint that came before the pod
                                           {"TaintToleration", kRejected},
                                           {"InvalidNodeInfo", kRejected},
                                           {"SysctlForbidden", kRejected},
                                           {"AppArmor", kRejected}}};

// Reasons of condition DisruptionTarget (k8s.io/api/core/v1, PodReason...).
constexpr std::array<Row, 5> kConditionReasons{{{"PreemptionByScheduler", kPreempted},
                                                {"DeletionByTaintManager", kNodeTainted},
                                                {"EvictionByEvictionAPI", kEvicted},
                                                {"DeletionByPodGC", kNodeLost},
                                                {"TerminationByKubelet", kNodeShutdown}}};

template <std::size_t kSize>
std::optional<std::string_view> reason_for(const std::array<Row, kSize>& rows,
                                           std::string_view theirs) {
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const Row& candidate) { return candidate.theirs == theirs; });
  return row == rows.end() ? std::nullopt : std::optional(row->ours);
}

// The kubelet's admission handlers may have their own reasons, such as OutOfcpu, and later versions
// may add more. The message starts the same way for all (kubelet.go, rejectPod).
bool was_rejected(const Pod& pod) {
  constexpr std::string_view kRejectedMessage = "Pod was rejected: ";
  return pod.reason.str().starts_with("OutOf") || pod.message.str().starts_with(kRejectedMessage);
}

}  // namespace

// The kubelet's own reason is more exact: it marks every pod it stops TerminationByKubelet.
std::optional<std::string_view> classify_disruption(const Pod& pod) {
  if (const auto known = reason_for(kPodReasons, pod.reason.str())) return known;
  if (was_rejected(pod)) return kRejected;
  if (!pod.disruption_target) return std::nullopt;
  return reason_for(kConditionReasons, pod.disruption_reason.str()).value_or(kDisrupted);
}

bool was_taken_away(const Pod& pod) {
  return pod.phase == PodPhase::kFailed && classify_disruption(pod).has_value();
}

std::string explain_disruption(const Pod& pod) {
  if (!was_taken_away(pod)) return "";
  const auto reason = pod.reason.empty() ? pod.disruption_reason : pod.reason;
  return reason.empty() ? std::string(*classify_disruption(pod)) : reason.str();
}

}  // namespace nervex::kube
