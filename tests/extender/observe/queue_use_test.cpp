// What counts as used in a queue, by the pods and Queues that the extender sees.
#include <catch2/catch_test_macros.hpp>

#include "tests/extender/limited_cluster.h"

namespace nervex::extender {
namespace {

using testing::a_queue;
using testing::a_set;
using testing::ask;
using testing::kGpu;
using testing::kNs;
using testing::LimitedCluster;
using testing::with_limit;

std::int64_t used_gpus(const planner::Snapshot& snapshot, std::string_view queue) {
  const queue::QueueTree& tree = snapshot.facts.tree();
  return snapshot.facts.settled->usage.rigid(testing::at(tree, queue)).total.get(kGpu);
}

TEST_CASE("a finished pod uses nothing of its queue", "[extender][use]") {
  LimitedCluster c;
  const auto pods = c.run_all("half", 2, 2);
  REQUIRE(used_gpus(c.snapshot(), "team") == 4);
  REQUIRE(c.reason_of_next(2) == "LimitExceeded");
  c.end_pod(pods.at(0), true);
  c.see();
  CHECK(used_gpus(c.snapshot(), "team") == 2);
  CHECK(c.reason_of_next(2) == "Planned");
}

TEST_CASE("a pod that the cluster has stopped keeps its share for its successor",
          "[extender][use]") {
  LimitedCluster c;
  const std::string pod = c.run("job", 4);
  c.evict_pod(pod);
  CHECK(c.reason_of_next(4) == "LimitExceeded");
}

TEST_CASE("a pod that was resized in place counts with what it requests now", "[extender][use]") {
  LimitedCluster c;
  const std::string pod = c.run("job", 2);
  c.api.change(kube::kPods, kNs, pod, {{"status", {{"phase", "Running"}}}});
  const auto resize = [&](const char* gpus) {
    c.api.change(
        kube::kPods, kNs, pod,
        {{"spec",
          {{"containers",
            Json::array({{{"name", "main"},
                          {"resources", {{"requests", {{"nvidia.com/gpu", gpus}}}}}}})}}}});
    c.see();
  };
  resize("3");
  CHECK(used_gpus(c.snapshot(), "team") == 3);
  CHECK(c.reason_of_next(2) == "LimitExceeded");
  resize("1");  // the next pod of the slot has what is planned
  CHECK(used_gpus(c.snapshot(), "team") == 2);
  CHECK(c.reason_of_next(2) == "Planned");
}

TEST_CASE("a slot whose last pod is being deleted counts once", "[extender][use]") {
  LimitedCluster c;
  const std::string pod = c.run("job", 2);
  c.api.change(kube::kPods, kNs, pod,
               {{"metadata", {{"deletionTimestamp", "2026-11-26T10:00:00Z"}}}});
  auto members = std::vector{testing::Member(a_set("learner", 1, ask(2)))};
  members[0].slots[0].incarnation = 1;
  c.set_members("job", members);
  c.see();
  c.planner.schedule_once();
  CHECK(c.reason_of_next(2) == "Planned");
  CHECK(c.group("job").status.gangs.at(0).placements.at(0).slot.incarnation == 1);
}

TEST_CASE("pods of another operator's gang use the limit until they are gone", "[extender][use]") {
  LimitedCluster c;
  c.add_foreign_group();
  c.add_foreign_pod();
  c.see();
  c.see_foreign_groups();
  REQUIRE(c.reason_of_next() == "LimitExceeded");
  c.api.change(kube::kPods, kNs, "foreign-0",
               {{"metadata", {{"deletionTimestamp", "2026-11-26T10:00:00Z"}}}});
  CHECK(c.reason_of_next() == "LimitExceeded");
  c.api.remove(kube::kPods, kNs, "foreign-0");
  CHECK(c.reason_of_next() == "Planned");
}

TEST_CASE("what runs in a renamed queue counts in the queue of its namespace", "[extender][use]") {
  LimitedCluster c;
  c.run("job", 4);
  c.remove_queue("team");
  c.set_queue(nullptr, with_limit(a_queue("renamed"), 4));
  c.set_namespace_queue("renamed");
  CHECK(used_gpus(c.snapshot(), "renamed") == 4);
  CHECK(c.reason_of_next() == "LimitExceeded");
  CHECK(c.group("job").status.queue.name == "team");
}

TEST_CASE("what runs in a deleted queue counts in the first of its former parents that exists",
          "[extender][use]") {
  LimitedCluster c;
  c.set_queue(nullptr, with_limit(a_queue("department"), 4));
  c.set_queue(nullptr, a_queue("group", "department"));
  c.remove_queue("team");
  c.set_queue(nullptr, a_queue("team", "group"));
  c.set_queue(nullptr, a_queue("other", "department"));
  const std::string pod = c.run("job", 4);
  REQUIRE(c.group("job").status.queue.parents == std::vector<std::string>{"group", "department"});
  c.remove_queue("team");
  c.remove_queue("group");
  c.set_namespace_queue("team");  // as long as it names the deleted one
  CHECK(used_gpus(c.snapshot(), "department") == 4);
  c.set_namespace_queue("");
  CHECK(used_gpus(c.snapshot(), "department") == 4);
  c.set_namespace_queue("other");
  CHECK(c.reason_of_next() == "LimitExceeded");
  c.api.remove(kube::kPods, kNs, pod);
  c.api.remove(kube::kPodGroups, kNs, "job");
  CHECK(c.reason_of_next() == "Planned");
}

TEST_CASE("pods of a deleted PodGroup and a deleted queue count in the queue of their namespace",
          "[extender][use]") {
  LimitedCluster c;
  c.api.change(kube::kPods, kNs, c.run("job", 4),
               {{"metadata", {{"annotations", {{gang::kQueueAnnotation, "team"}}}}}});
  c.api.remove(kube::kPodGroups, kNs, "job");
  c.remove_queue("team");
  c.set_queue(nullptr, with_limit(a_queue("renamed"), 4));
  c.set_namespace_queue("renamed");
  CHECK(c.reason_of_next() == "LimitExceeded");
}

TEST_CASE("a slot whose pod has finished needs quota again when it wants another pod",
          "[extender][use]") {
  LimitedCluster c;
  const std::string pod = c.run("job", 2);
  c.api.add(kube::kResourceQuotas, kNs,
            {{"apiVersion", "v1"},
             {"kind", "ResourceQuota"},
             {"metadata", {{"name", "most"}, {"namespace", kNs}}},
             {"status",
              {{"hard", {{"requests.nvidia.com/gpu", "4"}}},
               {"used", {{"requests.nvidia.com/gpu", "4"}}}}}});
  c.end_pod(pod, false);
  c.see();
  REQUIRE(c.snapshot().groups.at(0).without_pod.empty());
  auto members = std::vector{testing::Member(a_set("learner", 1, ask(2)))};
  members[0].slots[0].incarnation = 1;
  c.set_members("job", members);
  c.see();
  CHECK(c.snapshot().groups.at(0).without_pod.size() == 1);
}

}  // namespace
}  // namespace nervex::extender
