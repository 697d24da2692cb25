// controller/decide/objects/direct_placement.h - which pods are created with their node, past
// kube-scheduler (--direct-placement)? Pure.
//
// The workers and the aggregator of a base gang, if the planner knows everything that decides where
// they may go. The extender commits such a gang with its plan, and only when that commit was
// observed are the pods of its placements created with spec.nodeName: their creation is the bind.
// The coordinator comes last, through kube-scheduler, and its bind is the fence: the extender holds
// it until the kubelets have begun with all others. docs/adr/2026-11-23-direct-placement.md.
#pragma once

#include <string>

#include "controller/decide/actions.h"
#include "controller/decide/round/round.h"
#include "job/pod_manifest.h"

namespace nervex::controller {

// What PodGroupSpec::direct_placement of the attempt should say. It is given to a PodGroup when it
// is made, or never (not after an attempt that could not be made whole in time); and taken from it
// when the flag is gone, a template has changed, or the API server has refused such a pod. What was
// created so stays.
bool wants_direct_placement(const Round& round, const job::PodContext& context);

// The pod, if it is made now, is created with its node. Not one whose slot has got its place after
// the gang was committed: what replaces another pod, was moved or added goes through
// kube-scheduler.
bool is_created_with_node(const Round& round, const WantedPod& want);

// What to write when the API server has refused for good a pod that was to be created with its
// node, be it for that or not: from now on kube-scheduler binds the job's pods, in later attempts,
// too. The condition DirectPlacementRefused says so, to the next leader as well.
Actions fall_back_to_scheduler(const Observed& seen, const std::string& message);

// -- does the planner know all that decides where pods may go?

// Of a pod template's spec, itself. Fields that are not known to be of no matter are taken to be
// some: of later versions of Kubernetes, too. Volumes apart.
bool is_known_to_planner(const Json& pod_spec);
// Volumes for which any node does.
bool are_known_volumes(const Json& volumes);

}  // namespace nervex::controller
