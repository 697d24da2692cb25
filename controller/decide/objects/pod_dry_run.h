// controller/decide/objects/pod_dry_run.h - would the API server create the pods of a job that
// waits? Pure.
//
// A gang that waits for capacity has no pods, so what speaks against them (an unknown
// ServiceAccount, Pod Security, a LimitRange, a webhook) would show hours later. So one
// pod of each role is created in a dry run, and condition PodsRefused says what the API server
// said.
//
// Only of a job whose base gang the planner has looked at and could not place: the pods of one that
// is placed at once are created in the next round, which tells the same as soon and costs the API
// server no more. Asked once for each attempt, and again when the spec or the AggregatorConfig has
// changed; each minute after a refusal, whose cause a user may have fixed elsewhere, when there was
// no answer, and while the gang is planned with pods that admission makes larger than their
// template, which it may stop doing. Nothing waits for the answer, and no gang is taken back for
// it.
//
// Also of a job whose pods the API server has refused, each minute while it backs off: the back-off
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

// The planner has looked at the base gang of a job that is to start, and could not place it.
bool waits_for_capacity(const Round& round);

// The job backs off because a pod of it was refused for good: requeue_after_failed_creation().
bool backs_off_after_refusal(const Observed& seen);
// Then: the dry run shows that its pods would be created now. The back-off has lasted for a minute.
bool is_refusal_over(const Round& round);

// -- what is asked, and when?

// At most one DryRunPods.
Actions dry_run_steps(const Round& round);
// When a question that was answered is due again; nullopt: it is not.
std::optional<std::chrono::milliseconds> time_until_dry_run(const Round& round);

// Identifies a job's question: its attempt and the versions of spec and AggregatorConfig.
std::string dry_run_subject(const Round& round);

// One pod of each role that the gang begins with, as it would be created but for its node. Not of a
// role without base replicas: what a request asks for is known when it comes. None if the gang does
// not wait.
struct DryRunPod {
  job::Role role = job::Role::kCoordinator;
  Json manifest;
};
std::vector<DryRunPod> pods_to_dry_run(const Round& round);

// -- what does the answer say?

// Into the report: what the API server answered about the pod of that role, null: it would create
// it. Not every error says that it would not:
// - a webhook that cannot be asked in a dry run decides when the pod is created;
// - of a ResourceQuota only a pod that is larger than all of it: the rest is used, and the planner
//   counts that (OverQuota);
// - without an answer nothing is known.
void add_dry_run_answer(job::Role role, const Error* error, DryRunReport& report);
// The pod as the API server would store it.
void add_dry_run_size(job::Role role, std::string_view pod_json, DryRunReport& report);

// What the set of the PodGroup says of admission (MemberSet::admitted) by the answer, if there is
// one and it is another one than before; else as it is.
gang::AdmittedPod admitted_pod(const Round& round, const gang::MemberSet& set);

// Sets condition PodsRefused by the report, if there is one of the round's subject. Until then what
// was said before stands. False once the gang has its placements: from then on PodsCreated tells.
void report_dry_run(const Round& round, job::Status& status);

}  // namespace nervex::controller
