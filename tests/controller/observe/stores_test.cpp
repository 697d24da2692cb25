#include "controller/observe/stores.h"

#include <set>
#include <thread>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "controller/worker.h"
#include "gang/slot.h"
#include "job/names.h"
#include "tests/controller/cluster.h"

namespace nervex::controller {
namespace {

using testing::ControllerCluster;

TEST_CASE("only updates of counts may be delayed", "[controller][watches]") {
  using kube::PodPhase;
  struct Row {
    std::string when;
    std::string role;
    PodPhase phase;
    bool deleting;
    bool disrupted;
    bool want;
  };
  const auto row = GENERATE(values<Row>({
      {"a worker was created", "collector", PodPhase::kPending, false, false, true},
      {"a worker runs", "learner", PodPhase::kRunning, false, false, true},
      {"the aggregator runs", "aggregator", PodPhase::kRunning, false, false, true},
      {"the coordinator runs", "coordinator", PodPhase::kRunning, false, false, false},
      {"a worker ended", "collector", PodPhase::kSucceeded, false, false, true},
      {"a worker failed", "collector", PodPhase::kFailed, false, false, true},
      {"a worker was evicted", "collector", PodPhase::kFailed, false, true, false},
      {"the coordinator ended", "coordinator", PodPhase::kSucceeded, false, false, false},
      {"a worker goes", "collector", PodPhase::kRunning, true, false, false},
      {"a worker is about to go", "collector", PodPhase::kRunning, false, true, false},
  }));
  INFO("when " << row.when);
  kube::Pod pod;
  pod.meta.labels = {{std::string(job::kRoleLabel), row.role}};
  pod.meta.deleting = row.deleting;
  pod.phase = row.phase;
  pod.disruption_target = row.disrupted;
  CHECK(can_be_coalesced(pod) == row.want);
}

// -- when may a status be written that only informs?

using std::chrono::milliseconds;

TEST_CASE("an informational status update waits for the period after the last write",
          "[controller][status]") {
  StatusWriteLimiter limiter;
  MonoTime now{std::chrono::hours(1)};
  CHECK(limiter.delay("a/j", now, milliseconds(2'000)) == milliseconds(0));
  limiter.note_write("a/j", now);
  now += milliseconds(500);
  CHECK(limiter.delay("a/j", now, milliseconds(2'000)) == milliseconds(1'500));
  CHECK(limiter.delay("a/other", now, milliseconds(2'000)) == milliseconds(0));
  now += milliseconds(1'500);
  CHECK(limiter.delay("a/j", now, milliseconds(2'000)) == milliseconds(0));
  limiter.note_write("a/j", now);
  CHECK(limiter.delay("a/j", now, milliseconds(0)) == milliseconds(0));
  limiter.forget("a/j");
  CHECK(limiter.delay("a/j", now, milliseconds(2'000)) == milliseconds(0));
}

TEST_CASE("informational status updates of many jobs are sent at a bounded rate",
          "[controller][status]") {
  StatusWriteLimiter limiter;
  constexpr milliseconds kPeriod(2'000);
  MonoTime now{std::chrono::hours(1)};
  const auto count_sent = [&](int jobs) {
    int sent = 0;
    for (int i = 0; i < jobs; ++i) {
      sent += limiter.delay("a/" + std::to_string(i), now, kPeriod) == milliseconds(0) ? 1 : 0;
    }
    return sent;
  };
  CHECK(count_sent(100) == StatusWriteLimiter::kBurst);
  now += std::chrono::milliseconds(999);
  CHECK(count_sent(100) == StatusWriteLimiter::kPerSecond - 1);
  now += std::chrono::seconds(60);  // unused time is not saved up, nor are turns
  CHECK(count_sent(100) == StatusWriteLimiter::kBurst);
}

TEST_CASE("jobs that wait to write their status are served in order", "[controller][status]") {
  StatusWriteLimiter limiter;
  constexpr milliseconds kPeriod(2'000);
  const MonoTime begin{std::chrono::hours(1)};
  const auto delay = [&](const std::string& job, int after) {
    return limiter.delay(job, begin + milliseconds(after), kPeriod).count();
  };
  for (int i = 0; i < StatusWriteLimiter::kBurst; ++i) {
    CHECK(delay("a/early-" + std::to_string(i), 0) == 0);
  }
  CHECK(delay("a/first", 0) == 100);
  CHECK(delay("a/second", 0) == 200);
  CHECK(delay("a/first", 50) == 50);
  CHECK(delay("a/late", 100) == 200);  // behind the two, also if it is quicker to ask
  CHECK(delay("a/first", 100) == 0);
  CHECK(delay("a/second", 200) == 0);
  limiter.note_write("a/late", begin + milliseconds(250));  // for another reason: its turn is over
  CHECK(delay("a/late", 300) == 1'950);
}

// -- the threads, against an API server in memory: watches fill caches, workers act

const std::string kConfig = "nervex-system/aggregator-config";

// Bounded, so that a failure ends the test; how long it takes is asserted nowhere.
bool comes_true(const std::function<bool()>& condition) {
  for (int i = 0; i < 2000 && !condition(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return condition();
}

TEST_CASE("a running controller takes a job from its creation to its end",
          "[controller][watches]") {
  ControllerCluster cluster;
  testing::Process& parts = *cluster.controller;
  kube::Reflectors watches(cluster.api);
  add_watches(watches, parts.stores, parts.queues, kConfig, std::chrono::milliseconds(0));
  const SystemClock clock;
  Metrics metrics;
  const RoundMetrics rounds(metrics, 3);
  kube::Leadership leadership(cluster.api, clock, std::nullopt, [] {});
  Runner runner(leadership, watches);
  CHECK_FALSE(watches.check_synced());
  watches.start();
  runner.start(parts.queues.jobs, 3,
               [&](const std::string& key) { rounds.process(parts.worker, key); });
  cluster.create_job(2, 1);
  REQUIRE(comes_true(
      [&] { return watches.check_synced().has_value() && parts.stores.jobs.size() == 1; }));
  CHECK(cluster.names(kube::kPodGroups).empty());  // it does not lead
  leadership.start();
  REQUIRE(comes_true([&] { return cluster.names(kube::kPodGroups).size() == 1; }));
  CHECK(cluster.names(kube::kPods).empty());
  cluster.plan();
  REQUIRE(comes_true([&] { return cluster.names(kube::kPods).size() == 4; }));
  cluster.run_pods();
  REQUIRE(comes_true([&] { return cluster.job().status.ready == 4; }));
  CHECK(comes_true([&] { return parts.stores.group_pods.count("rl").all == 4; }));
  cluster.end_pod("dqn-coordinator", true);
  REQUIRE(comes_true([&] {
    return cluster.names(kube::kPodGroups).empty() && cluster.names(kube::kServices).empty();
  }));
  CHECK(cluster.job().status.phase == job::Phase::kSucceeded);
  CHECK(comes_true([&] { return parts.stores.group_pods.count("rl").all == 0; }));
  const std::vector<std::string> kept = {"dqn-coordinator"};
  CHECK(comes_true([&] { return cluster.names(kube::kPods) == kept; }));

  // The last round may still run: it finds nothing to do.
  const std::string prefix = "controller_runtime_";
  const std::string no_success =
      prefix + "reconcile_total{controller=\"nervexjob\",result=\"success\"} 0";
  CHECK(comes_true([&] { return metrics.text().find(no_success) == std::string::npos; }));
  runner.stop();
  const std::string text = metrics.text();
  INFO(text);
  CHECK(text.find(prefix + "reconcile_total{controller=\"nervexjob\",result=\"requeue\"} 0") ==
        std::string::npos);
  CHECK(text.find(prefix + "active_workers{controller=\"nervexjob\"} 0") != std::string::npos);
  CHECK(text.find(prefix + "max_concurrent_reconciles{controller=\"nervexjob\"} 3") !=
        std::string::npos);
}

TEST_CASE("the last state of a coordinator that was marked is kept as long as its job",
          "[controller][watches]") {
  ControllerCluster cluster;
  cluster.create_job(1, 0);
  cluster.settle();
  cluster.plan();
  cluster.settle();
  Stores stores;
  Queues queues(cluster.clock);
  kube::Reflectors watches(cluster.api);
  add_watches(watches, stores, queues, kConfig, std::chrono::milliseconds(0));
  watches.start();
  REQUIRE(
      comes_true([&] { return watches.check_synced().has_value() && stores.pods.size() == 2; }));
  for (const auto& pod : cluster.names(kube::kPods)) {
    cluster.api.change(
        kube::kPods, "rl", pod,
        {{"status",
          {{"conditions", Json::array({{{"type", "DisruptionTarget"}, {"status", "True"}}})}}}});
    cluster.api.remove(kube::kPods, "rl", pod);
  }
  REQUIRE(comes_true([&] {
    return stores.disrupted_coordinators.keys() == std::vector<std::string>{"rl/dqn-coordinator"};
  }));
  cluster.api.remove(kube::kNervexJobs, "rl", "dqn");
  CHECK(comes_true([&] { return stores.disrupted_coordinators.size() == 0; }));
}

TEST_CASE("an object that changes its owner requeues its previous job", "[controller][watches]") {
  const auto owned_by = [](const char* job) {
    return Json{{"metadata",
                 {{"name", "x"},
                  {"labels", {{job::kGroupLabel, job::kGroupLabelValue}}},
                  {"ownerReferences",
                   {{{"apiVersion", job::kApiVersion},
                     {"kind", job::kKind},
                     {"name", job},
                     {"uid", std::string("uid-of-") + job},
                     {"controller", true}}}}}}};
  };
  const auto& kind = *GENERATE(&kube::kPods, &kube::kServices);
  ControllerCluster cluster;
  cluster.api.add(kind, "rl", owned_by("dqn"));
  testing::Process& parts = *cluster.controller;
  kube::Reflectors watches(cluster.api);
  add_watches(watches, parts.stores, parts.queues, kConfig, std::chrono::milliseconds(0));
  watches.start();
  CHECK(parts.queues.jobs.next() == "rl/dqn");
  parts.queues.jobs.done("rl/dqn");
  REQUIRE(parts.queues.jobs.size() == 0);
  SECTION("it is orphaned") {
    cluster.api.change(kind, "rl", "x", {{"metadata", {{"ownerReferences", nullptr}}}});
  }
  SECTION("it has another owner") { cluster.api.change(kind, "rl", "x", owned_by("another")); }
  REQUIRE(comes_true([&] { return parts.queues.jobs.size() > 0; }));
  CHECK(parts.queues.jobs.next() == "rl/dqn");
}

// A pod's queue may be drained, or have a time limit.
TEST_CASE("a change of a Queue brings up pods that no job has, too", "[controller][watches]") {
  const Json labels = {{job::kGroupLabel, job::kGroupLabelValue}};
  ControllerCluster cluster;
  cluster.create_job(1, 0);
  cluster.api.add(kube::kPods, "rl",
                  {{"metadata",
                    {{"name", "of-a-deleted-job"},
                     {"labels", labels},
                     {"ownerReferences",
                      {{{"apiVersion", job::kApiVersion},
                        {"kind", job::kKind},
                        {"name", "gone"},
                        {"uid", "uid-of-gone"},
                        {"controller", true}}}}}}});
  cluster.api.add(kube::kPods, "rl",
                  {{"metadata",
                    {{"name", "orphaned"},
                     {"labels", labels},
                     {"annotations", {{gang::kPodGroupUidAnnotation, "x"}}}}}});
  testing::Process& parts = *cluster.controller;
  kube::WorkQueue& queue = parts.queues.jobs;
  kube::Reflectors watches(cluster.api);
  add_watches(watches, parts.stores, parts.queues, kConfig, std::chrono::milliseconds(0));
  watches.start();
  const auto take_all = [&] {
    std::set<std::string> keys;
    while (queue.size() > 0) {
      const std::string key = queue.next().value_or("");
      keys.insert(key);
      if (key == orphans_key("")) parts.worker.process(key);
      queue.done(key);
    }
    return keys;
  };
  REQUIRE(comes_true(
      [&] { return watches.check_synced().has_value() && parts.stores.pods.size() == 2; }));
  take_all();
  cluster.api.add(kube::kQueues, "", {{"metadata", {{"name", "team"}}}, {"spec", Json::object()}});
  std::set<std::string> found;
  CHECK(comes_true([&] {
    found.merge(take_all());
    return found.contains("rl/dqn") && found.contains("rl/gone") && found.contains("rl/");
  }));
}

}  // namespace
}  // namespace nervex::controller
