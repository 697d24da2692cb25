#include "controller/pods.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/controller/world.h"
#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using job::Role;
using testing::a_job;
using testing::an_entry;
using testing::World;
using Strings = std::vector<std::string>;

// All pods of a job with one collector exist, unbound.
World a_started_world() {
  World world(a_job(1, 0));
  world.settle();
  world.plan();
  world.settle();
  world.created.clear();
  return world;
}

TEST_CASE("a pod is pinned to its place and knows its slot", "[controller][pods]") {
  World world(a_job(1, 0));
  world.settle();
  world.plan("n7");
  const Attempt attempt = current_attempt(world.seen);
  const Actions steps = pod_steps(world.seen, attempt, {});
  const Json& pod = std::get<CreatePods>(steps.at(1)).manifests.at(0);
  CHECK(pod["metadata"]["annotations"] ==
        Json({{"nervex.sensetime.com/pod-group-uid", attempt.group->meta.uid},
              {"nervex.sensetime.com/slot", "collector/0"},
              {"nervex.sensetime.com/incarnation", "0"},
              {"nervex.sensetime.com/placement", "2"}}));
  CHECK(pod["spec"]["affinity"].dump().find("n7") != std::string::npos);
}

TEST_CASE("pods and services that are missing come back", "[controller][pods]") {
  World world = a_started_world();
  const std::string collector = world.name(Role::kCollector);
  SECTION("a worker, under its own name") {
    world.remove_pod(collector);
    world.settle();
    CHECK(world.created == Strings{"pod " + collector});
  }
  SECTION("a coordinator that never ran") {
    world.remove_pod("dqn-coordinator");
    world.settle();
    CHECK(world.created == Strings{"pod dqn-coordinator"});
  }
  SECTION("a service") {
    world.seen.services.clear();
    world.settle();
    CHECK(world.created == Strings{"service dqn-coordinator", "service " + collector});
  }
}

TEST_CASE("nothing is made while the plan is older than the spec", "[controller][pods]") {
  World world = a_started_world();
  world.seen.pods.clear();
  world.change_group([](gang::PodGroup& group) { ++group.meta.generation; });
  CHECK(pod_steps(world.seen, current_attempt(world.seen), {}).empty());
}

TEST_CASE("a finished worker is neither made again nor replaced", "[controller][pods]") {
  World world = a_started_world();
  const std::string collector = world.name(Role::kCollector);
  world.end(collector, GENERATE(true, false));
  world.settle();
  CHECK(world.seen.job.status.ended.size() == 1);
  world.remove_pod(collector);
  CHECK(world.settle() == 1);  // its room is given back
  CHECK(world.settle() == 0);
  CHECK(world.created.empty());
}

TEST_CASE("a pod that waits for a superseded place gives way", "[controller][pods]") {
  World world = a_started_world();
  const std::string collector = world.name(Role::kCollector);
  world.change_pod("dqn-coordinator", [](kube::Pod& pod) { pod.node = "n2"; });  // where it stays
  world.replan("base");
  CHECK(world.settle() >= 2);
  CHECK(world.deleted == Strings{"pod " + collector});
  CHECK(world.created == Strings{"pod " + collector});
}

TEST_CASE("an unbound pod goes when its gang has lost its places", "[controller][pods]") {
  World world = a_started_world();
  world.change_group([](gang::PodGroup& group) {
    group.status.gangs[0].planned = false;
    group.status.gangs[0].reason = "Unschedulable";
    group.status.gangs[0].placements.clear();
  });
  CHECK(world.settle() >= 1);
  CHECK(world.pod_names().empty());
  CHECK(world.created.empty());
}

TEST_CASE("the coordinator waits for a worker that is in the way", "[controller][pods]") {
  World world = a_started_world();
  world.remove_pod("dqn-coordinator");
  world.change_pod(world.name(Role::kCollector), [](kube::Pod& pod) { pod.meta.deleting = true; });
  CHECK(pod_steps(world.seen, current_attempt(world.seen), {}).empty());
}

TEST_CASE("the coordinator does not wait for what was requested", "[controller][pods]") {
  World world(a_job(1, 0));
  world.settle();
  world.seen.job.spec.requests.entries = {an_entry(1, Role::kCollector, 1)};
  world.settle();
  world.plan();
  world.change_group([](gang::PodGroup& group) { group.status.gangs.pop_back(); });
  world.settle();
  CHECK(world.pod_names() == Strings{world.name(Role::kCollector), "dqn-coordinator"});
}

TEST_CASE("a request of another attempt, or one that is gone, gets no pods", "[controller][pods]") {
  World world = a_started_world();
  world.seen.job.spec.requests.entries = {an_entry(1, Role::kCollector, 1)};
  SECTION("another attempt") { world.seen.job.spec.requests.entries[0].attempt = 2; }
  SECTION("gone") {
    world.settle();
    world.plan();
    world.seen.job.spec.requests.entries.clear();
  }
  world.settle();
  CHECK(world.created.empty());
}

TEST_CASE("an aggregator whose template is gone is waited for", "[controller][pods]") {
  World world(a_job());
  world.add_aggregator_config();
  world.settle();
  world.plan();
  world.seen.aggregator_config = nullptr;
  world.settle();
  CHECK(world.pod_names().empty());
  CHECK(world.seen.job.status.reason == "AggregatorMissing");
  world.add_aggregator_config();
  world.settle();
  CHECK(world.pod_names() == Strings{"dqn-aggregator", "dqn-coordinator"});
}

}  // namespace
}  // namespace nervex::controller
