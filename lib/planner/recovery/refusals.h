// planner/recovery/refusals.h - what happens when kube-scheduler refuses pods of a plan? Pure.
//
// kube-scheduler checks more than the planner knows. The PodGroup's status keeps what it refused,
// so that the next plan avoids it, in any replica and after any restart.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gang/pod_group.h"
#include "placement/capacity.h"

namespace nervex::planner {

// A pod of a plan that kube-scheduler refuses on its node.
struct Refusal {
  std::string set;  // MemberSet::name
  gang::Placement placement;
  std::string message;  // kube-scheduler's
  // The set's claims that no pod can use now: "data=missing" (extender/observe/parts/volumes.h).
  std::vector<std::string> unusable_claims{};
};

// kube-scheduler would refuse the pod on any node, because something outside of nodes is missing or
// not ready: a claim, a storage class, a resource claim. Another node does not help.
bool is_no_nodes_fault(std::string_view message);

// The status after a plan whose gang could not start. The gang has no plan, and the nodes that
// refused its pods are avoided, first for one minute and later up to ten; from the third refusal on
// the gang is planned again only after a pause. If no node is at fault none is avoided: the gang is
// planned again when the unusable claims change, at the latest after a pause that doubles from one
// minute to five. The next plan also avoids the nodes that the refused plan avoided. At most
// gang::kMostAvoided nodes are kept. nullopt: the plan no longer exists, or is committed.
std::optional<gang::PodGroupStatus> refuse_plan(const gang::PodGroup& group,
                                                std::string_view gang_name,
                                                std::span<const Refusal> refusals, SysTime now);

// The pods of a plan without a bound pod.
struct UnboundPods {
  std::size_t wanted = 0;
  std::size_t gated = 0;    // of `wanted`: have schedulingGates
  std::size_t missing = 0;  // of `wanted`: were not created
  // Of `wanted`: exist, name resource claims and did not come to their bind; with the first claim
  // (MemberSet::resource_claims).
  std::size_t claiming = 0;
  std::string claim{};
};

// The same for a plan whose pods were not created in time, or were neither bound nor all refused by
// kube-scheduler: no node is at fault, so none is avoided, and other gangs get the capacity first.
std::optional<gang::PodGroupStatus> expire_plan(const gang::PodGroup& group,
                                                std::string_view gang_name, const UnboundPods& pods,
                                                std::chrono::milliseconds waited, SysTime now);

// They end for a gang that takes its reserved nodes back.
bool is_for_reservation(const std::vector<gang::Victim>& victims);

// The same for a gang whose victims have not ended in time. Those that are marked are requeued all
// the same. `is_counted`: by the status of its Queue; otherwise no victim was marked.
std::optional<gang::PodGroupStatus> expire_preemption(const gang::PodGroup& group,
                                                      std::string_view gang_name, bool is_counted,
                                                      SysTime now);

// ---- what must new placements obey?
// The gang is not planned again yet because its plans were refused.
bool is_paused(const gang::GangStatus& gang, SysTime now);

// Its last plans failed, or its pods were refused: until then it ends no other workloads for the
// next try. nullopt: now it may. `status`: null if it has none.
std::optional<SysTime> preempts_after(const gang::Gang& gang, const gang::GangStatus* status,
                                      SysTime now);

// So long after a start has failed so many times in a row, others end for another try.
std::chrono::milliseconds preemption_pause(int failures);

inline constexpr std::string_view kClaimKind = "PersistentVolumeClaim";

// The cause of the last refusal (PlanRefusals::waits_for) has changed. `unusable_claims`: of all of
// the gang's claims.
bool is_cause_over(const gang::GangStatus& gang, std::span<const std::string> unusable_claims);

// Those of the unusable claims that the gang's pods mount.
std::vector<std::string> select_claims(const gang::Gang& gang,
                                       std::span<const std::string> unusable_claims);
// "data" of "data=missing".
std::string_view name_claim(std::string_view unusable_claim);
// The claim that keeps the gang from starting: one that is missing or lost, or that the last
// refusal waits for. nullopt: none. `unusable_claims`: as above; `status`: null if the gang has
// none.
std::optional<gang::StartBlocker> find_unusable_claim(std::span<const std::string> unusable_claims,
                                                      const gang::GangStatus* status);

std::vector<placement::NodeLimit> collect_node_limits(std::span<const gang::AvoidedNode> avoid,
                                                      SysTime now);

// The first time after `now` at which a node is no longer avoided.
std::optional<SysTime> avoided_until(std::span<const gang::AvoidedNode> avoid, SysTime now);

}  // namespace nervex::planner
