#include "cli/explain.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <functional>

#include "tests/cli/views.h"

namespace nervex::cli {
namespace {

// The last line of an explanation, without its title.
std::string advice_of(const std::string& explanation) {
  const std::string_view title = "\nWhat to do: ";
  const auto at = explanation.find(title);
  REQUIRE(at != std::string::npos);
  return explanation.substr(at + title.size());
}

// The base gang waits with that message.
void wait_with(JobView& view, std::string message,
               std::string_view reason = gang::kReasonUnschedulable) {
  view.group = a_group();
  view.group->status.gangs = {a_waiting_gang("base", std::move(message))};
  view.group->status.gangs[0].reason = reason;
}

// The lines before the first empty one, without the job's name and phase.
std::string head_of(const std::string& explanation) {
  const auto from = explanation.find('\n', explanation.find("\n  Phase") + 1) + 1;
  return explanation.substr(from, explanation.find("\n\n") + 1 - from);
}

}  // namespace

TEST_CASE("a waiting gang is explained with role, resource and numbers", "[cli][explain][golden]") {
  JobView view = a_view(job::Phase::kCreated);
  view.job.status.reason = "Unschedulable";
  view.group = a_group();
  view.group->status.gangs = {a_waiting_gang(
      "base",
      "learner: 1 of 2 does not fit: each needs nvidia.com/gpu 8; 1 node has it free, "
      "3 more are full")};
  CHECK(explain(view) == R"(NerveXJob rl/dqn
  Phase    Created (Unschedulable) since 2026-11-21T14:00:00Z, 5m ago
  Waits    the whole gang, since 2026-11-21T14:00:02Z, 4m58s ago
  Because  learner: 1 of 2 does not fit: each needs nvidia.com/gpu 8; 1 node has it free, 3 more are full

Roles
  ROLE         WANTED  PLACED  RUNNING  SUCCEEDED  FAILED
  coordinator  1       0       0        0          0
  learner      2       0       0        0          0

What to do: wait: the job starts by itself, whole, as soon as it fits. Who holds the capacity, by pods or reserved for requests (reservedReplicas): kubectl get nervexjobs --all-namespaces, and of all pods kubectl describe nodes
)");
}

TEST_CASE("a running job shows its nodes, its pod problems and what waits",
          "[cli][explain][golden]") {
  JobView view = a_view(job::Phase::kRunning);
  view.job.status.coordinator.active = 1;
  view.job.status.learner = {1, 0, 1};
  view.group = a_group();
  view.group->spec.members.push_back(a_set("request-1", "collector", 2, 4096));
  view.group->status.gangs = {
      a_planned_gang("base", {{"coordinator", {0, 0}, "cpu-0", 1},
                              {"learner", {0, 0}, "gpu-0", 2},
                              {"learner", {1, 0}, "gpu-0", 3}}),
      a_waiting_gang("request-1",
                     "collector: 2 of 2 do not fit: each needs cpu 64; no node has it "
                     "free, 8 are full")};
  kube::Pod pod;
  pod.meta.name = "dqn-learner-bcdfg";
  pod.phase = kube::PodPhase::kFailed;
  pod.containers = {
      {"nervex-container", false, 0, true, 137, "OOMKilled", "killed\nby the kernel"}};
  view.pods = {pod};
  view.events = {{at("2026-11-21T14:00:00Z"), false, "SuccessfulCreate", "created 3 pods", 1},
                 {at("2026-11-21T14:04:30Z"), true, "FailedCreate", "pods is forbidden", 3}};
  CHECK(explain(view) == R"(NerveXJob rl/dqn
  Phase    Running since 2026-11-21T14:00:00Z, 5m ago
  Waits    request-1 (2 collectors), since 2026-11-21T14:00:02Z, 4m58s ago
  Because  collector: 2 of 2 do not fit: each needs cpu 64; no node has it free, 8 are full

Roles
  ROLE         WANTED  PLACED  RUNNING  SUCCEEDED  FAILED
  coordinator  1       1       1        0          0
  collector    2       0       0        0          0
  learner      2       2       1        0          1

Planned nodes
  cpu-0  coordinator/0
  gpu-0  learner/0, learner/1

Problems
  dqn-learner-bcdfg  OOMKilled, exit code 137: killed by the kernel

Last events
  5m ago   Normal   SuccessfulCreate  created 3 pods
  30s ago  Warning  FailedCreate      pods is forbidden (x3)

What to do: wait: the requested replicas start by themselves, all together, as soon as they fit, and the job runs meanwhile. Who holds the capacity: kubectl get nervexjobs --all-namespaces, and of all pods kubectl describe nodes
)");
}

TEST_CASE("reserved capacity is shown with its nodes and until when", "[cli][explain][golden]") {
  JobView view = a_view(job::Phase::kRunning);
  view.job.status.coordinator.active = 1;
  view.group = a_group();
  view.group->spec.members.push_back(a_set("request-1", "learner", 2, 4096));
  view.group->status.gangs = {a_planned_gang(
      "base", {{"coordinator", {0, 0}, "cpu-0", 1}, {"learner", {0, 0}, "gpu-0", 2}})};
  view.group->status.gangs[0].reserved = {
      {"learner", "gpu-0", 1}, {"learner", "gpu-1", 2}, {"request-1-learner", "gpu-1", 1}};
  CHECK(explain(view) == R"(NerveXJob rl/dqn
  Phase     Running since 2026-11-21T14:00:00Z, 5m ago
  Reserved  capacity for 4 learners, until 2026-11-21T14:10:00Z, in 5m

Roles
  ROLE         WANTED  PLACED  RUNNING  SUCCEEDED  FAILED
  coordinator  1       1       1        0          0
  learner      4       1       0        0          0

Planned nodes
  cpu-0  coordinator/0
  gpu-0  learner/0, 1 learner reserved
  gpu-1  3 learners reserved

What to do: nothing: the job runs.
)");

  view.job.status.phase = job::Phase::kCreated;
  CHECK(explain(view).find("Reserved  capacity for 4 learners, until 600 s after the coordinator "
                           "begins to run\n") != std::string::npos);
}

TEST_CASE("a job without a status is explained", "[cli][explain][golden]") {
  JobView view = a_view(job::Phase::kNone);
  view.job.status = {};
  CHECK(explain(view) == R"(NerveXJob rl/dqn
  Phase    none yet; created 2026-11-21T14:00:00Z, 5m ago
  Waits    the whole gang, since 2026-11-21T14:00:00Z, 5m ago
  Because  no controller has seen the job yet

Roles
  ROLE         WANTED  PLACED  RUNNING  SUCCEEDED  FAILED
  coordinator  1       0       0        0          0
  learner      2       0       0        0          0

What to do: no controller has seen this job yet. Is nervex-operator running? kubectl get deployments -n nervex-system
)");
}

TEST_CASE("a job that waits without a PodGroup says so from its conditions", "[cli][explain]") {
  JobView view = a_view(job::Phase::kCreated);
  job::set_condition(view.job.status, a_condition("Scheduled", false, "spec.suspend is true",
                                                  "2026-11-21T14:01:00Z"));
  CHECK(head_of(explain(view)) ==
        "  Waits    the whole gang, since 2026-11-21T14:01:00Z, 4m ago\n"
        "  Because  spec.suspend is true\n");

  job::set_condition(view.job.status,
                     a_condition("PodsCreated", false, "403", "2026-11-21T14:02:00Z"));
  CHECK(head_of(explain(view)) ==
        "  Waits    the whole gang, since 2026-11-21T14:02:00Z, 3m ago\n"
        "  Because  403\n");

  view.job.status.phase = job::Phase::kRunning;
  view.job.status.conditions.clear();
  job::set_condition(view.job.status, a_condition("RequestsScheduled", false, "request-1: later"));
  CHECK(head_of(explain(view)) ==
        "  Waits    requested replicas, since 2026-11-21T14:00:00Z, 5m ago\n"
        "  Because  request-1: later\n");
}

TEST_CASE("a waiting job says until when, which node is avoided and why it was queued again",
          "[cli][explain]") {
  JobView view = a_view(job::Phase::kCreated);
  wait_with(view, "learner: does not fit");
  view.group->status.avoid = {{"learner", "gpu-0", 0, 1, at("2026-11-21T14:06:00Z")},
                              {"learner", "gpu-1", 0, 2, at("2026-11-21T14:07:00Z")},
                              {"learner", "gpu-2", 0, 1, at("2026-11-21T14:04:00Z")}};
  view.job.spec.schedule_timeout_seconds = 600;
  view.job.status.waiting_since = at("2026-11-21T14:00:00Z");
  job::set_condition(view.job.status, a_condition("Requeued", true, "learner/0 lost its node"));
  CHECK(head_of(explain(view)) ==
        "  Waits    the whole gang, since 2026-11-21T14:00:02Z, 4m58s ago\n"
        "  Because  learner: does not fit\n"
        "  Until    2026-11-21T14:10:00Z, in 5m: then the job fails (scheduleTimeoutSeconds)\n"
        "  Avoided  node gpu-1 for learner until 2026-11-21T14:07:00Z, in 2m, and 1 more before\n"
        "  Note     queued again: learner/0 lost its node\n");
}

TEST_CASE("the time until a job fails begins again after a back-off, not while pods are refused",
          "[cli][explain]") {
  JobView view = a_view(job::Phase::kCreated);
  wait_with(view, "learner: does not fit");
  view.job.spec.schedule_timeout_seconds = 600;
  view.job.status.waiting_since = at("2026-11-21T14:00:00Z");
  view.job.status.next_attempt_time = at("2026-11-21T14:03:00Z");
  CHECK(explain(view).find("Until    2026-11-21T14:13:00Z, in 8m: ") != std::string::npos);
  view.job.status.conditions.push_back({"PodsCreated", false, "FailedCreate", "no", {}, 1});
  CHECK(explain(view).find("Until    2026-11-21T14:10:00Z, in 5m: ") != std::string::npos);
}

TEST_CASE("a gang of several roles is named with all of them, and one that lost pods as such",
          "[cli][explain]") {
  JobView view = a_view(job::Phase::kRunning);
  view.group = a_group();
  view.group->spec.members.push_back(a_set("request-1", "aggregator", 1, 4096));
  view.group->spec.members.push_back(a_set("request-1", "ddp-learner", 2, 4096));
  view.group->status.gangs = {a_waiting_gang("request-1", "full")};
  CHECK(explain(view).find("  Waits    request-1 (1 aggregator, 2 ddp-learners), since ") !=
        std::string::npos);
  view.group->status.gangs = {a_waiting_gang("base", "lost")};
  view.group->status.gangs[0].healing_since = at("2026-11-21T14:04:00Z");
  CHECK(explain(view).find("  Waits    lost pods of the whole gang, since 2026-11-21T14:04:00Z") !=
        std::string::npos);
  view.group->status.gangs[0].healing_since =
      at("2026-11-21T14:30:00Z");  // a pod may end until then
  CHECK(explain(view).find("  Waits    lost pods of the whole gang, since 2026-11-21T14:00:02Z") !=
        std::string::npos);
}

TEST_CASE("a failed job shows the message of its condition", "[cli][explain]") {
  JobView view = a_view(job::Phase::kFailed);
  view.job.status.reason = "CoordinatorFailed";
  job::set_condition(view.job.status, a_condition("Failed", true, "exit code 3: no data"));
  const std::string text = explain(view);
  INFO(text);
  CHECK(text.find("Failed (CoordinatorFailed) since") != std::string::npos);
  CHECK(text.find("Note   exit code 3: no data") != std::string::npos);
}

TEST_CASE("of many pod problems the first are listed and the rest counted", "[cli][explain]") {
  JobView view = a_view(job::Phase::kRunning);
  for (int i = 0; i < 20; ++i) {
    kube::Pod pod;
    pod.meta.name = "dqn-learner-" + std::to_string(i);
    pod.reason = "Evicted";
    view.pods.push_back(pod);
  }
  CHECK(explain(view).find("\n  and 12 more\n") != std::string::npos);
}

TEST_CASE("a pod whose node is away says that its template tolerates it, or that the node is lost",
          "[cli][explain]") {
  struct Row {
    std::string_view annotation;
    std::string value;
    std::string node_lost;
    std::string shown;
  };
  const auto row = GENERATE(values<Row>({
      {"tolerates-not-ready-seconds", "3600", "",
       "not Ready; its template tolerates that node n1 is not Ready for 60m\n"},
      {"tolerates-unreachable-seconds", "always", "",
       "not Ready; its template tolerates that node n1 is unreachable for any time\n"},
      {"tolerates-not-ready-seconds", "3600", "deleted", "its node n1 is lost: deleted\n"},
  }));
  JobView view = a_view(job::Phase::kRunning);
  kube::Pod pod;
  pod.meta.name = "dqn-learner-x";
  pod.node = "n1";
  pod.phase = kube::PodPhase::kRunning;
  pod.node_lost = row.node_lost;
  pod.meta.annotations["nervex.sensetime.com/" + std::string(row.annotation)] = row.value;
  view.pods = {pod};
  CHECK(explain(view).find("dqn-learner-x  " + row.shown) != std::string::npos);
  view.pods.front().ready = true;
  view.pods.front().node_lost = "";
  CHECK(explain(view).find("dqn-learner-x") == std::string::npos);
}

TEST_CASE("advice follows from the first problem", "[cli][advice]") {
  using job::Phase;
  struct Row {
    std::string when;
    Phase phase;
    std::function<void(JobView&)> change;
    std::string says;
  };
  const auto row = GENERATE(values<Row>({
      {"it is being deleted", Phase::kRunning, [](JobView& v) { v.job.meta.deleting = true; },
       "being deleted"},
      {"it is done", Phase::kSucceeded, [](JobView&) {}, "kubectl logs -n rl dqn-coordinator"},
      {"it has failed", Phase::kFailed, [](JobView&) {}, "create the job again"},
      {"the controller has not seen it", Phase::kNone, [](JobView&) {},
       "Is nervex-operator running?"},
      {"the API server rejects a pod", Phase::kCreated,
       [](JobView& v) {
         v.group = a_group();
         job::set_condition(v.job.status, a_condition("PodsCreated", false, "quota"));
         v.job.status.reason = v.job.status.conditions.back().reason;
       },
       "fix what the API server refuses"},
      {"something of a deleted job is in the way", Phase::kCreated,
       [](JobView& v) { v.job.status.reason = "PreviousJobTerminating"; },
       "objects of the deleted job"},
      {"a pod of an earlier attempt is in the way", Phase::kCreated,
       [](JobView& v) { v.job.status.reason = "PreviousAttemptTerminating"; },
       "kubectl delete pod -n rl POD --force"},
      {"there is no PodGroup yet", Phase::kCreated, [](JobView&) {}, "about to be queued"},
      {"the planner has not answered", Phase::kCreated,
       [](JobView& v) {
         v.group = a_group();
         v.group->status.observed_generation = 0;
       },
       "Is nervex-scheduler running?"},
      {"the gang waits for capacity", Phase::kCreated,
       [](JobView& v) {
         v.group = a_group();
         v.group->status.gangs = {a_waiting_gang("base", "full")};
       },
       "the job starts by itself, whole"},
      {"the gang can never fit", Phase::kCreated,
       [](JobView& v) { wait_with(v, "learner: can never fit: it needs cpu 9"); },
       "waiting does not help"},
      {"the gang may use no node", Phase::kCreated,
       [](JobView& v) { wait_with(v, "learner: no node is allowed: 1 is cordoned"); },
       "kubectl get nodes"},
      {"nodes are full, and one is cordoned", Phase::kCreated,
       [](JobView& v) { wait_with(v, "learner: does not fit; 1 is full, 1 is cordoned"); },
       "describe nodes. Nodes that are cordoned or not ready"},
      {"it was refused before, and waits for capacity now", Phase::kCreated,
       [](JobView& v) {
         wait_with(v, "learner: does not fit");
         job::set_condition(v.job.status, a_condition("PodsCreated", false, "no such account"));
         v.job.status.reason = gang::kReasonUnschedulable;
       },
       "the job starts by itself, whole"},
      {"a replica has failed", Phase::kRunning,
       [](JobView& v) {
         v.group = a_group();
         kube::Pod pod;
         pod.meta.name = "dqn-learner-x";
         pod.phase = kube::PodPhase::kFailed;
         v.pods = {pod};
       },
       "kubectl nervex replicas replace dqn -n rl POD"},
      {"it is over quota", Phase::kCreated,
       [](JobView& v) { wait_with(v, "over quota by pods 2", gang::kReasonOverQuota); },
       "others of the namespace use less"},
      {"it is larger than the quota", Phase::kCreated,
       [](JobView& v) {
         wait_with(v, "over quota by pods 2, more than the quota allows at all",
                   gang::kReasonOverQuota);
       },
       "have the quota raised, waiting does not help: kubectl describe resourcequotas -n rl"},
      {"kube-scheduler refused it", Phase::kCreated,
       [](JobView& v) { wait_with(v, "refused", gang::kReasonRefusedByScheduler); },
       "what kube-scheduler objects to"},
      {"no other node than the refused one may be used", Phase::kCreated,
       [](JobView& v) {
         wait_with(v, "does not fit");
         v.group->status.gangs[0].refusals.count = 1;
         v.group->status.avoid = {{"learner", "gpu-0", 0, 1, at("2026-11-21T14:06:00Z")}};
       },
       "what kube-scheduler objects to"},
      {"nobody binds its plan", Phase::kCreated,
       [](JobView& v) { wait_with(v, "not bound", gang::kReasonPlanExpired); },
       "kubectl logs -n nervex-system deployment/nervex-scheduler"},
      {"it runs in part", Phase::kRunning,
       [](JobView& v) {
         wait_with(v, "learner/0 lost its node; no place yet: learner: does not fit");
         v.group->status.gangs[0].healing_since = at("2026-11-21T14:04:00Z");
       },
       "lost pods get a new place"},
      {"it is suspended", Phase::kCreated, [](JobView& v) { v.job.spec.suspend = true; },
       R"(kubectl patch nervexjob dqn -n rl --type merge -p '{"spec":{"suspend":false}}')"},
      {"its pods would be refused", Phase::kCreated,
       [](JobView& v) {
         v.job.status.conditions.push_back(
             {"PodsRefused", true, "PodsRefused", "spec.learner.template: no", {}, 1});
       },
       "change the template that it names"},
      {"its PriorityClass is missing", Phase::kCreated,
       [](JobView& v) { v.job.status.reason = "PriorityClassMissing"; },
       "create the PriorityClass"},
      {"the AggregatorConfig is missing", Phase::kCreated,
       [](JobView& v) { v.job.status.reason = "AggregatorMissing"; },
       "create the AggregatorConfig"},
      {"the next attempt is not due", Phase::kCreated,
       [](JobView& v) { v.job.status.reason = "BackOff"; }, "the next attempt begins by itself"},
      {"it did not start in time", Phase::kFailed,
       [](JobView& v) { v.job.status.reason = "ScheduleTimeout"; },
       "a longer scheduleTimeoutSeconds"},
      {"the API server does not store the plan", Phase::kCreated,
       [](JobView& v) {
         v.group = a_group();
         v.group->status.gangs = {a_waiting_gang("base", "too large")};
         v.group->status.gangs[0].reason = gang::kReasonPlanRefused;
       },
       "ask for fewer pods"},
      {"a request waits", Phase::kRunning,
       [](JobView& v) {
         v.group = a_group();
         v.group->status.gangs = {a_planned_gang("base", {}), a_waiting_gang("request-1", "full")};
       },
       "the requested replicas start by themselves"},
      {"a request can never fit", Phase::kRunning,
       [](JobView& v) {
         v.group = a_group();
         v.group->status.gangs = {a_planned_gang("base", {}),
                                  a_waiting_gang("request-1", "collector: can never fit")};
       },
       "kubectl nervex replicas remove dqn -n rl"},
      {"added base replicas can never fit", Phase::kRunning,
       [](JobView& v) {
         v.group = a_group();
         v.group->status.gangs = {a_planned_gang("base", {}),
                                  a_waiting_gang("base-collector-1", "collector: can never fit")};
       },
       "lower spec.collector.replicas or spec.learner.replicas again"},
      {"its name is none for pods", Phase::kCreated,
       [](JobView& v) {
         v.job.status.reason = "InvalidName";
         v.job.status.conditions.push_back(
             {"PodsCreated", false, "InvalidName", "at most 51 characters", {}, 1});
       },
       "create the job under another name"},
      {"it starts", Phase::kCreated,
       [](JobView& v) {
         v.group = a_group();
         v.group->status.gangs = {a_planned_gang("base", {})};
       },
       "its pods are starting"},
      {"a pod of it is not ready", Phase::kRunning,
       [](JobView& v) {
         v.group = a_group();
         job::set_condition(v.job.status, a_condition("Ready", false, "1/2"));
       },
       "not all pods are ready"},
      {"it runs", Phase::kRunning, [](JobView& v) { v.group = a_group(); }, "the job runs"},
  }));
  INFO("when " << row.when);
  JobView view = a_view(row.phase);
  row.change(view);
  const std::string advice = advice_of(explain(view));
  INFO(advice);
  CHECK(advice.find(row.says) != std::string::npos);
}

TEST_CASE("a budget that cannot work is named while the job goes on", "[cli][explain]") {
  JobView view = a_view(job::Phase::kRunning);
  view.budgets = {{"keep", {{"matchLabels", {{"nervexjob-name", "dqn"}}}}, nullptr, 1}};
  CHECK(explain(view).find("Note   PodDisruptionBudget keep cannot work (maxUnavailable: 1): it "
                           "selects 3 pods of the job") != std::string::npos);
  view.job.status.phase = job::Phase::kSucceeded;
  CHECK(explain(view).find("PodDisruptionBudget") == std::string::npos);
}

}  // namespace nervex::cli
