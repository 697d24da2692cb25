// controller/decide/objects/direct_placement.h - which pods are created with their node, bypassing
// kube-scheduler (--direct-placement)? Pure.
//
// The workers and the aggregator of a base gang, if the planner knows everything that decides on
// their nodes. The extender commits such a gang with its plan, and only after that commit was
// observed are its pods created with spec.nodeName: their creation is the bind. The coordinator
// comes last, through kube-scheduler, and its bind is the fence: the extender holds it until the
// kubelets have started all others. docs/adr/2026-11-23-direct-placement.md.
#pragma once

#include <string>

#include "controller/decide/actions.h"
#include "controller/decide/round/round.h"
#include "job/pod_manifest.h"

namespace nervex::controller {

// The PodGroupSpec::direct_placement that the attempt should have. It is set when a PodGroup is
// created, or never (not after an attempt that could not be made whole in time). It is cleared when
// the flag is off, a template has changed, or the API server has refused such a pod. Pods already
// created so stay.
bool wants_direct_placement(const Round& round, const job::PodContext& context);

// True if the pod, created now, gets its node. Not if its slot got its placement after the gang was
// committed: replaced, moved and added pods go through kube-scheduler.
bool is_created_with_node(const Round& round, const WantedPod& want);

// What to write when the API server has permanently refused a pod that was to be created with its
// node, for any reason: from now on kube-scheduler binds the job's pods, in later attempts too. The
// condition DirectPlacementRefused records it, for the next leader as well.
Actions fall_back_to_scheduler(const Observed& seen, const std::string& message);

// -- does the planner know everything that decides on pods' nodes?

// For a pod template's spec, volumes apart. An unknown field counts as relevant, including those of
// later versions of Kubernetes.
bool is_known_to_planner(const Json& pod_spec);
// Volumes that any node can provide.
bool are_known_volumes(const Json& volumes);

}  // namespace nervex::controller
