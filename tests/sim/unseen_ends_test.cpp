// Pods that end and are deleted while no controller runs: their ends are still counted, and
// no pod runs twice.
#include <catch2/generators/catch_generators_all.hpp>

#include "job/names.h"
#include "tests/sim/seeds.h"

namespace nervex::testing {
namespace {

using job::Phase;
using job::Role;

TEST_CASE("a worker that ended and was deleted unseen is counted, not replaced", "[sim][unseen]") {
  const bool well = GENERATE(false, true);
  const Role role = GENERATE(Role::kCollector, Role::kLearner);
  INFO(to_string(role) << (well ? " succeeds" : " fails"));
  Suite suite(1);
  suite.add_config();
  suite.start();
  const std::string name = job::pod_name(suite.job(), role, {0, 0});
  suite.end_pod(name, well);
  suite.delete_pod(name);
  suite.take_over();
  suite.come_to_rest();
  const job::Status status = suite.job().status;
  const job::RoleCounts& counts = role == Role::kCollector ? status.collector : status.learner;
  CHECK(counts.succeeded == (well ? 1 : 0));
  CHECK(counts.failed == (well ? 0 : 1));
  CHECK(suite.pod(name).is_null());
  CHECK(status.phase == Phase::kRunning);
  CHECK(suite.pods().size() == 4);
  check_rules(suite);
}

TEST_CASE("a coordinator that ran and ended unseen does not run again", "[sim][unseen]") {
  const bool well = GENERATE(false, true);
  INFO((well ? "it succeeded" : "it failed"));
  Suite suite(1);
  suite.add_config();
  // The controller has made all pods, and sees none of them run.
  for (int round = 0; round < 20 && suite.pods("dqn-coordinator").empty(); ++round) {
    suite.deliver_all();
    suite.work();
    suite.scheduling.see();
    suite.scheduling.plan();
    suite.clock.advance(std::chrono::seconds(1));
  }
  suite.environment();
  REQUIRE(suite.job().status.phase == Phase::kNone);
  suite.end_pod("dqn-coordinator", well);
  suite.delete_pod("dqn-coordinator");
  suite.take_over();
  suite.come_to_rest();
  check_rules(suite);
  const job::Status status = suite.job().status;
  if (well) {
    CHECK(status.phase == Phase::kSucceeded);
  } else {
    CHECK(status.attempt == 2);
    CHECK(status.failed_attempts == 1);
    CHECK(status.phase == Phase::kRunning);
  }
}

TEST_CASE("a worker that a user deletes while it runs is replaced, seen or not", "[sim][unseen]") {
  Suite suite(1);
  suite.add_config();
  suite.start();
  const std::string name = job::pod_name(suite.job(), Role::kCollector, {1, 0});
  suite.delete_pod(name);
  suite.end_terminations();
  suite.take_over();
  suite.come_to_rest();
  CHECK(suite.pods(job::pod_name(suite.job(), Role::kCollector, {1, 1})).size() == 1);
  CHECK(suite.job().status.collector == job::RoleCounts{2, 0, 0});
  CHECK(suite.pod(name).is_null());
  check_rules(suite);
}

}  // namespace
}  // namespace nervex::testing
