#include "view/advice.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <functional>

#include "tests/support/job_snapshots.h"

namespace nervex::view {
namespace {

// The base gang waits with that message.
void wait_with(JobSnapshot& seen, std::string message,
               std::string_view reason = gang::kReasonUnschedulable) {
  seen.group = a_group();
  seen.group->status.gangs = {a_waiting_gang("base", std::move(message))};
  seen.group->status.gangs[0].reason = reason;
}

void wait_with(JobSnapshot& seen, gang::NoFit cause,
               std::string_view reason = gang::kReasonUnschedulable) {
  wait_with(seen, "a sentence", reason);
  seen.group->status.gangs[0].cause = std::move(cause);
}

// The base gang is planned, and that one can never fit.
void never_fits_beside_base(JobSnapshot& seen, gang::Gang gang) {
  seen.group = a_group();
  seen.group->status.gangs = {a_planned_gang("base", {}), a_waiting_gang(gang.name, "a sentence")};
  seen.group->spec.gangs.push_back(std::move(gang));
  seen.group->status.gangs[1].cause = gang::NeverFits{{"collector", 1, 1}, {"cpu", 9000}};
}

}  // namespace

TEST_CASE("advice follows from the first problem", "[view][advice]") {
  using job::Phase;
  struct Row {
    std::string when;
    Phase phase;
    std::function<void(JobSnapshot&)> change;
    std::string says;
  };
  const auto row = GENERATE(values<Row>({
      {"it is being deleted", Phase::kRunning, [](JobSnapshot& v) { v.job.meta.deleting = true; },
       "being deleted"},
      {"it is done", Phase::kSucceeded, [](JobSnapshot&) {}, "kubectl nervex logs dqn -n rl"},
      {"it has failed", Phase::kFailed, [](JobSnapshot&) {}, "create the job again"},
      {"the controller has not seen it", Phase::kNone, [](JobSnapshot&) {},
       "Is nervex-operator running?"},
      {"its status is not written yet, its PodGroup is not planned", Phase::kNone,
       [](JobSnapshot& v) {
         v.group = a_group();
         v.group->status.observed_generation = 0;
       },
       "Is nervex-scheduler running?"},
      {"the API server rejects a pod", Phase::kCreated,
       [](JobSnapshot& v) {
         v.group = a_group();
         job::set_condition(v.job.status, a_condition("PodsCreated", false, "quota"));
         v.job.status.reason = v.job.status.conditions.back().reason;
       },
       "fix what the API server refuses"},
      {"something of a deleted job is in the way", Phase::kCreated,
       [](JobSnapshot& v) { v.job.status.reason = "PreviousJobTerminating"; },
       "objects of the deleted job"},
      {"a pod of an earlier attempt is in the way", Phase::kCreated,
       [](JobSnapshot& v) { v.job.status.reason = "PreviousAttemptTerminating"; },
       "kubectl delete pod -n rl POD --force"},
      {"there is no PodGroup yet", Phase::kCreated, [](JobSnapshot&) {}, "about to be queued"},
      {"the planner has not answered", Phase::kCreated,
       [](JobSnapshot& v) {
         v.group = a_group();
         v.group->status.observed_generation = 0;
       },
       "Is nervex-scheduler running?"},
      {"the gang waits for capacity", Phase::kCreated,
       [](JobSnapshot& v) {
         v.group = a_group();
         v.group->status.gangs = {a_waiting_gang("base", "full")};
       },
       "the job starts by itself, whole"},
      {"the gang can never fit", Phase::kCreated,
       [](JobSnapshot& v) {
         wait_with(v, gang::NeverFits{{"learner", 1, 1}, {"cpu", 9000}});
       },
       "Waiting does not help"},
      {"the gang may use no node", Phase::kCreated,
       [](JobSnapshot& v) {
         wait_with(v, gang::NoNodeAllowed{{"learner", 1, 1}});
       },
       "kubectl get nodes"},
      {"nodes are full, and one is cordoned", Phase::kCreated,
       [](JobSnapshot& v) {
         gang::InsufficientCapacity cause{{"learner", 1, 1}, {"cpu", 9000}};
         cause.set.nodes.full = cause.set.nodes.cordoned = 1;
         wait_with(v, cause);
       },
       "describe nodes. Nodes that are cordoned or not ready"},
      {"it was refused before, and waits for capacity now", Phase::kCreated,
       [](JobSnapshot& v) {
         wait_with(v, "learner: does not fit");
         job::set_condition(v.job.status, a_condition("PodsCreated", false, "no such account"));
         v.job.status.reason = gang::kReasonUnschedulable;
       },
       "the job starts by itself, whole"},
      {"a replica has failed", Phase::kRunning,
       [](JobSnapshot& v) {
         v.group = a_group();
         kube::Pod pod;
         pod.meta.name = "dqn-learner-x";
         pod.phase = kube::PodPhase::kFailed;
         v.pods = {pod};
       },
       "kubectl nervex replicas replace dqn -n rl POD"},
      {"it is over quota", Phase::kCreated,
       [](JobSnapshot& v) {
         wait_with(v, gang::OverQuota{"team", "pods", 2, 3, 2, 0, 3}, gang::kReasonOverQuota);
       },
       "other pods of the namespace use less"},
      {"it is larger than the quota", Phase::kCreated,
       [](JobSnapshot& v) {
         wait_with(v, gang::OverQuota{"team", "pods", 2, 3, 1, 0, 4}, gang::kReasonOverQuota);
       },
       "have the quota raised; waiting does not help: kubectl describe resourcequotas -n rl"},
      {"its queue is stopped", Phase::kCreated,
       [](JobSnapshot& v) {
         wait_with(v, gang::NotAdmitted{"QueueStopped", "vision", "", "queue vision is stopped"},
                   "QueueStopped");
       },
       "name another one in spec.queue; the gang keeps its place and starts by itself. The "
       "queues, and what waits in them: kubectl nervex queue"},
      {"its queue is used up", Phase::kCreated,
       [](JobSnapshot& v) {
         wait_with(v, gang::NotAdmitted{"LimitExceeded", "vision", "cpu", "3 are used"},
                   "LimitExceeded");
       },
       "wait until other jobs of the queue use less"},
      {"it is larger than the limit of its queue", Phase::kCreated,
       [](JobSnapshot& v) {
         wait_with(v, gang::NotAdmitted{"LimitExceeded", "vision", "cpu", "9 are needed", true},
                   "LimitExceeded");
       },
       "name a queue with a higher limit in spec.queue"},
      {"requested replicas exceed the limit of the queue", Phase::kRunning,
       [](JobSnapshot& v) {
         wait_with(v, gang::NotAdmitted{"LimitExceeded", "vision", "cpu", "9 are needed", true},
                   "LimitExceeded");
         v.group->status.gangs[0].name = "request-1";
       },
       "name a queue with a higher limit in spec.queue"},
      {"kube-scheduler refused it", Phase::kCreated,
       [](JobSnapshot& v) { wait_with(v, "refused", gang::kReasonRefusedByScheduler); },
       "kube-scheduler's objection"},
      {"no other node than the refused one may be used", Phase::kCreated,
       [](JobSnapshot& v) {
         wait_with(v, "does not fit");
         v.group->status.gangs[0].refusals.count = 1;
         v.group->status.avoid = {{"learner", "gpu-0", 0, 1, at("2026-11-21T14:06:00Z")}};
       },
       "kube-scheduler's objection"},
      {"its plan expired", Phase::kCreated,
       [](JobSnapshot& v) { wait_with(v, "not bound", gang::kReasonPlanExpired); },
       "kubectl logs -n nervex-system deployment/nervex-scheduler"},
      {"it runs in part", Phase::kRunning,
       [](JobSnapshot& v) {
         wait_with(v, "learner/0 lost its node; no place yet: learner: does not fit");
         v.group->status.gangs[0].healing_since = at("2026-11-21T14:04:00Z");
       },
       "lost pods are placed again"},
      {"it is suspended", Phase::kCreated, [](JobSnapshot& v) { v.job.spec.suspend = true; },
       "kubectl nervex resume dqn -n rl"},
      {"its pods would be refused", Phase::kCreated,
       [](JobSnapshot& v) {
         v.job.status.conditions.push_back(
             {"PodsRefused", true, "PodsRefused", "spec.learner.template: no", {}, 1});
       },
       "change the template that it names"},
      {"its PriorityClass is missing", Phase::kCreated,
       [](JobSnapshot& v) { v.job.status.reason = "PriorityClassMissing"; },
       "create the PriorityClass"},
      {"the AggregatorConfig is missing", Phase::kCreated,
       [](JobSnapshot& v) { v.job.status.reason = "AggregatorMissing"; },
       "create the AggregatorConfig"},
      {"the next attempt is not due", Phase::kCreated,
       [](JobSnapshot& v) { v.job.status.reason = "BackOff"; },
       "the next attempt starts by itself"},
      {"it did not start in time", Phase::kFailed,
       [](JobSnapshot& v) { v.job.status.reason = "ScheduleTimeout"; },
       "a longer scheduleTimeoutSeconds"},
      {"the API server does not store the plan", Phase::kCreated,
       [](JobSnapshot& v) {
         v.group = a_group();
         v.group->status.gangs = {a_waiting_gang("base", "too large")};
         v.group->status.gangs[0].reason = gang::kReasonPlanRefused;
       },
       "ask for fewer pods"},
      {"a request waits", Phase::kRunning,
       [](JobSnapshot& v) {
         v.group = a_group();
         v.group->status.gangs = {a_planned_gang("base", {}), a_waiting_gang("request-1", "full")};
       },
       "the requested replicas start by themselves"},
      {"a request can never fit", Phase::kRunning,
       [](JobSnapshot& v) {
         never_fits_beside_base(v, a_request(1, {{"collector", 1}}));
       },
       "kubectl nervex replicas remove dqn -n rl"},
      {"added base replicas can never fit", Phase::kRunning,
       [](JobSnapshot& v) {
         never_fits_beside_base(v, {"base-collector-1", gang::GangKind::kAddedReplicas, 0, 1, {}});
       },
       "kubectl nervex scale dqn -n rl --collectors N"},
      {"its name is none for pods", Phase::kCreated,
       [](JobSnapshot& v) {
         v.job.status.reason = "InvalidName";
         v.job.status.conditions.push_back(
             {"PodsCreated", false, "InvalidName", "at most 51 characters", {}, 1});
       },
       "create the job under another name"},
      {"it starts", Phase::kCreated,
       [](JobSnapshot& v) {
         v.group = a_group();
         v.group->status.gangs = {a_planned_gang("base", {})};
       },
       "its pods are starting"},
      {"an image cannot be pulled", Phase::kCreated,
       [](JobSnapshot& v) {
         v.group = a_group();
         v.group->status.gangs = {a_planned_gang("base", {})};
         kube::ContainerState container;
         container.reason = "ImagePullBackOff";
         v.pods.emplace_back().containers = {container};
       },
       "Fix what it names, such as the image"},
      {"a pod of it is not ready", Phase::kRunning,
       [](JobSnapshot& v) {
         v.group = a_group();
         job::set_condition(v.job.status, a_condition("Ready", false, "1/2"));
       },
       "not all pods are ready"},
      {"it runs", Phase::kRunning, [](JobSnapshot& v) { v.group = a_group(); }, "the job runs"},
  }));
  INFO("when " << row.when);
  JobSnapshot seen = a_snapshot(row.phase);
  row.change(seen);
  const std::string text = describe(find_advice(seen), "rl", "dqn");
  INFO(text);
  CHECK(text.find(row.says) != std::string::npos);
}

}  // namespace nervex::view
