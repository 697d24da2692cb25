// One fault at a time, each on the shortest way to where it does harm.
#include <catch2/generators/catch_generators_all.hpp>
#include <catch2/matchers/catch_matchers_container_properties.hpp>

#include "controller/decide/reasons.h"
#include "job/names.h"
#include "tests/sim/seeds.h"
#include "tests/support/job_builders.h"

namespace nervex::testing {
namespace {

using job::Phase;
using job::Role;

TEST_CASE("gangs are committed by the extender's own code", "[sim]") {
  Suite suite(1);
  suite.add_config();
  suite.settle();
  CHECK(suite.job().status.phase == Phase::kRunning);
  CHECK(suite.rules.seen["base gang committed"] == 1);
  REQUIRE(suite.call_server(0));
  suite.settle();
  CHECK(suite.rules.seen["growth gang committed"] == 1);
  CHECK(suite.pods().size() == 7);
  suite.come_to_rest();
  check_rules(suite);
}

TEST_CASE("a start that is refused permanently releases everything, and is retried later",
          "[sim]") {
  const int status = GENERATE(403, 422);
  const std::string refused = GENERATE("collector", "learner", "coordinator");
  INFO(status << " for " << refused);
  Suite suite(1);
  suite.refuse_pods(refused, status, refused == "collector" ? 1 : 0);
  suite.settle();
  CHECK(suite.rules.seen["base gang taken back"] >= 1);
  const job::Job job = suite.job();
  CHECK(job.status.phase == Phase::kCreated);
  CHECK(job.status.attempt >= 2);
  CHECK(job.status.next_attempt_time > suite.clock.now());
  CHECK_THAT(suite.pods(), Catch::Matchers::IsEmpty());
  const auto* created = find_condition(job.status, controller::kPodsCreated);
  REQUIRE(created != nullptr);
  CHECK_FALSE(created->status);
  const char* words = status == 403 ? "exceeded quota" : "Invalid value";
  CHECK(created->message.find(words) != std::string::npos);
  suite.come_to_rest();
  CHECK(suite.job().status.phase == Phase::kRunning);
  check_rules(suite);
}

TEST_CASE("a new leader decides nothing until each of its caches has caught up", "[sim]") {
  Suite suite(1);
  suite.add_config();
  suite.start();
  const std::int64_t before = suite.api.resource_version();
  REQUIRE(suite.call_server(0));
  suite.settle();
  const std::int64_t missed = suite.api.resource_version() - before;
  const auto stale = GENERATE(kJobFeed, kPodFeed, kServiceFeed, kPodGroupFeed);
  std::vector<std::int64_t> behind(kFeeds, 0);
  behind[stale] = missed;
  const auto pods = suite.pods();
  suite.take_over(behind);
  for (int round = 0; round < 5; ++round) {
    CHECK(suite.work() == 0);
    suite.clock.advance(std::chrono::minutes(1));
  }
  suite.come_to_rest();
  CHECK(suite.pods() == pods);
  check_rules(suite);
}

TEST_CASE("a name that is taken by another object costs a worker one incarnation", "[sim]") {
  Suite suite(1);
  const std::string taken = job::pod_name(suite.job(), Role::kCollector, {1, 0});
  suite.api.add(kube::kPods, kNamespace,
                {{"metadata", {{"name", taken}}}, {"spec", a_template()["spec"]}});
  const std::string uid = kube::string_at(suite.pod(taken), {"metadata", "uid"});
  suite.come_to_rest();
  CHECK(kube::string_at(suite.pod(taken), {"metadata", "uid"}) == uid);
  const std::string next = job::pod_name(suite.job(), Role::kCollector, {1, 1});
  CHECK(suite.pods(next).size() == 1);
  CHECK(suite.job().status.phase == Phase::kRunning);
  check_rules(suite);
}

TEST_CASE("a node that rejects the coordinator is avoided by the next attempts", "[sim]") {
  Suite suite(1);
  suite.reject_on("n1", "coordinator");
  suite.reject_on("n2", "coordinator");
  for (int round = 0; round < 10; ++round) {
    suite.settle();
    suite.clock.advance(std::chrono::seconds(20));
  }
  const job::Job job = suite.job();
  CHECK(job.status.phase == Phase::kRunning);
  CHECK(job.status.attempt <= 3);
  CHECK(kube::string_at(suite.pod("dqn-coordinator"), {"spec", "nodeName"}) == "n3");
  suite.come_to_rest();
  check_rules(suite);
}

TEST_CASE("a coordinator that every node rejects is tried less and less often", "[sim]") {
  Suite suite(1);
  for (const char* node : {"n1", "n2", "n3"}) suite.reject_on(node, "coordinator");
  for (int second = 0; second < 3'600; second += 10) {
    suite.settle();
    suite.clock.advance(std::chrono::seconds(7));
  }
  const job::Job job = suite.job();
  CHECK(job.status.attempt > 5);
  CHECK(job.status.attempt < 30);
  const auto* requeued = find_condition(job.status, controller::kRequeued);
  REQUIRE(requeued != nullptr);
  CHECK(requeued->message.find(" on node n") != std::string::npos);
  check_rules(suite);
}

}  // namespace
}  // namespace nervex::testing
