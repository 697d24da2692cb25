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

std::shared_ptr<const PriorityClass> a_class(const char* name, int value, bool is_default = false) {
  PriorityClass one;
  one.meta.name = name;
  one.value = value;
  one.is_global_default = is_default;
  return std::make_shared<const PriorityClass>(one);
}

Json a_template_with_priority(const char* priority_class) {
  return {{"spec", {{"priorityClassName", priority_class}}}};
}

TEST_CASE("a PriorityClass is read as the API server writes it", "[controller][priority]") {
  const auto urgent = decode_priority_class(
      R"({"metadata":{"name":"urgent"},"value":1000,"globalDefault":true,"description":"x"})");
  REQUIRE(urgent);
  CHECK(urgent->meta.name == "urgent");
  CHECK(urgent->value == 1000);
  CHECK(urgent->is_global_default);
  const auto below = decode_priority_class(R"({"metadata":{"name":"below"},"value":-5})");
  REQUIRE(below);
  CHECK(below->value == -5);
  CHECK_FALSE(below->is_global_default);
  CHECK_FALSE(decode_priority_class("{"));
}

TEST_CASE("a job's priority is what the API server would give its coordinator",
          "[controller][priority]") {
  struct Row {
    const char* when;
    const char* of_job;
    const char* of_coordinator;
    const char* of_collector;
    PriorityClasses classes;
    int value;
    const char* missing;
    const char* named_by;
  };
  const PriorityClasses two = {a_class("high", 100), a_class("low", -10)};
  const PriorityClasses defaults = {a_class("a", 30, true), a_class("b", 20, true),
                                    a_class("high", 100)};
  const char* const in_coordinator = "spec.coordinator.template.spec.priorityClassName";
  const char* const in_collector = "spec.collector.template.spec.priorityClassName";
  const Row row = GENERATE_COPY(
      Row{"nothing is named, and there is no default", "", "", "", two, 0, "", ""},
      Row{"nothing is named: the lowest default", "", "", "", defaults, 20, "", ""},
      Row{"the job names one", "high", "", "", two, 100, "", ""},
      Row{"the job's comes before the templates'", "low", "high", "gone", two, -10, "", ""},
      Row{"the coordinator's template names one", "", "high", "", two, 100, "", ""},
      Row{"another template's is not the job's", "", "", "high", two, 0, "", ""},
      Row{"the job's does not exist", "gone", "", "", defaults, 20, "gone",
          "spec.priorityClassName"},
      Row{"the coordinator's does not exist", "", "gone", "", two, 0, "gone", in_coordinator},
      Row{"a collector's does not exist", "", "high", "gone", two, 100, "gone", in_collector});
  INFO("when " << row.when);
  job::Spec spec;
  spec.priority_class_name = row.of_job;
  spec.coordinator_template = a_template_with_priority(row.of_coordinator);
  spec.collector.emplace();
  spec.collector->pod_template = a_template_with_priority(row.of_collector);
  const Priority got = resolve_priority(spec, Json(), row.classes);
  CHECK(got == Priority{row.value, row.missing, row.named_by});
}

TEST_CASE("the AggregatorConfig's template is used like the others", "[controller][priority]") {
  job::Spec spec;
  CHECK(resolve_priority(spec, a_template_with_priority("gone"), {}).missing == "gone");
  spec.priority_class_name = "high";  // which every pod gets
  CHECK(resolve_priority(spec, a_template_with_priority("gone"), {a_class("high", 1)})
            .missing.empty());
}

struct PriorityCluster : ControllerCluster {
  void add_class(const char* name, int value, bool is_default = false) {
    api.add(kPriorityClasses, "",
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
  cluster.api.remove(kPriorityClasses, "", "urgent");
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
  cluster.api.remove(kPriorityClasses, "", "urgent");
  CHECK(cluster.settle() >= 0);
  CHECK(cluster.job().status.phase == job::Phase::kRunning);
  CHECK(cluster.job().status.reason == "Running");
  CHECK(cluster.names(kube::kPods).size() == 2);
}

}  // namespace
}  // namespace nervex::controller
