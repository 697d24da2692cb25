// job/counts.h - how far is a job, judged by its pods? Phase and replica counts. Pure.
#pragma once

#include <span>

#include "job/types.h"
#include "kube/model/pod.h"

namespace nervex::job {

enum class PodState { kPending, kRunning, kSucceeded, kFailed, kTerminating };

// The main container decides: a pod whose main container has ended is finished even while a sidecar
// still runs. A pod with a deletionTimestamp is kTerminating, unless its main container had ended
// before somebody asked for the deletion.
PodState state_of(const kube::Pod& pod);
inline bool has_ended(PodState state) {
  return state == PodState::kSucceeded || state == PodState::kFailed;
}

// What the kubelet says of the main container; nullptr: nothing yet.
const kube::ContainerState* main_state(const kube::Pod& pod);

// The role a pod plays, by its label.
std::optional<Role> role_of(const kube::Pod& pod);

// Counts per role over the pods of the current attempt: Running is active, the rest by name;
// Pending and terminating count as nothing. ddp-learners count as learners.
struct Counts {
  RoleCounts coordinator, aggregator, collector, learner;
  int ready = 0;
};
Counts count(std::span<const kube::Pod* const> pods);

// What must be kept of a job's pods for the above. Programs that look at slots add
// gang::slot_annotation_keys() to its annotation_keys.
kube::PodFilter pod_filter();

}  // namespace nervex::job
