// The kstatus of a job in every state of its life.
#include <catch2/catch_test_macros.hpp>

#include "controller/decide/round/condition.h"
#include "tests/controller/cluster.h"
#include "tests/support/kstatus.h"

namespace nervex::controller {
namespace {

using testing::compute_kstatus;
using testing::ControllerCluster;

struct Life : ControllerCluster {
  std::string kstatus() const { return compute_kstatus(api.get(kube::kNervexJobs, "rl", "dqn")); }
  void start() {
    create_job(1, 0);
    settle();
    plan();
    settle();
  }
  void run() {
    start();
    run_pods();
    settle();
  }
};

TEST_CASE("kstatus: a job that no controller has seen is in progress", "[controller][kstatus]") {
  Life life;
  life.create_job(1, 0);
  life.api.change(kube::kNervexJobs, "rl", "dqn", {{"status", {{"observedGeneration", -1}}}});
  CHECK(life.kstatus() == "InProgress");
  life.settle();
  CHECK(life.job().status.phase == job::Phase::kCreated);
  CHECK(life.job().status.observed_generation == life.job().meta.generation);
}

TEST_CASE("kstatus: a job that waits or starts is in progress, one whose pods are ready is current",
          "[controller][kstatus]") {
  Life life;
  life.create_job(1, 0);
  life.settle();
  CHECK(life.kstatus() == "InProgress");  // queued
  life.plan();
  life.settle();
  CHECK(life.kstatus() == "InProgress");  // pods were created
  life.run_pods();
  life.settle();
  CHECK(life.kstatus() == "Current");
  life.change_spec({{"collector", {{"replicas", 2}}}});
  CHECK(life.kstatus() == "InProgress");  // not observed yet
  life.settle();
  CHECK(life.kstatus() == "InProgress");  // one more has to come
  life.plan();
  life.settle();
  life.run_pods();
  life.settle();
  CHECK(life.kstatus() == "Current");
}

TEST_CASE("kstatus: a job that has succeeded is current", "[controller][kstatus]") {
  Life life;
  life.run();
  life.end_pod("dqn-coordinator", true);
  life.settle();
  CHECK(life.job().status.phase == job::Phase::kSucceeded);
  CHECK(is_true(life.job().status, "Ready"));
  CHECK(find_condition(life.job().status, "Stalled") == nullptr);
  CHECK(life.kstatus() == "Current");
}

TEST_CASE("kstatus: a job that has failed has failed", "[controller][kstatus]") {
  Life life;
  SECTION("its coordinator") {
    life.run();
    life.end_pod("dqn-coordinator", false);
    life.settle();
  }
  SECTION("by its time limit, before it ran") {
    life.create_job(1, 0);
    life.change_spec({{"scheduleTimeoutSeconds", 5}});
    life.settle();
    life.clock.advance(std::chrono::seconds(6));
    life.settle();
  }
  CHECK(life.job().status.phase == job::Phase::kFailed);
  CHECK_FALSE(is_true(life.job().status, "Ready"));
  CHECK(life.kstatus() == "Failed");
}

TEST_CASE("kstatus: between two attempts, and while it is suspended, a job is in progress",
          "[controller][kstatus]") {
  Life life;
  life.run();
  SECTION("a retry") {
    life.change_spec({{"backoffLimit", 2}});
    life.settle();
    life.end_pod("dqn-coordinator", false);
    life.settle();
    CHECK(life.job().status.attempt == 2);
  }
  SECTION("suspended") {
    life.change_spec({{"suspend", true}});
    life.settle();
    CHECK(is_true(life.job().status, "Suspended"));
  }
  CHECK(life.kstatus() == "InProgress");
}

TEST_CASE("kstatus: a change of a finished job's spec is seen, and touches nothing else",
          "[controller][kstatus]") {
  Life life;
  life.run();
  life.end_pod("dqn-coordinator", true);
  life.settle();
  const job::Status before = life.job().status;
  const auto pods = life.names(kube::kPods);
  life.change_spec({{"backoffLimit", 7}});
  CHECK(life.kstatus() == "InProgress");
  life.settle();
  CHECK(life.kstatus() == "Current");
  job::Status expected = before;
  expected.observed_generation = life.job().meta.generation;
  CHECK(life.job().status == expected);
  CHECK(life.names(kube::kPods) == pods);
}

TEST_CASE("kstatus: a job that is being deleted is terminating", "[controller][kstatus]") {
  Life life;
  life.run();
  life.api.change(kube::kNervexJobs, "rl", "dqn",
                  {{"metadata", {{"deletionTimestamp", "2026-01-01T00:00:00Z"}}}});
  CHECK(life.kstatus() == "Terminating");
}

}  // namespace
}  // namespace nervex::controller
