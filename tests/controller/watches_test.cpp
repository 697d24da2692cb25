// The threads, against an API server in memory: watches fill caches, workers act.
#include "controller/watches.h"

#include <thread>

#include <catch2/catch_test_macros.hpp>

#include "controller/runner.h"
#include "tests/controller/cluster.h"

namespace nervex::controller {
namespace {

using testing::Cluster;

// Bounded, so that a failure ends the test; how long it takes is asserted nowhere.
bool comes_true(const std::function<bool()>& condition) {
  for (int i = 0; i < 2000 && !condition(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return condition();
}

TEST_CASE("a running controller takes a job from its creation to its end",
          "[controller][watches]") {
  Cluster cluster;
  testing::Process& parts = *cluster.controller;
  Watches watches(cluster.api, parts.caches, parts.queue, std::chrono::milliseconds(0));
  const SystemClock clock;
  Metrics metrics;
  const RoundMetrics rounds(metrics, 3);
  kube::Leadership leadership(cluster.api, clock, std::nullopt, [] {});
  Runner runner(
      parts.queue, parts.worker, leadership, [&] { return watches.not_synced(); }, rounds);
  CHECK_FALSE(watches.not_synced().empty());
  watches.start();
  runner.start(3);
  cluster.create_job(2, 1);
  REQUIRE(
      comes_true([&] { return watches.not_synced().empty() && parts.caches.jobs.size() == 1; }));
  CHECK(cluster.names(kube::kPodGroups).empty());  // it does not lead
  leadership.start();
  REQUIRE(comes_true([&] { return cluster.names(kube::kPodGroups).size() == 1; }));
  CHECK(cluster.names(kube::kPods).empty());
  cluster.plan();
  REQUIRE(comes_true([&] { return cluster.names(kube::kPods).size() == 4; }));
  cluster.run_pods();
  REQUIRE(comes_true([&] { return cluster.job().status.ready == 4; }));
  cluster.end_pod("dqn-coordinator", true);
  REQUIRE(comes_true([&] {
    return cluster.names(kube::kPodGroups).empty() && cluster.names(kube::kServices).empty();
  }));
  CHECK(cluster.job().status.phase == job::Phase::kSucceeded);
  CHECK(cluster.names(kube::kPods) == std::vector<std::string>{"dqn-coordinator"});

  runner.stop();
  const std::string text = metrics.text();
  INFO(text);
  const std::string prefix = "controller_runtime_";
  CHECK(text.find(prefix + "reconcile_total{controller=\"nervexjob\",result=\"success\"} 0") ==
        std::string::npos);
  CHECK(text.find(prefix + "reconcile_total{controller=\"nervexjob\",result=\"requeue\"} 0") ==
        std::string::npos);
  CHECK(text.find(prefix + "active_workers{controller=\"nervexjob\"} 0") != std::string::npos);
  CHECK(text.find(prefix + "max_concurrent_reconciles{controller=\"nervexjob\"} 3") !=
        std::string::npos);
}

}  // namespace
}  // namespace nervex::controller
