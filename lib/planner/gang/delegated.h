// planner/gang/delegated.h - what of a gang's plan is left to kube-scheduler? Pure.
//
// A node has as much as is asked for of an extended resource that a DeviceClass backs and that it
// does not list: which devices it has, kube-scheduler finds out when it allocates them.
#pragma once

#include <string>
#include <vector>

#include "placement/cluster.h"
#include "planner/gang/gang_work.h"

namespace nervex::planner {

// The resources that its pods request and their nodes leave to kube-scheduler; sorted. Cost where
// no node does so: the resources of nodes.
std::vector<std::string> find_delegated(const GangWork& work, const placement::Cluster& nodes);

// "example.com/gpu is left to kube-scheduler, which allocates devices of a DeviceClass"; "": none.
std::string describe_delegated(const std::vector<std::string>& resources);

}  // namespace nervex::planner
