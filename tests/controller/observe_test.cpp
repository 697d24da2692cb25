#include "controller/observe.h"

#include <catch2/catch_test_macros.hpp>

#include "tests/controller/cluster.h"
#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using testing::Cluster;
using testing::kJobKey;

const ObserveOptions kOptions{"server:8080", "nervex-system/aggregator-config"};

Result<std::optional<Observed>> look(Cluster& cluster) {
  return observe(cluster.api, cluster.controller->caches, kOptions, kJobKey, cluster.clock.now());
}

struct RunningCluster : Cluster {
  RunningCluster() {
    create_job(1, 0);
    settle();
    plan();
    settle();
    run_pods();
    settle();
  }
};

TEST_CASE("a job that is not there is nothing to decide on", "[controller][observe]") {
  Cluster cluster;
  const auto seen = look(cluster);
  REQUIRE(seen);
  CHECK_FALSE(seen->has_value());
}

TEST_CASE("a job is seen with what it owns, and nothing else", "[controller][observe]") {
  RunningCluster cluster;
  cluster.api.add(kube::kPods, "rl", {{"metadata", {{"name", "dqn-stranger"}}}});
  cluster.api.add(kube::kAggregatorConfigs, "nervex-system",
                  {{"metadata", {{"name", "aggregator-config"}}},
                   {"spec", {{"aggregator", {{"template", testing::a_template()}}}}}});
  cluster.sync();
  const auto seen = look(cluster);
  REQUIRE((seen && *seen));
  CHECK((*seen)->pods.size() == 2);
  CHECK((*seen)->services.size() == 2);
  CHECK((*seen)->pod_groups.size() == 1);
  CHECK((*seen)->aggregator_config != nullptr);
  CHECK_FALSE((*seen)->coordinator_is_gone);
}

TEST_CASE("a coordinator that a cache lacks is looked for at the API server",
          "[controller][observe]") {
  RunningCluster cluster;
  Caches& caches = cluster.controller->caches;
  SECTION("it is there") {
    caches.pods.erase("rl/dqn-coordinator", std::to_string(cluster.api.resource_version()));
    const auto seen = look(cluster);
    REQUIRE((seen && *seen));
    CHECK_FALSE((*seen)->coordinator_is_gone);
    CHECK((*seen)->pods.size() == 2);
  }
  SECTION("it is gone") {
    cluster.api.remove(kube::kPods, "rl", "dqn-coordinator");
    cluster.sync();
    const auto seen = look(cluster);
    REQUIRE((seen && *seen));
    CHECK((*seen)->coordinator_is_gone);
  }
  SECTION("somebody else has its name") {
    cluster.api.remove(kube::kPods, "rl", "dqn-coordinator");
    cluster.api.add(kube::kPods, "rl", {{"metadata", {{"name", "dqn-coordinator"}}}});
    cluster.sync();
    const auto seen = look(cluster);
    REQUIRE((seen && *seen));
    CHECK((*seen)->coordinator_is_gone);
  }
  SECTION("the API server does not answer") {
    cluster.api.remove(kube::kPods, "rl", "dqn-coordinator");
    cluster.sync();
    cluster.api.fail_next("GET", "/pods/", {Code::kTransient, "timeout"});
    const auto seen = look(cluster);
    REQUIRE_FALSE(seen);
    CHECK(seen.error().code == Code::kTransient);
  }
}

TEST_CASE("a job whose PodGroup was deleted under it learns that", "[controller][observe]") {
  RunningCluster cluster;
  const auto group = cluster.controller->caches.pod_groups.all().front();
  SECTION("it is gone") {
    cluster.api.remove(kube::kPodGroups, "rl", group->meta.name);
    cluster.sync();
    const auto seen = look(cluster);
    REQUIRE((seen && *seen));
    CHECK((*seen)->pod_group_is_gone);
    CHECK_FALSE((*seen)->coordinator_is_gone);
  }
  SECTION("only the cache lacks it") {
    cluster.controller->caches.pod_groups.erase(group->meta.key(),
                                                std::to_string(cluster.api.resource_version()));
    const auto seen = look(cluster);
    REQUIRE_FALSE(seen);
    CHECK(seen.error().code == Code::kTransient);
  }
}

TEST_CASE("a coordinator that never ran is not looked for", "[controller][observe]") {
  Cluster cluster;
  cluster.create_job(0, 0);
  cluster.settle();
  cluster.api.fail_next("GET", "/pods/", {Code::kTransient, "timeout"});
  CHECK(look(cluster).has_value());
}

}  // namespace
}  // namespace nervex::controller
