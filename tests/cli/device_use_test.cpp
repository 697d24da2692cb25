#include "cli/top/device_use.h"

#include <catch2/catch_test_macros.hpp>

#include "tests/support/job_snapshots.h"

namespace nervex::cli {
namespace {

constexpr const char* kGpu = "nvidia.com/gpu";

kube::Node a_gpu_node(const std::string& name, std::int64_t gpus) {
  kube::Node node;
  node.name = name;
  node.ready = true;
  node.allocatable = {{"cpu", 8000}, {kGpu, gpus}};
  return node;
}

kube::Pod a_gpu_pod(const std::string& node, std::int64_t gpus) {
  kube::Pod pod;
  pod.meta.ns = "rl";
  pod.node = node;
  pod.phase = kube::PodPhase::kRunning;
  pod.requests = {{"cpu", 100}, {kGpu, gpus}};
  return pod;
}

// Of rl: two learners of 4 GPUs, the first one placed.
gang::PodGroup a_gpu_group() {
  gang::PodGroup group = view::a_group();
  group.meta.ns = "rl";
  group.spec.gangs[0].members[1].shape.requests = {{"cpu", 100}, {kGpu, 4}};
  group.status.gangs = {view::a_planned_gang("base", {{"learner", {0, 0}, "a", 1}})};
  group.status.queue.name = "vision";
  return group;
}

TEST_CASE("accelerators are summed by node and namespace", "[cli][top]") {
  DeviceUse use;
  use.add_pod(a_gpu_pod("a", 3));  // before its node
  use.add_node(a_gpu_node("a", 8));
  use.add_node(a_gpu_node("b", 4));
  use.add_pod(a_gpu_pod("a", 2));
  use.add_pod(a_gpu_pod("", 4));  // has no node yet
  kube::Pod finished = a_gpu_pod("b", 4);
  finished.phase = kube::PodPhase::kSucceeded;
  use.add_pod(finished);
  use.add_group(a_gpu_group());
  CHECK(use.nodes() ==
        std::vector<DeviceUse::NodeRow>{{"a", kGpu, 8, 5, ""}, {"b", kGpu, 4, 0, ""}});
  CHECK(use.namespaces() == std::vector<DeviceUse::NamespaceRow>{{"rl", kGpu, 8, 4, 5}});
  CHECK(table(node_table(use, {}), "") ==
        "NODE  RESOURCE        CAPACITY  USED  FREE  STATE\n"
        "a     nvidia.com/gpu  8         5     3     Ready\n"
        "b     nvidia.com/gpu  4         0     4     Ready\n");
  CHECK(use.queues() == std::vector<DeviceUse::QueueRow>{{"vision", kGpu, 8, 4}});
  CHECK(table(queue_table(use), "") ==
        "QUEUE   RESOURCE        WANTED  PLACED  WAITING\n"
        "vision  nvidia.com/gpu  8       4       4\n");
  CHECK(table(namespace_table(use, {}), "") ==
        "NAMESPACE  RESOURCE        WANTED  PLACED  WAITING  USED\n"
        "rl         nvidia.com/gpu  8       4       4        5\n");
}

TEST_CASE("nodes without accelerators are left out, and closed ones marked", "[cli][top]") {
  DeviceUse use;
  kube::Node closed = a_gpu_node("a", 8);
  closed.unschedulable = true;
  kube::Node lost = a_gpu_node("b", 8);
  lost.ready = false;
  kube::Node plain = a_gpu_node("c", 0);
  for (const auto& node : {closed, lost, plain}) use.add_node(node);
  const auto rows = use.nodes();
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].state == "SchedulingDisabled");
  CHECK(rows[1].state == "NotReady");
}

TEST_CASE("without pods nothing is said to be used or free", "[cli][top]") {
  DeviceUse use;
  use.add_node(a_gpu_node("a", 8));
  use.add_group(a_gpu_group());
  const Json json = to_json(use, {.has_pods = false});
  CHECK(json.at("nodes") == Json::array({{{"node", "a"}, {"resource", kGpu}, {"capacity", 8}}}));
  CHECK(json.at("namespaces").at(0).at("waiting") == 4);
  CHECK_FALSE(json.at("namespaces").at(0).contains("used"));
}

}  // namespace
}  // namespace nervex::cli
