// Extended resources that no node lists, and that a DeviceClass backs: kube-scheduler allocates
// devices for them.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/extender/cluster.h"

namespace nervex::extender {
namespace {

using testing::a_set;
using testing::ask;
using testing::coordinator;
using testing::ExtenderCluster;
using testing::kNs;
using testing::Member;

constexpr const char* kExampleGpu = "example.com/gpu";
constexpr const char* kImplicit = "deviceclass.resource.kubernetes.io/gpu.example.com";

Member learners(int count, const std::string& resource, std::int64_t each = 1) {
  Member set = a_set("learner", count, ask(0));
  set.shape.requests.set(resource, each);
  return set;
}

struct Devices : ExtenderCluster {
  explicit Devices(Member set) {
    add_node("n1", 0, 4);
    add_node("n2", 0, 4);
    add_group("a", {coordinator(), std::move(set)});
    see();
  }
  void add_class(const Json& spec = {{"extendedResourceName", kExampleGpu}}) {
    api.add(kube::kDeviceClasses, "",
            {{"apiVersion", "resource.k8s.io/v1"},
             {"kind", "DeviceClass"},
             {"metadata", {{"name", "gpu.example.com"}}},
             {"spec", spec}});
    see_classes();
  }
  void see_classes() { device_class_feed->list(api.resource_version()); }
  // n1 has a device plugin for it.
  void list_on_n1(const char* amount) {
    api.change(kube::kNodes, "", "n1", {{"status", {{"allocatable", {{kExampleGpu, amount}}}}}});
    see();
  }
  void plan() {
    planner.schedule_once();
    see();
  }
  gang::GangStatus base() const { return group("a").status.gangs.at(0); }
};

TEST_CASE("a gang that asks for a resource of a DeviceClass is planned, and says who allocates it",
          "[extender][dra]") {
  const auto* resource = GENERATE(kExampleGpu, kImplicit);
  Devices c(learners(2, resource));
  c.plan();
  CHECK(c.planned_nodes("a") == "waits");
  CHECK(c.base().reason == "Unschedulable");
  c.add_class();
  c.plan();
  CHECK(c.planned_nodes("a") == "n1 n1 n1");
  CHECK(c.base().message ==
        "3 pods are placed; " + std::string(resource) +
            " is left to kube-scheduler, which allocates devices of a DeviceClass");
  // Filter and commit see it in the same way.
  const auto pods = c.add_gang_pods("a");
  c.see_pods();
  for (const std::string& pod : {pods.at(1), pods.at(2), pods.at(0)}) {
    CHECK(c.filter(pod, {"n1", "n2"}).node_names == std::vector<std::string>{"n1"});
    CHECK(c.bind(pod, "n1") == "");  // NOLINT: shows the message
    c.see();
  }
  CHECK(c.planned_nodes("a") == "n1 n1 n1!");
}

TEST_CASE("a resource is counted again when its DeviceClass is deleted", "[extender][dra]") {
  Devices c(learners(2, kExampleGpu));
  c.add_class();
  c.api.remove(kube::kDeviceClasses, "", "gpu.example.com");
  c.see_classes();
  c.plan();
  CHECK(c.planned_nodes("a") == "waits");
}

TEST_CASE("a DeviceClass backs no resource that it does not state", "[extender][dra]") {
  Devices c(learners(1, kExampleGpu));
  c.add_class(Json::object());
  c.plan();
  CHECK(c.planned_nodes("a") == "waits");
}

TEST_CASE("a node that lists a resource of a DeviceClass has as much as it lists",
          "[extender][dra]") {
  Devices c(learners(3, kExampleGpu));
  c.add_class();
  c.list_on_n1("2");
  c.plan();
  CHECK(c.planned_nodes("a") == "n2 n1 n1 n2");
  c.list_on_n1("3");
  c.add_group("b", {learners(2, kExampleGpu, 3)});
  c.see();
  c.plan();
  CHECK(c.planned_nodes("b") == "n2 n2");
}

TEST_CASE("a gang that asks for a resource of a DeviceClass is not placed directly",
          "[extender][dra][direct]") {
  Devices c(learners(2, kExampleGpu));
  c.add_class();
  c.api.change(kube::kPodGroups, kNs, "a", {{"spec", {{"placement", "Direct"}}}});
  c.see();
  c.plan();
  CHECK(c.planned_nodes("a") == "n1 n1 n1");  // planned, not committed
  CHECK(c.base().direct_through == 0);
}

TEST_CASE("a gang that does not fit says so without the resources left to kube-scheduler",
          "[extender][dra]") {
  Devices c(learners(9, kExampleGpu));
  c.add_class();
  c.plan();
  CHECK(c.base().message ==
        "learner: 1 of 9 can never fit: each needs cpu 1; the nodes have capacity for 8 even when "
        "empty");
}

}  // namespace
}  // namespace nervex::extender
