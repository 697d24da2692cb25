#include "cli/jobs/explain.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <functional>

#include "tests/support/job_snapshots.h"

namespace nervex::cli {
namespace {

using namespace view;

// The base gang waits with that message.
void wait_with(JobSnapshot& seen, std::string message,
               std::string_view reason = gang::kReasonUnschedulable) {
  seen.group = a_group();
  seen.group->status.gangs = {a_waiting_gang("base", std::move(message))};
  seen.group->status.gangs[0].reason = reason;
}

// The lines before the first empty one, without the job's name and phase.
std::string explanation_head(const std::string& explanation) {
  const auto from = explanation.find('\n', explanation.find("\n  Phase") + 1) + 1;
  return explanation.substr(from, explanation.find("\n\n") + 1 - from);
}

}  // namespace

TEST_CASE("a waiting gang is explained with role, resource and numbers", "[cli][explain][golden]") {
  JobSnapshot seen = a_snapshot(job::Phase::kCreated);
  seen.job.status.reason = "Unschedulable";
  seen.job.status.queue = {"vision", 10};
  seen.group = a_group();
  seen.group->status.gangs = {a_waiting_gang(
      "base",
      "learner: 1 of 2 does not fit: each needs nvidia.com/gpu 8; 1 node has it free, "
      "3 more are full")};
  CHECK(explain(summarize(seen)) == R"(NerveXJob rl/dqn
  Phase    Created (Unschedulable) since 2026-11-21T14:00:00Z, 5m ago
  Queue    vision, position 10+
  Waits    the whole gang, since 2026-11-21T14:00:02Z, 4m58s ago
  Because  learner: 1 of 2 does not fit: each needs nvidia.com/gpu 8; 1 node has it free, 3 more are full

Roles
  ROLE         WANTED  PLACED  RUNNING  SUCCEEDED  FAILED
  coordinator  1       0       0        0          0
  learner      2       0       0        0          0

What to do: wait: the job starts by itself, whole, as soon as it fits. Who uses the accelerators: kubectl nervex top; what waits in the queue: kubectl nervex queue (-A: of all namespaces); other resources: kubectl describe nodes
)");
}

TEST_CASE("a gang with reserved nodes says which, until when, and who is there", "[cli][explain]") {
  JobSnapshot seen = a_snapshot(job::Phase::kCreated);
  wait_with(seen, "learner: does not fit");
  seen.group->status.gangs[0].reservation =
      gang::Reservation{{{"coordinator", "n1", 1}, {"learner", "n1", 1}, {"learner", "n2", 1}},
                        at("2026-11-21T14:03:00Z"),
                        at("2026-11-21T16:00:30Z")};
  const auto other = [](const char* name, const char* node, std::optional<std::int64_t> limit) {
    gang::PodGroup group = a_group();
    group.meta.name = name;
    group.spec.active_deadline_seconds = limit;
    group.spec.grace_seconds = 30;
    group.status.gangs = {a_planned_gang("base", {{"learner", {0, 0}, node, 1}})};
    group.status.gangs[0].committed = true;
    group.status.gangs[0].started_at = at("2026-11-21T14:00:00Z");
    return group;
  };
  seen.others = {other("endless-1", "n2", std::nullopt), other("long-1", "n1", 7200),
                 other("short-1", "n2", 3600), other("elsewhere-1", "n3", 60)};
  CHECK(
      explanation_head(explain(summarize(seen))) ==
      "  Waits    the whole gang, since 2026-11-21T14:00:02Z, 4m58s ago\n"
      "  Because  learner: does not fit\n"
      "  Keeps    n1, n2, since 2026-11-21T14:03:00Z, 2m ago\n"
      "  Starts   2026-11-21T16:00:30Z, in 115m, at the latest: then the jobs there have "
      "reached their limits\n"
      "  Holders  short-1 until 2026-11-21T15:00:30Z, long-1 until 2026-11-21T16:00:30Z, endless-1 "
      "without time limit\n");
  seen.group->status.gangs[0].reservation->due = seen.now;
  CHECK(explain(summarize(seen))
            .find("  Starts   when the jobs there have ended: their time is over\n") !=
        std::string::npos);
  seen.group->status.gangs[0].reservation->due.reset();
  CHECK(explain(summarize(seen))
            .find("  Starts   not known: a job on these nodes has no time limit\n") !=
        std::string::npos);
  seen.group->status.gangs[0].reservation->nodes.clear();  // others are ending for it
  CHECK(explain(summarize(seen)).find("Keeps") == std::string::npos);
}

TEST_CASE("a running job shows its nodes, its pod problems and what waits",
          "[cli][explain][golden]") {
  JobSnapshot seen = a_snapshot(job::Phase::kRunning);
  seen.job.status.coordinator.active = 1;
  seen.job.status.learner = {1, 0, 1};
  seen.group = a_group();
  seen.group->spec.gangs.push_back(a_request(1, {{"collector", 2}}));
  seen.group->status.gangs = {
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
  seen.pods = {pod};
  seen.events = {{at("2026-11-21T14:00:00Z"), false, "SuccessfulCreate", "created 3 pods", 1},
                 {at("2026-11-21T14:04:30Z"), true, "FailedCreate", "pods is forbidden", 3}};
  CHECK(explain(summarize(seen)) == R"(NerveXJob rl/dqn
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

What to do: wait: the requested replicas start by themselves, all together, as soon as they fit. The job keeps running. Who uses the accelerators: kubectl nervex top; other resources: kubectl describe nodes
)");
}

TEST_CASE("reserved capacity is shown with its nodes and until when", "[cli][explain][golden]") {
  JobSnapshot seen = a_snapshot(job::Phase::kRunning);
  seen.job.status.coordinator.active = 1;
  seen.group = a_group();
  seen.group->spec.gangs.push_back(a_request(1, {{"learner", 2}}));
  seen.group->status.gangs = {a_planned_gang(
      "base", {{"coordinator", {0, 0}, "cpu-0", 1}, {"learner", {0, 0}, "gpu-0", 2}})};
  seen.group->status.gangs[0].reserved = {
      {"learner", "gpu-0", 1}, {"learner", "gpu-1", 2}, {"request-1-learner", "gpu-1", 1}};
  CHECK(explain(summarize(seen)) == R"(NerveXJob rl/dqn
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

  seen.job.status.phase = job::Phase::kCreated;
  CHECK(
      explain(summarize(seen))
          .find("Reserved  capacity for 4 learners, until 600 s after the coordinator starts\n") !=
      std::string::npos);
}

TEST_CASE("a job without a status is explained", "[cli][explain][golden]") {
  JobSnapshot seen = a_snapshot(job::Phase::kNone);
  seen.job.status = {};
  CHECK(explain(summarize(seen)) == R"(NerveXJob rl/dqn
  Phase    none yet, created 2026-11-21T14:00:00Z, 5m ago
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
  JobSnapshot seen = a_snapshot(job::Phase::kCreated);
  job::set_condition(seen.job.status, a_condition("Scheduled", false, "spec.suspend is true",
                                                  "2026-11-21T14:01:00Z"));
  CHECK(explanation_head(explain(summarize(seen))) ==
        "  Waits    the whole gang, since 2026-11-21T14:01:00Z, 4m ago\n"
        "  Because  spec.suspend is true\n");

  job::set_condition(seen.job.status,
                     a_condition("PodsCreated", false, "403", "2026-11-21T14:02:00Z"));
  CHECK(explanation_head(explain(summarize(seen))) ==
        "  Waits    the whole gang, since 2026-11-21T14:02:00Z, 3m ago\n"
        "  Because  403\n");

  seen.job.status.phase = job::Phase::kRunning;
  seen.job.status.conditions.clear();
  job::set_condition(seen.job.status, a_condition("RequestsScheduled", false, "request-1: later"));
  CHECK(explanation_head(explain(summarize(seen))) ==
        "  Waits    requested replicas, since 2026-11-21T14:00:00Z, 5m ago\n"
        "  Because  request-1: later\n");
}

TEST_CASE("a waiting job shows until when, which node is avoided and why it was requeued",
          "[cli][explain]") {
  JobSnapshot seen = a_snapshot(job::Phase::kCreated);
  wait_with(seen, "learner: does not fit");
  seen.group->status.avoid = {{"learner", "gpu-0", 0, 1, at("2026-11-21T14:06:00Z")},
                              {"learner", "gpu-1", 0, 2, at("2026-11-21T14:07:00Z")},
                              {"learner", "gpu-2", 0, 1, at("2026-11-21T14:04:00Z")}};
  seen.job.spec.schedule_timeout_seconds = 600;
  seen.job.status.waiting_since = at("2026-11-21T14:00:00Z");
  job::set_condition(seen.job.status, a_condition("Requeued", true, "learner/0 lost its node"));
  CHECK(explanation_head(explain(summarize(seen))) ==
        "  Waits    the whole gang, since 2026-11-21T14:00:02Z, 4m58s ago\n"
        "  Because  learner: does not fit\n"
        "  Until    2026-11-21T14:10:00Z, in 5m: then the job fails (scheduleTimeoutSeconds)\n"
        "  Avoided  node gpu-1 for learner until 2026-11-21T14:07:00Z, in 2m, and 1 more before "
        "then\n"
        "  Note     requeued: learner/0 lost its node\n");
}

TEST_CASE("the time until a job fails begins again after a back-off, not while pods are refused",
          "[cli][explain]") {
  JobSnapshot seen = a_snapshot(job::Phase::kCreated);
  wait_with(seen, "learner: does not fit");
  seen.job.spec.schedule_timeout_seconds = 600;
  seen.job.status.waiting_since = at("2026-11-21T14:00:00Z");
  seen.job.status.next_attempt_time = at("2026-11-21T14:03:00Z");
  CHECK(explain(summarize(seen)).find("Until    2026-11-21T14:13:00Z, in 8m: ") !=
        std::string::npos);
  seen.job.status.conditions.push_back({"PodsCreated", false, "FailedCreate", "no", {}, 1});
  CHECK(explain(summarize(seen)).find("Until    2026-11-21T14:10:00Z, in 5m: ") !=
        std::string::npos);
}

TEST_CASE("a gang is titled with its roles, or as lost pods", "[cli][explain]") {
  JobSnapshot seen = a_snapshot(job::Phase::kRunning);
  seen.group = a_group();
  seen.group->spec.gangs.push_back(a_request(1, {{"aggregator", 1}, {"ddp-learner", 2}}));
  seen.group->status.gangs = {a_waiting_gang("request-1", "full")};
  CHECK(explain(summarize(seen))
            .find("  Waits    request-1 (1 aggregator, 2 ddp-learners), since ") !=
        std::string::npos);
  seen.group->status.gangs = {a_waiting_gang("base", "lost")};
  seen.group->status.gangs[0].healing_since = at("2026-11-21T14:04:00Z");
  CHECK(explain(summarize(seen))
            .find("  Waits    lost pods of the whole gang, since 2026-11-21T14:04:00Z") !=
        std::string::npos);
  seen.group->status.gangs[0].healing_since =
      at("2026-11-21T14:30:00Z");  // a pod may end until then
  CHECK(explain(summarize(seen))
            .find("  Waits    lost pods of the whole gang, since 2026-11-21T14:00:02Z") !=
        std::string::npos);
}

TEST_CASE("a failed job shows the message of its condition", "[cli][explain]") {
  JobSnapshot seen = a_snapshot(job::Phase::kFailed);
  seen.job.status.reason = "CoordinatorFailed";
  job::set_condition(seen.job.status, a_condition("Failed", true, "exit code 3: no data"));
  const std::string text = explain(summarize(seen));
  INFO(text);
  CHECK(text.find("Failed (CoordinatorFailed) since") != std::string::npos);
  CHECK(text.find("Note   exit code 3: no data") != std::string::npos);
}

TEST_CASE("the first of many pod problems are listed, the rest are counted", "[cli][explain]") {
  JobSnapshot seen = a_snapshot(job::Phase::kRunning);
  for (int i = 0; i < 20; ++i) {
    kube::Pod pod;
    pod.meta.name = "dqn-learner-" + std::to_string(i);
    pod.reason = "Evicted";
    seen.pods.push_back(pod);
  }
  CHECK(explain(summarize(seen)).find("\n  and 12 more\n") != std::string::npos);
}

TEST_CASE(
    "a pod on an unavailable node says whether its template tolerates that or the node is lost",
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
       "not Ready; its template tolerates that node n1 is unreachable without a limit\n"},
      {"tolerates-not-ready-seconds", "3600", "deleted", "its node n1 is lost: deleted\n"},
  }));
  JobSnapshot seen = a_snapshot(job::Phase::kRunning);
  kube::Pod pod;
  pod.meta.name = "dqn-learner-x";
  pod.node = "n1";
  pod.phase = kube::PodPhase::kRunning;
  pod.node_lost = row.node_lost;
  pod.meta.annotations["nervex.sensetime.com/" + std::string(row.annotation)] = row.value;
  seen.pods = {pod};
  CHECK(explain(summarize(seen)).find("dqn-learner-x  " + row.shown) != std::string::npos);
  seen.pods.front().ready = true;
  seen.pods.front().node_lost = "";
  CHECK(explain(summarize(seen)).find("dqn-learner-x") == std::string::npos);
}

TEST_CASE("a budget that cannot work is named while the job runs", "[cli][explain]") {
  JobSnapshot seen = a_snapshot(job::Phase::kRunning);
  seen.budgets = {decode_budget(
      {{"metadata", {{"name", "keep"}}},
       {"spec",
        {{"selector", {{"matchLabels", {{"nervexjob-name", "dqn"}}}}}, {"maxUnavailable", 1}}}})};
  CHECK(explain(summarize(seen))
            .find("Note   PodDisruptionBudget keep cannot work (maxUnavailable: 1): it "
                  "selects 3 pods of the job") != std::string::npos);
  seen.job.status.phase = job::Phase::kSucceeded;
  CHECK(explain(summarize(seen)).find("PodDisruptionBudget") == std::string::npos);
}

TEST_CASE("one line says where a job stands and why it waits", "[cli][explain]") {
  JobSnapshot seen = a_snapshot(job::Phase::kCreated);
  SECTION("waiting") {
    wait_with(seen, "learner: 1 of 2 does not fit");
    CHECK(state_line(summarize(seen)) == "waits: the whole gang: learner: 1 of 2 does not fit");
  }
  SECTION("starting, with the first problem") {
    CHECK(state_line(summarize(seen)) == "starts");
    kube::Pod& pod = seen.pods.emplace_back();
    pod.meta.name = "dqn-learner-x2b7k";
    pod.phase = kube::PodPhase::kFailed;
    pod.reason = "Evicted";
    CHECK(state_line(summarize(seen)) == "starts; pod dqn-learner-x2b7k: Evicted");
  }
  SECTION("suspended") {
    seen.job.spec.suspend = true;
    CHECK(state_line(summarize(seen)) == "is suspended");
  }
  SECTION("ended") {
    seen.job.status.phase = job::Phase::kFailed;
    seen.job.status.reason = "CoordinatorFailed";
    CHECK(state_line(summarize(seen)) == "failed (CoordinatorFailed)");
  }
}

}  // namespace nervex::cli
