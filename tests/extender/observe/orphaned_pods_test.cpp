// Pods that outlive their slot use capacity of their queue until they end.
#include "extender/observe/parts/orphaned_pods.h"

#include <catch2/catch_test_macros.hpp>

#include "tests/extender/limited_cluster.h"

namespace nervex::extender {
namespace {

using testing::a_queue;
using testing::a_set;
using testing::ask;
using testing::kNs;
using testing::LimitedCluster;

TEST_CASE("pods of a deleted PodGroup use the limit of their queue until they end",
          "[extender][orphaned]") {
  LimitedCluster c;
  const std::string pod = c.run("done", 4);
  REQUIRE(c.reason_of_next() == "LimitExceeded");
  c.api.remove(kube::kPodGroups, kNs, "done");
  CHECK(c.reason_of_next() == "LimitExceeded");
  SECTION("the pod is deleted") { c.api.remove(kube::kPods, kNs, pod); }
  SECTION("the pod has finished") { c.end_pod(pod, true); }
  CHECK(c.reason_of_next() == "Planned");
}

TEST_CASE("the pod says in which queue its deleted gang counts", "[extender][orphaned]") {
  LimitedCluster c;
  c.cache.updates.queue_changed(nullptr, std::make_shared<const queue::Queue>(a_queue("other")));
  const std::string pod = c.run("done", 4);
  c.api.change(kube::kPods, kNs, pod,
               {{"metadata", {{"annotations", {{gang::kQueueAnnotation, "other"}}}}}});
  c.api.remove(kube::kPodGroups, kNs, "done");
  CHECK(c.reason_of_next() == "Planned");
}

TEST_CASE("a PodGroup that is being deleted uses what its pods still occupy",
          "[extender][orphaned]") {
  LimitedCluster c;
  const std::string pod = c.run("done", 4);
  c.api.change(kube::kPodGroups, kNs, "done",
               {{"metadata", {{"deletionTimestamp", "2026-11-26T10:00:00Z"}}}});
  CHECK(c.reason_of_next() == "LimitExceeded");
  c.api.remove(kube::kPods, kNs, pod);
  CHECK(c.reason_of_next() == "Planned");
}

TEST_CASE("pods whose PodGroup is scaled down use the limit of their queue until they end",
          "[extender][orphaned]") {
  LimitedCluster c;
  c.add_group("scaled", {a_set("collector", 2, ask(2))});
  const std::vector<std::string> pods = c.plan_and_add_pods("scaled");
  for (const std::string& pod : pods) REQUIRE(c.bind(pod, "n1").empty());
  c.see();
  c.set_members("scaled", {a_set("collector", 1, ask(2))});
  c.see();
  c.planner.schedule_once();
  REQUIRE(c.group("scaled").status.gangs.at(0).placements.size() == 1);
  CHECK(c.reason_of_next(2) == "LimitExceeded");
  c.api.remove(kube::kPods, kNs, pods.at(1));
  CHECK(c.reason_of_next(2) == "Planned");
}

TEST_CASE("pods of another operator's deleted PodGroup use the limit of their queue",
          "[extender][orphaned]") {
  LimitedCluster c;
  c.add_foreign_pod();
  SECTION("it never existed") { c.see_foreign_groups(); }
  SECTION("it was deleted") {
    c.add_foreign_group();
    c.see_foreign_groups();
    REQUIRE(c.reason_of_next() == "LimitExceeded");
    c.api.remove(kube::kForeignPodGroups, kNs, "foreign");
    c.see_foreign_groups();
  }
  CHECK(c.reason_of_next() == "LimitExceeded");
  c.api.remove(kube::kPods, kNs, "foreign-0");
  CHECK(c.reason_of_next() == "Planned");
}

TEST_CASE("the end of an orphaned pod wakes the planner where there are queues",
          "[extender][orphaned]") {
  LimitedCluster c;
  const std::string pod = c.run("done", 4);
  c.api.remove(kube::kPodGroups, kNs, "done");
  c.see();
  const auto bound = std::make_shared<const kube::Pod>(c.pod(pod));
  CHECK(c.cache.updates.pod_changed(bound, nullptr) == WatchUpdates::Look::kNow);
}

}  // namespace
}  // namespace nervex::extender
