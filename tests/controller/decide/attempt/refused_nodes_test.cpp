// What an attempt learned of nodes goes into the next one, and attempts that the cluster ends early
// become rare.
#include "controller/decide/attempt/refused_nodes.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "controller/decide/make_round.h"
#include "controller/decide/reasons.h"
#include "tests/controller/world.h"
#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using namespace std::chrono_literals;
using job::Role;
using testing::a_job;
using testing::World;
using AvoidedBy = job::Status::AvoidedNode;

constexpr const char* kCoordinatorPod = "dqn-coordinator";

World start_one() {
  World world(a_job(1, 0));
  world.start();
  world.events.clear();
  return world;
}

void reject_pod(World& world, std::string_view pod) {
  world.end(pod, false);
  world.change_pod(pod, [](kube::Pod& one) { one.reason = "OutOfcpu"; });
}

// The gang of the current attempt is placed and its coordinator rejected.
void reject_gang(World& world) {
  world.plan();
  world.settle();
  world.commit();
  reject_pod(world, kCoordinatorPod);
  world.settle();
}

std::chrono::seconds time_to_next(const World& world) {
  const auto next = world.seen.job.status.next_attempt_time;
  return std::chrono::duration_cast<std::chrono::seconds>(next.value_or(world.seen.now) -
                                                          world.seen.now);
}

TEST_CASE("the next attempt avoids a node that rejected the coordinator",
          "[controller][attempts]") {
  World world = start_one();
  const std::size_t noted = GENERATE(0u, 1u);
  INFO("the extender has noted it: " << noted);
  if (noted > 0) {
    world.change_group([&](gang::PodGroup& group) {
      group.status.avoid = {{"coordinator", "n1", 0, 1, world.seen.now + 60s}};
    });
  }
  reject_pod(world, kCoordinatorPod);
  world.look();
  world.apply(reconcile(world.seen).actions);
  const job::Status& status = world.seen.job.status;
  CHECK(status.attempt == 2);
  CHECK(status.avoid ==
        std::vector<AvoidedBy>{{Role::kCoordinator, "n1", 0, 1, world.seen.now + 60s}});
  const auto* requeued = find_condition(status, kRequeued);
  REQUIRE(requeued != nullptr);
  CHECK(requeued->message == "the cluster disrupted the coordinator's pod on node n1: OutOfcpu ");
  const auto until = status.avoid.front().until;
  CHECK(status.reason == "BackOff");
  const auto* scheduled = find_condition(status, kScheduled);
  REQUIRE(scheduled != nullptr);
  CHECK(scheduled->message.starts_with(
      "attempt 1 ended with Rejected: the cluster disrupted the coordinator's pod on node n1: "
      "OutOfcpu ; attempt 2 starts at "));
  world.seen.now += 11s;
  CHECK(world.settle() >= 0);
  REQUIRE(world.seen.pod_groups.size() == 1);
  CHECK(world.seen.pod_groups.front()->spec.avoid ==
        std::vector<gang::AvoidedNode>{{"coordinator", "n1", 0, 1, until}});

  SECTION("for longer if it rejects that one, too") {
    reject_gang(world);
    CHECK(status.avoid ==
          std::vector<AvoidedBy>{{Role::kCoordinator, "n1", 0, 2, world.seen.now + 120s}});
  }
}

TEST_CASE("the next attempt avoids what the PodGroup avoids for base replicas",
          "[controller][attempts]") {
  World world(a_job(2, 0));
  world.start();
  world.seen.job.spec.collector->replicas = 3;
  ++world.seen.job.meta.generation;
  world.settle();
  world.change_group([&](gang::PodGroup& group) {
    REQUIRE(gang::find_set(group.spec, "base-collector-2") != nullptr);
    group.status.avoid = {{"collector", "n1", 1, 1, world.seen.now + 60s},
                          {"base-collector-2", "n1", 0, 2, world.seen.now + 120s},
                          {"base-collector-2", "n2", 0, 1, world.seen.now + 60s},
                          {"request-1-collector", "n3", 0, 1, world.seen.now + 60s},
                          {"coordinator", "n4", 0, 1, world.seen.now - 700s}};
  });
  world.end(kCoordinatorPod, false);
  world.change_pod(kCoordinatorPod, [](kube::Pod& pod) { pod.reason = "Evicted"; });
  world.look();
  world.apply(reconcile(world.seen).actions);
  CHECK(world.seen.job.status.avoid ==
        std::vector<AvoidedBy>{{Role::kCollector, "n1", 0, 2, world.seen.now + 120s},
                               {Role::kCollector, "n2", 0, 1, world.seen.now + 60s}});
}

TEST_CASE("changed templates forget which nodes refused pods", "[controller][attempts]") {
  World world(a_job(1, 0));
  world.make_gang();
  world.change_group([&](gang::PodGroup& group) {
    group.status.avoid = {{"collector", "n1", 0, 1, world.seen.now + 60s}};
  });
  world.seen.job.spec.collector->pod_template = testing::with_gpus(testing::a_template(), "4");
  ++world.seen.job.meta.generation;
  CHECK(world.settle() >= 0);
  CHECK(world.seen.job.status.attempt == 2);
  CHECK(world.seen.job.status.avoid.empty());
}

TEST_CASE("attempts that the cluster ends early are spaced out", "[controller][attempts]") {
  World world(a_job(1, 0));
  world.settle();
  const auto start_next = [&] {
    world.seen.now = world.seen.job.status.next_attempt_time.value_or(world.seen.now);
    REQUIRE(world.settle() >= 0);
  };
  int disrupted = 0;
  for (const auto wait : {10s, 10s, 20s, 40s, 80s, 160s, 320s, 360s, 360s}) {
    reject_gang(world);
    INFO("after " << ++disrupted);
    CHECK(world.seen.job.status.disrupted_attempts == disrupted);
    CHECK(time_to_next(world) == wait);  // the first time less than a second more
    start_next();
  }
  CHECK(world.seen.job.status.failed_attempts == 0);

  SECTION("not after one that has lasted") {
    world.start();
    world.seen.now += 11min;
    world.settle();
    reject_pod(world, kCoordinatorPod);
    world.settle();
    CHECK(world.seen.job.status.disrupted_attempts == 1);
    CHECK(time_to_next(world) == 0s);
  }
  SECTION("not after one that ends for another gang") {
    world.start();
    world.change_group([](gang::PodGroup& group) {
      group.status.gangs.front().committed = true;
      group.status.gangs.front().reason = gang::kReasonPreempted;
    });
    world.seen.now += 30s;
    world.settle();
    CHECK(world.seen.job.status.disrupted_attempts == 9);
    CHECK(time_to_next(world) == 0s);
  }
  SECTION("not once the job was suspended and resumed") {
    world.seen.job.spec.suspend = true;
    world.settle();
    world.seen.job.spec.suspend = false;
    world.settle();
    CHECK(world.seen.job.status.disrupted_attempts == 0);
  }
}

}  // namespace
}  // namespace nervex::controller
