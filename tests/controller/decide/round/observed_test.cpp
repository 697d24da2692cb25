#include "controller/decide/round/observed.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "job/pod_manifest.h"
#include "tests/controller/cluster.h"
#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using testing::ControllerCluster;

TEST_CASE("which fields of a service's spec are compared", "[controller][observed]") {
  const Json ours =
      job::service_manifest(testing::a_job(1, 0), job::Role::kCollector, {}, nullptr, {});
  Json theirs = ours;  // as the API server has it
  theirs["spec"]["clusterIPs"] = {"None"};
  theirs["spec"]["sessionAffinity"] = "None";
  CHECK(service_shape(theirs) == service_shape(ours));
  SECTION("the selector") { theirs["spec"]["selector"]["mine"] = "1"; }
  SECTION("the port") { theirs["spec"]["ports"][0]["port"] = 1; }
  SECTION("early addresses") { theirs["spec"]["publishNotReadyAddresses"] = false; }
  CHECK(service_shape(theirs) != service_shape(ours));
}

struct PriorityCluster : ControllerCluster {
  void add_class(const char* name, int value, bool is_default = false) {
    api.add(kube::kPriorityClasses, "",
            {{"metadata", {{"name", name}}}, {"value", value}, {"globalDefault", is_default}});
  }
  void create_job_with_priority(const char* priority_class) {
    create_job(1, 0);
    change_spec({{"priorityClassName", priority_class}});
    settle();
  }
  int priority() const {
    return gang::decode_pod_group(api.get(kube::kPodGroups, "rl", "dqn-1"))->spec.priority;
  }
};

TEST_CASE("the PodGroup has the value of the job's PriorityClass", "[controller][priority]") {
  PriorityCluster cluster;
  cluster.add_class("urgent", 1000);
  cluster.create_job_with_priority("urgent");
  CHECK(cluster.priority() == 1000);
  CHECK(cluster.settle() == 0);
}

TEST_CASE("a job whose PriorityClass does not exist waits for it, and says so",
          "[controller][priority]") {
  PriorityCluster cluster;
  cluster.create_job_with_priority("urgnet");
  CHECK(cluster.names(kube::kPodGroups).empty());
  CHECK(cluster.job().status.reason == "PriorityClassMissing");
  const auto waiting = cluster.job();
  const auto* scheduled = find_condition(waiting.status, "Scheduled");
  REQUIRE(scheduled != nullptr);
  CHECK_FALSE(scheduled->status);
  CHECK(scheduled->message ==
        "PriorityClass \"urgnet\", named by spec.priorityClassName, does not exist: create it, and "
        "the job starts, or create the job again with another priorityClassName");
  CHECK(cluster.settle() == 0);  // and does nothing else meanwhile
  cluster.add_class("urgnet", 7);
  cluster.settle();
  CHECK(cluster.priority() == 7);
  CHECK(cluster.job().status.reason == "Queued");
}

TEST_CASE("a PodGroup keeps its priority without its PriorityClass, and follows a new one",
          "[controller][priority]") {
  PriorityCluster cluster;
  cluster.add_class("urgent", 1000);
  cluster.create_job_with_priority("urgent");
  cluster.plan();
  cluster.api.remove(kube::kPriorityClasses, "", "urgent");
  CHECK(cluster.settle() >= 0);
  CHECK(cluster.priority() == 1000);
  cluster.add_class("urgent", 5);
  CHECK(cluster.settle() >= 0);
  CHECK(cluster.priority() == 5);
}

TEST_CASE("a running job continues when its PriorityClass is deleted", "[controller][priority]") {
  PriorityCluster cluster;
  cluster.add_class("urgent", 1000);
  cluster.create_job_with_priority("urgent");
  cluster.plan();
  cluster.settle();
  cluster.run_pods();
  cluster.settle();
  cluster.api.remove(kube::kPriorityClasses, "", "urgent");
  CHECK(cluster.settle() >= 0);
  CHECK(cluster.job().status.phase == job::Phase::kRunning);
  CHECK(cluster.job().status.reason == "Running");
  CHECK(cluster.names(kube::kPods).size() == 2);
}

}  // namespace
}  // namespace nervex::controller
