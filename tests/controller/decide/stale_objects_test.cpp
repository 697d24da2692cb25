#include "controller/decide/cleanup.h"

#include <catch2/catch_test_macros.hpp>

#include "tests/controller/world.h"
#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using testing::a_job;
using testing::World;
using Strings = std::vector<std::string>;

World a_started_world() {
  World world(a_job(1, 0));
  world.start();
  return world;
}

Actions strays(const World& world) { return delete_stale_objects(Round(world.seen)); }

TEST_CASE("what belongs to the attempt is no stray", "[controller][strays]") {
  CHECK(strays(a_started_world()).empty());
}

TEST_CASE("pods of another PodGroup are deleted, bound or not", "[controller][strays]") {
  World world = a_started_world();
  world.change_group([](gang::PodGroup& group) { group.meta.uid = "another"; });
  const Actions steps = strays(world);
  REQUIRE(steps.size() == 2);
  CHECK(std::get<DeletePods>(steps[0]).targets.size() == 2);
  CHECK(std::get<RecordEvent>(steps[1]).event.message ==
        "deleted 2 pods of an attempt that is over");
}

TEST_CASE("an attempt without a PodGroup keeps nothing; the old PodGroup goes last",
          "[controller][strays]") {
  World world = a_started_world();
  world.seen.job.status.attempt = 2;
  const Actions steps = strays(world);
  REQUIRE(steps.size() == 4);
  CHECK(std::get<DeletePods>(steps[0]).targets.size() == 2);
  CHECK(std::get<DeleteServices>(steps[1]).targets.size() == 2);
  CHECK(std::get<DeletePodGroups>(steps[2]).targets.size() == 1);
}

TEST_CASE("what takes its leave is not deleted again", "[controller][strays]") {
  World world = a_started_world();
  world.seen.job.status.attempt = 2;
  world.seen.services.clear();
  for (const auto& pod : world.pod_names()) {
    world.change_pod(pod, [](kube::Pod& p) { p.meta.deleting = true; });
  }
  world.change_group([](gang::PodGroup& group) { group.meta.deleting = true; });
  CHECK(strays(world).empty());
}

}  // namespace
}  // namespace nervex::controller
