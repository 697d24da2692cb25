#include "controller/decide/objects/cleanup.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "job/names.h"
#include "tests/controller/cluster.h"
#include "tests/controller/world.h"
#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using job::Phase;
using job::Role;
using testing::a_job;
using testing::kNamespace;
using testing::RunningCluster;
using testing::World;
using Strings = std::vector<std::string>;

// As a kubelet reports it.
void exit_with(World& world, const std::string& pod, int code) {
  world.change_pod(pod, [code](kube::Pod& p) {
    p.phase = code == 0 ? kube::PodPhase::kSucceeded : kube::PodPhase::kFailed;
    p.ready = false;
    kube::ContainerState main;
    main.name = "nervex-container";
    main.terminated = true;
    main.exit_code = code;
    p.containers = {main};
  });
}

TEST_CASE("a worker that ended and was deleted unseen is counted, not replaced",
          "[controller][tracking]") {
  const int code = GENERATE(0, 1);
  World world(a_job(2, 0));
  world.start();
  const std::string pod = world.name(Role::kCollector, 0);
  exit_with(world, pod, code);
  world.delete_pod(pod);
  world.settle();
  const auto& status = world.seen.job.status;
  CHECK(status.collector == job::RoleCounts{1, code == 0 ? 1 : 0, code == 0 ? 0 : 1});
  CHECK(status.replaced.empty());
  CHECK(world.pod_names().size() == 2);  // it was removed and not replaced
}

TEST_CASE("a coordinator that ran and ended unseen is not created again in its attempt",
          "[controller][tracking]") {
  World world(a_job(1, 0));
  world.make_gang();
  REQUIRE(world.seen.job.status.phase == Phase::kCreated);
  world.run_all();
  const auto of_first = world.created;
  SECTION("it succeeded") {
    exit_with(world, "dqn-coordinator", 0);
    world.delete_pod("dqn-coordinator");
    world.settle();
    CHECK(world.seen.job.status.phase == Phase::kSucceeded);
  }
  SECTION("it failed") {
    exit_with(world, "dqn-coordinator", 3);
    world.delete_pod("dqn-coordinator");
    world.settle();
    CHECK(world.seen.job.status.phase == Phase::kFailed);
    CHECK(world.seen.job.status.last_attempt->exit_code == 3);
  }
  SECTION("it was deleted while it ran") {
    world.delete_pod("dqn-coordinator");
    world.settle();
    CHECK(world.seen.job.status.phase == Phase::kFailed);
    CHECK(world.seen.job.status.reason == "CoordinatorLost");
  }
  CHECK(world.created == of_first);
}

TEST_CASE("a coordinator that was deleted before it ran is created again",
          "[controller][tracking]") {
  World world(a_job(1, 0));
  world.make_gang();
  world.created.clear();
  world.delete_pod("dqn-coordinator");
  world.settle();
  CHECK(world.seen.job.status.phase == Phase::kCreated);
  CHECK(world.seen.job.status.attempt == 1);
  CHECK(world.created == Strings{"pod dqn-coordinator"});
}

TEST_CASE("a pod's finalizer is removed only after the status records its end",
          "[controller][tracking]") {
  World world(a_job(2, 0));
  world.start();
  exit_with(world, world.name(Role::kCollector, 0), 1);
  world.delete_pod(world.name(Role::kCollector, 0));
  const Actions actions = reconcile(world.seen).actions;
  REQUIRE(actions.size() >= 2);
  REQUIRE(std::holds_alternative<UpdateStatus>(actions[0]));
  CHECK(std::get<UpdateStatus>(actions[0]).status.ended.size() == 1);
  CHECK(std::holds_alternative<ReleasePods>(actions[1]));
}

TEST_CASE("pods that an ended job keeps can be deleted without the controller",
          "[controller][tracking]") {
  World world(a_job(1, 0));
  world.seen.job.spec.clean_pod_policy = job::CleanPodPolicy::kNone;
  world.start();
  exit_with(world, "dqn-coordinator", 0);
  world.settle();
  REQUIRE(world.pod_names().size() == 2);
  for (const auto& pod : world.seen.pods) CHECK_FALSE(pod->has_finalizer);
}

TEST_CASE("pods of a deleted job are deleted, also if the controller was down",
          "[controller][tracking]") {
  RunningCluster cluster;
  const bool was_away = GENERATE(false, true);
  cluster.api.remove(kube::kNervexJobs, kNamespace, "dqn");
  cluster.api.collect_garbage();
  CHECK(cluster.names(kube::kPods).size() == 2);
  if (was_away) cluster.restart();
  CHECK(cluster.settle() >= 0);
  CHECK(cluster.names(kube::kPods).empty());
}

TEST_CASE("pods of a deleted job with the same name are deleted, too", "[controller][tracking]") {
  RunningCluster cluster;
  cluster.api.remove(kube::kNervexJobs, kNamespace, "dqn");
  cluster.api.collect_garbage();
  cluster.create_job(1, 0);
  CHECK(cluster.settle() >= 0);
  CHECK(cluster.names(kube::kPods).empty());
  CHECK(cluster.names(kube::kPodGroups).size() == 1);
}

TEST_CASE("orphaned pods lose their finalizer and stay", "[controller][tracking]") {
  RunningCluster cluster;
  for (const auto& name : cluster.names(kube::kPods)) {
    cluster.api.change(kube::kPods, kNamespace, name,
                       {{"metadata", {{"ownerReferences", nullptr}}}});
  }
  cluster.api.remove(kube::kNervexJobs, kNamespace, "dqn");
  cluster.sync();
  cluster.controller->worker.process(orphans_key(kNamespace));
  CHECK(cluster.names(kube::kPods).size() == 2);
  for (const auto& pod : cluster.api.list(kube::kPods)) {
    CHECK(kube::array_at(pod, {"metadata", "finalizers"}).empty());
  }
}

TEST_CASE("an orphaned PodGroup is deleted, and its capacity is released",
          "[controller][tracking]") {
  RunningCluster cluster;
  REQUIRE(cluster.names(kube::kPodGroups).size() == 1);
  const std::string name = cluster.names(kube::kPodGroups)[0];
  cluster.api.change(kube::kPodGroups, kNamespace, name,
                     {{"metadata", {{"ownerReferences", nullptr}}}});
  SECTION("its job was deleted") {
    cluster.api.remove(kube::kNervexJobs, kNamespace, "dqn");
    cluster.sync();
    cluster.controller->worker.process(orphans_key(kNamespace));
    CHECK(cluster.names(kube::kPodGroups).empty());
  }
  SECTION("it has a new owner, which the cache does not know") {
    cluster.sync();
    cluster.api.change(kube::kPodGroups, kNamespace, name,
                       {{"metadata", {{"annotations", {{"touched", "now"}}}}}});
    cluster.controller->worker.process(orphans_key(kNamespace));
    CHECK(cluster.names(kube::kPodGroups).size() == 1);
  }
  SECTION("it is not the controller's") {
    cluster.api.change(kube::kPodGroups, kNamespace, name, {{"metadata", {{"labels", nullptr}}}});
    cluster.sync();
    cluster.controller->worker.process(orphans_key(kNamespace));
    CHECK(cluster.names(kube::kPodGroups).size() == 1);
  }
}

TEST_CASE("releasing a pod that was deleted, or whose name another one has by now, succeeds",
          "[controller][tracking]") {
  RunningCluster cluster;
  job::Job job = cluster.job();
  const Target target{"dqn-coordinator", GENERATE(std::string("uid-of-another"), std::string(""))};
  const std::string name = target.uid.empty() ? "dqn-nobody" : target.name;
  const auto failed = cluster.controller->performer.perform(
      job, {ReleasePods{{{name, target.uid.empty() ? "uid-x" : target.uid}}}});
  CHECK_FALSE(failed.has_value());
  const Json pod = cluster.api.get(kube::kPods, kNamespace, "dqn-coordinator");
  CHECK(kube::array_at(pod, {"metadata", "finalizers"}).size() == 1);
}

TEST_CASE("a release that meets a conflict is retried", "[controller][tracking]") {
  RunningCluster cluster;
  cluster.api.fail_next("PATCH", "/pods/", {Code::kConflict, "409 try again"});
  const std::string uid = kube::string_at(
      cluster.api.get(kube::kPods, kNamespace, "dqn-coordinator"), {"metadata", "uid"});
  const Actions release = {ReleasePods{{{"dqn-coordinator", uid}}}};
  CHECK(cluster.controller->performer.perform(cluster.job(), release).has_value());
  CHECK(cluster.controller->stores.pods.get("rl/dqn-coordinator") != nullptr);
  CHECK_FALSE(cluster.controller->performer.perform(cluster.job(), release).has_value());
  const Json pod = cluster.api.get(kube::kPods, kNamespace, "dqn-coordinator");
  CHECK(kube::array_at(pod, {"metadata", "finalizers"}).empty());
}

TEST_CASE("the job's own aggregator is not tracked: nothing is counted of it when it is deleted",
          "[controller][tracking]") {
  World world(a_job(1, 0));
  world.add_aggregator_config();
  world.make_gang();
  for (const auto& pod : world.seen.pods) {
    CHECK(pod->has_finalizer == (pod->meta.name != "dqn-aggregator"));
  }
}

}  // namespace
}  // namespace nervex::controller
