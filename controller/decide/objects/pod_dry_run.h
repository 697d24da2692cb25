// controller/decide/objects/pod_dry_run.h - would the API server create the pods of a waiting job?
// Pure.
//
// A gang that waits for capacity has no pods, so obstacles to creating them (an unknown
// ServiceAccount, Pod Security, a LimitRange, a webhook) would show hours later. So one pod of each
// role is created in a dry run, and condition PodsRefused reports the answer.
//
// Only for a job whose base gang the planner could not place, or whose pods name resource claims
// (start_needs.h): the pods of a gang that is placed at
// once are created in the next round, which answers as soon at no extra cost. Asked once per
// attempt, and again when the spec or the AggregatorConfig has changed; also each minute after a
// refusal, whose cause a user may have fixed elsewhere, without an answer, after a plan has failed,
// and while the gang is planned with pods that admission enlarges, which it may stop doing. No gang
// is requeued because of the answer. While the gang waits, nothing ends and no node is reserved for
// it before there is one: check_start() puts it into the PodGroup.
//
// Also for a job whose pods the API server has refused, each minute of its back-off: the back-off
// ends when they would be created.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "controller/decide/actions.h"
#include "controller/decide/round/round.h"
#include "job/types.h"
#include "kube/model/json.h"

namespace nervex::controller {

// The planner could not place the base gang of a job that is to start.
bool waits_for_capacity(const Round& round);

// The job backs off because a pod was permanently refused: requeue_after_failed_creation().
bool backs_off_after_refusal(const Observed& seen);
// Then: the dry run shows that the pods would be created now. The back-off has lasted for a minute.
bool is_refusal_over(const Round& round);

// -- what is asked, and when?

// At most one DryRunPods.
Actions dry_run_steps(const Round& round);
// When an answered question is due again; nullopt: it is not.
std::optional<std::chrono::milliseconds> time_until_dry_run(const Round& round);

// Identifies a job's question: its attempt and the versions of spec and AggregatorConfig.
std::string dry_run_subject(const Round& round);

// The gang is planned: creating its pods tells what a dry run would. Only what the API server does
// not check remains to be asked (start_needs.h).
bool are_needs_alone_asked(const Round& round);

// One pod of each role of the base gang, as it would be created, but without its node. Roles
// without base replicas are left out: their requests come later. Empty if the gang does not wait.
struct DryRunPod {
  job::Role role = job::Role::kCoordinator;
  Json manifest;
};
std::vector<DryRunPod> pods_to_dry_run(const Round& round);

// -- what does the answer say?

// Adds the API server's answer about that role's pod to the report; null: it would be created. Not
// every error is a refusal:
//  - a webhook without dry-run support decides only when the pod is created;
//  - a ResourceQuota counts only if the pod is larger than all of it: otherwise it is used up for
//    now, and the planner counts that (OverQuota), or check_start() names it;
//  - without an answer nothing is known.
void add_dry_run_answer(job::Role role, const Error* error, DryRunReport& report);
// `pod_json`: the pod as the API server would store it.
void add_dry_run_size(job::Role role, std::string_view pod_json, DryRunReport& report);

// The admission result of a set of the base gang (MemberSet::admitted) according to the answer;
// unchanged if there is no answer or it says the same.
gang::AdmittedPod admitted_pod(const Round& round, const gang::MemberSet& set);

// The start check of the base gang (Gang::start_check) according to the answer, which may have
// changed; unchanged without a new one. An answer that does not come within kLongestCheck counts as
// passed: a slow webhook must not keep the gang from its quota. None if the gang has none: an older
// CustomResourceDefinition drops it, and it would be written in each round.
inline constexpr std::chrono::minutes kLongestCheck{5};
gang::StartCheck check_start(const Round& round, const gang::Gang& base);

// Sets condition PodsRefused by the report, if it has the round's subject; until then the old
// condition stays. False once the gang has its placements: from then on PodsCreated applies.
void report_dry_run(const Round& round, job::Status& status);

}  // namespace nervex::controller
