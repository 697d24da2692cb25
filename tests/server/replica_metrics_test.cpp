#include "server/replica_metrics.h"

#include <catch2/catch_test_macros.hpp>

#include "tests/server/world.h"

namespace nervex::server {
namespace {

std::string line(const char* what, const char* role, int count) {
  return std::string("nervex_server_replicas_") + what + "{role=\"" + role + "\"} " +
         std::to_string(count) + "\n";
}

}  // namespace

TEST_CASE("replicas are measured as clients count them", "[server][metrics]") {
  World world;
  Metrics metrics;
  add_replica_metrics(metrics, world.stores);
  world.surround_with(8, 80);
  AddRequest request{"rl", "dqn-coordinator", {2, "", "", ""}, {1, "", "10", ""}};
  REQUIRE(world.replicas.add(request));
  world.add_pod(job::Role::kCollector, {4096, 0});
  world.add_pod(job::Role::kAggregator, {4096, 0});
  world.add_pod(job::Role::kDdpLearner, {4096, 0});
  world.add_pod(job::Role::kDdpLearner, {4097, 0});
  world.sync();

  const std::string text = metrics.text();
  INFO(text);
  CHECK(text.find(line("wanted", "collector", 2)) != std::string::npos);
  CHECK(text.find(line("wanted", "learner", 1)) != std::string::npos);
  CHECK(text.find(line("present", "collector", 1)) != std::string::npos);
  CHECK(text.find(line("present", "learner", 1)) != std::string::npos);
}

TEST_CASE("a finished job wants no replicas, and one that ended is not wanted again",
          "[server][metrics]") {
  World world;
  Metrics metrics;
  add_replica_metrics(metrics, world.stores);
  REQUIRE(world.replicas.add({"rl", "dqn-coordinator", {2, "", "", ""}, {}}));
  world.change_job(Json::parse(
      R"({"status":{"ended":[{"role":"collector","ordinal":4096,"succeeded":true}]}})"));
  world.sync();
  CHECK(world.stores.jobs.get("rl/dqn")->status.ended.size() == 1);
  CHECK(metrics.text().find(line("wanted", "collector", 1)) != std::string::npos);

  world.change_job({{"status", {{"phase", "Succeeded"}}}});
  world.sync();
  CHECK(metrics.text().find(line("wanted", "collector", 0)) != std::string::npos);
}

}  // namespace nervex::server
