// kube/model/pod.h - what does the suite know of a pod: node, owner, progress, and resources?
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "kube/model/meta.h"
#include "kube/model/node.h"
#include "kube/model/resources.h"
#include "kube/model/topology_spread.h"

namespace nervex::kube {

// A pod condition. True: the pod's node is lost, the extender has released the pod, and the
// controller removes it without waiting for the node.
inline constexpr std::string_view kNodeLostCondition = "nervex.sensetime.com/NodeLost";

enum class PodPhase { kPending, kRunning, kSucceeded, kFailed, kUnknown };
const char* to_string(PodPhase phase);

// Pod::other_finalizers. They are for messages: a user can give a pod any number.
inline constexpr std::size_t kMaxFinalizers = 4;
inline constexpr std::size_t kMaxFinalizerLength = 100;

// The default of spec.terminationGracePeriodSeconds.
inline constexpr std::int32_t kDefaultGraceSeconds = 30;
// Stands for any longer grace period. The API server computes deletionTimestamp of more than 292
// years with an overflow: such a time means nothing.
inline constexpr std::int32_t kMaxGraceSeconds = std::numeric_limits<std::int32_t>::max();

struct ContainerState {
  std::string name;
  bool ready = false;
  int restarts = 0;
  bool terminated = false;  // for good: state.terminated, not lastState
  int exit_code = 0;        // if terminated; after a restart that of the earlier end
  std::string reason;       // of waiting or terminated: "CrashLoopBackOff", "OOMKilled"
  std::string message;      // after a restart the last message before it, if any
  // Terminated in a second before the one of the request to delete the pod: not because of it.
  bool ended_before_deletion = false;
  bool operator==(const ContainerState&) const = default;
};

// The parts of a pod's spec that only a planner needs. Kept for pods with PodFilter::spec_label,
// and for those of PodFilter::spec_scheduler.
struct PodSpecDetail {
  bool is_gated = false;  // spec.schedulingGates is not empty: no scheduler handles it yet
  PackedConstraints constraints;
  std::vector<std::string> claims;  // claim_names()
  SharedVector<TopologySpread> spread;
  // The pod's required node affinity names one node, as for pods of a DaemonSet.
  bool is_pinned = false;
  bool operator==(const PodSpecDetail&) const = default;
};

struct Pod {
  Meta meta;
  SharedString scheduler_name;
  SharedString node;            // empty: not bound
  SharedString nominated_node;  // a hint; anyone who may patch pods/status sets it
  SharedString ip;              // status.podIP; of kept pods
  PodPhase phase = PodPhase::kPending;
  int priority = 0;            // spec.priority
  SharedString reason;         // status.reason: "Evicted", "OutOfcpu"
  SharedString message;        // status.message
  bool has_finalizer = false;  // the one in PodFilter
  // The other finalizers of a kept pod that is being deleted: at most kMaxFinalizers, long names
  // cut.
  SharedVector<std::string> other_finalizers;
  // status.startTime is set: the kubelet has started the pod, or rejected it (phase Failed).
  bool has_start_time = false;
  bool ready = false;              // condition Ready
  bool disruption_target = false;  // condition DisruptionTarget is True
  // spec.hostname is its name and spec.subdomain its namespace: a headless Service named after the
  // namespace gives it a DNS name.
  bool is_named_by_namespace = false;
  // spec.terminationGracePeriodSeconds; of kept pods, at most kMaxGraceSeconds.
  std::int32_t own_grace_seconds = kDefaultGraceSeconds;
  SharedString disruption_reason;  // of that condition: "EvictionByEvictionAPI"
  SharedString node_lost;          // message of kNodeLostCondition; empty: not True
  bool deleted_at_once = false;    // being deleted without a grace period
  // metadata.deletionGracePeriodSeconds, likewise: what its deletion gave it.
  std::int32_t deletion_grace_seconds = 0;
  SharedString unscheduled_message;  // of condition PodScheduled=False
  SharedString unscheduled_reason;   // of it: "Unschedulable", "SchedulerError"
  SysTime unscheduled_since{};       // of it, in whole seconds; of kept pods, as the two above
  SysTime bound_since{};             // of PodScheduled=True, likewise; 0: unknown
  // When the grace period of its deletion ends; of kept pods, as those above. 0: not deleted.
  SysTime deletion_timestamp{};
  SharedVector<ContainerState> containers;  // regular ones, in status order; only of kept pods
  // pod_requests(); for a pod resized in place the larger of spec and status; plus implicit
  // resources of a pod that keeps apart from its kind (anti_affinity.h).
  Resources requests;
  Shared<PodSpecDetail> detail;  // or none
  bool operator==(const Pod&) const = default;

  bool is_finished() const { return phase == PodPhase::kSucceeded || phase == PodPhase::kFailed; }
  // Takes capacity on its node: bound and not finished. Includes terminating pods.
  bool occupies() const { return !node.empty() && !is_finished(); }
};

// What a program keeps of other users' pods: with 100,000 pods the rest costs memory.
struct PodFilter {
  std::vector<std::string> label_keys;       // kept if present
  std::vector<std::string> annotation_keys;  // kept if present
  std::string finalizer;                     // Pod::has_finalizer: the pod has this one
  // Container states, messages and the address are kept only for pods with this label.
  std::string detail_label;
  // The scheduler's last message is also kept for pods with this annotation. "": for no others.
  std::string scheduling_annotation{};
  // The same, and Pod::detail, for pods with this label. "": for no others.
  std::string spec_label{};
  // The same, for unbound pods of this scheduler without scheduling_annotation. "": for no others.
  std::string spec_scheduler{};
  bool keeps_all_labels = false;  // not only label_keys
};

// Decodes one Pod's JSON without a DOM. kInvalid if it is no object or lacks metadata.name.
// Cost: one pass over the text.
Result<Pod> decode_pod(std::string_view json, const PodFilter& filter);

}  // namespace nervex::kube
