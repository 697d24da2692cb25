// Deleted pods that should have ended and still exist: what the job says about them.
#include "controller/decide/attempt/overdue_pods.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "controller/decide/reasons.h"
#include "tests/controller/world.h"
#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using namespace std::chrono_literals;
using job::Role;
using testing::a_job;
using testing::World;
using Strings = std::vector<std::string>;

kube::Pod ending(Strings finalizers) {
  kube::Pod pod;
  pod.meta.ns = "rl";
  pod.meta.name = "a";
  pod.phase = kube::PodPhase::kRunning;
  pod.other_finalizers = std::move(finalizers);
  return pod;
}

// A running job whose pod of that role is deleted and does not end; the planner has a node for the
// next one.
struct Stuck : World {
  std::string pod;
  Stuck(Role role, const Strings& finalizers) : World(a_job(1, 1)), pod(name(role)) {
    add_aggregator_config();
    start();
    change_pod(pod, [&](kube::Pod& changed) {
      changed.meta.deleting = true;
      changed.deletion_timestamp = seen.now;
      changed.other_finalizers = finalizers;
    });
    REQUIRE(settle() >= 0);
    change_group([](gang::PodGroup& group) {
      group.status.gangs.front().reason = gang::kReasonHealing;
      group.status.gangs.front().message = "a pod is missing";
    });
    REQUIRE(settle() >= 0);
  }
  std::string message(std::string_view condition) const {
    const auto* found = find_condition(seen.job.status, condition);
    return found == nullptr ? "" : found->message;
  }
};

TEST_CASE("an overdue pod is explained by its finalizers or its node", "[controller][overdue]") {
  CHECK(describe_keeper(ending({})) ==
        "its node does not respond or cannot stop its containers: kubectl describe pod -n rl a");
  CHECK(describe_keeper(ending({"x.io/a"})) ==
        "finalizer x.io/a keeps it, or its node does not respond: remove finalizers whose owner no "
        "longer exists with kubectl edit pod -n rl a, or delete the node if it is out of order");
  kube::Pod finished = ending({"x.io/a", "x.io/b"});
  finished.phase = kube::PodPhase::kFailed;
  CHECK(describe_keeper(finished) ==
        "finalizers x.io/a, x.io/b keep it: remove finalizers whose owner no longer exists with "
        "kubectl edit pod -n rl a");
  CHECK(describe_keeper(ending({"1", "2", "3", "4"})).starts_with("finalizers 1, 2, 3 and more "));
}

TEST_CASE("a running job names the deleted pod that keeps the place of its successor",
          "[controller][overdue]") {
  const Role role = GENERATE(Role::kCollector, Role::kLearner);
  Stuck world(role, {"example.com/y"});
  CHECK(world.message(kScheduled) == "a pod is missing");
  CHECK(reconcile(world.seen).requeue_after == kOverdue);
  const std::string since = to_rfc3339(world.seen.now);

  world.seen.now += kOverdue;
  REQUIRE(world.settle() >= 0);
  const std::string told = "pod " + world.pod + " on node n1 should have ended at " + since +
                           " and still exists: finalizer example.com/y keeps it";
  CHECK(world.message(kScheduled).starts_with("a pod is missing; " + told));
  CHECK(world.message(kReady).starts_with("not all pods are ready: " + told));
  CHECK(world.seen.job.status.reason == "Healing");
  CHECK(world.seen.job.status.attempt == 1);

  world.remove_pod(world.pod);
  REQUIRE(world.settle() >= 0);
  CHECK(world.message(kScheduled) == "a pod is missing");
}

TEST_CASE("a running job names its own aggregator when that does not end",
          "[controller][overdue]") {
  Stuck world(Role::kAggregator, {"example.com/y"});
  const bool is_finished = GENERATE(false, true);
  if (is_finished) world.end(world.pod, false);
  world.seen.now += kOverdue;
  REQUIRE(world.settle() >= 0);
  CHECK(
      world.message(kReady).starts_with("not all pods are ready: pod dqn-aggregator on node n1 "));
  CHECK(world.message(kScheduled) == "a pod is missing");
}

TEST_CASE("a deleted pod that keeps no place is not named", "[controller][overdue]") {
  Stuck world(Role::kCollector, {"example.com/y"});
  SECTION("it has finished, and its successor has another name") { world.end(world.pod, false); }
  SECTION("its slot is no longer wanted") { world.seen.job.spec.collector->replicas = 0; }
  world.seen.now += kOverdue;
  REQUIRE(world.settle() >= 0);
  CHECK(world.message(kScheduled).find("example.com") == std::string::npos);
  CHECK(world.message(kReady).find("example.com") == std::string::npos);
}

}  // namespace
}  // namespace nervex::controller
