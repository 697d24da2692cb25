// job/counts.h - how far is a job, judged by its pods? Phase and replica counts. Pure.
#pragma once

#include <span>

#include "job/types.h"
#include "kube/model/pod.h"

namespace nervex::job {

enum class PodState { kPending, kRunning, kSucceeded, kFailed, kTerminating };

// The main container decides: once it has ended, the pod is finished, even if a sidecar still runs.
// A pod with a deletionTimestamp is kTerminating, unless its main container had ended before the
// deletion was requested.
PodState pod_state(const kube::Pod& pod);
inline bool has_ended(PodState state) {
  return state == PodState::kSucceeded || state == PodState::kFailed;
}

// The kubelet's report on the main container; nullptr: none yet.
const kube::ContainerState* main_state(const kube::Pod& pod);

// The role a pod plays, by its label.
std::optional<Role> pod_role(const kube::Pod& pod);

// Counts per role over the pods of the current attempt. Running counts as active, the other states
// by their names; Pending and Terminating are not counted. ddp-learners count as learners.
struct Counts {
  RoleCounts coordinator, aggregator, collector, learner;
  int ready = 0;
};
Counts count(std::span<const kube::Pod* const> pods);

// What these functions need of a job's pods. Programs that look at slots add
// gang::slot_annotation_keys() to its annotation_keys.
kube::PodFilter pod_filter();

}  // namespace nervex::job
