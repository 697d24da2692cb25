// extender/decide/refusals.h - what follows when kube-scheduler refuses pods of a plan? Pure.
//
// The planner does not know all that kube-scheduler knows. What it refused is kept in the
// PodGroup's status, where the next plan finds it, in any replica and after any restart.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gang/pod_group.h"
#include "placement/capacity.h"

namespace nervex::extender {

// A pod of a plan that kube-scheduler does not let to its node.
struct Refusal {
  std::string set;  // MemberSet::name
  gang::Placement placement;
  std::string message;  // kube-scheduler's
  // Of the set's claims those that no pod can use now: "data=missing" (observe/volumes.h).
  std::vector<std::string> unusable_claims{};
};

// kube-scheduler would refuse the pod on any node, for something outside of nodes that is missing
// or not ready: a claim, a storage class, a resource claim. Another node does not help.
bool is_no_nodes_fault(std::string_view message);

// The status after a plan whose gang could not start: the gang has no plan, the nodes where its
// pods were refused are avoided for a minute at first and up to ten, and from the third time on it
// is planned again only after a while. Where no node is at fault none is avoided: the gang is
// planned again when the claims that were unusable change, at the latest after a pause that doubles
// from one minute up to five. Nodes that the refused plan kept away from are avoided by
// the next one, too. Bounded: at most kMostAvoided nodes are kept. nullopt: there is no such plan
// any more, or it is committed.
inline constexpr std::size_t kMostAvoided = 500;
std::optional<gang::PodGroupStatus> refuse_plan(const gang::PodGroup& group,
                                                std::string_view gang_name,
                                                std::span<const Refusal> refusals, SysTime now);

// One more refusal of the set on the node, by kube-scheduler or by its kubelet: for a while new
// placements have at most so many of the set there.
void avoid_node(std::vector<gang::AvoidedNode>& avoid, std::string_view set, std::string_view node,
                int at_most, SysTime now);

// The pods of a plan of which none was bound.
struct UnboundPods {
  std::size_t wanted = 0;
  std::size_t gated = 0;    // of them: have schedulingGates
  std::size_t missing = 0;  // of them: were not created
};

// The same of a plan whose pods were not created, or neither bound nor all refused by
// kube-scheduler, within that time: no node is at fault, so nothing is avoided, and others get the
// capacity first.
std::optional<gang::PodGroupStatus> expire_plan(const gang::PodGroup& group,
                                                std::string_view gang_name, UnboundPods pods,
                                                std::chrono::milliseconds waited, SysTime now);

// What new placements have to obey.
// The gang is not planned again yet, for its plans were refused.
bool is_paused(const gang::GangStatus& gang, SysTime now);

// What the gang's last plan was refused for (PlanRefusals::waits_for) is otherwise now.
// `unusable_claims`: of all of the gang's claims.
bool is_cause_over(const gang::GangStatus& gang, std::span<const std::string> unusable_claims);

std::vector<placement::NodeLimit> limits_of(std::span<const gang::AvoidedNode> avoid, SysTime now);

// The first time after `now` at which a node is not avoided any more.
std::optional<SysTime> avoided_until(std::span<const gang::AvoidedNode> avoid, SysTime now);

// Without what is long over.
std::vector<gang::AvoidedNode> still_of_use(std::vector<gang::AvoidedNode> avoid, SysTime now);

}  // namespace nervex::extender
