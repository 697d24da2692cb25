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
  auto other = a_queue("other");
  other.namespace_selector = {};  // all namespaces
  c.set_queue(nullptr, other);
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

Json owned_by(const std::string& uid) {
  return {
      {"metadata",
       {{"ownerReferences", Json::array({kube::encode_controller_ref(
                                {"nervex.sensetime.com/v1alpha1", "NerveXJob", "job", uid})})}}}};
}

// What any user who may create pods can create.
void add_forged_pod(LimitedCluster& c, const gang::PodSlot& slot, int gpus,
                    const std::string& queue = "team", const std::string& node = "n1") {
  auto annotations = gang::annotations_for(slot);
  if (!queue.empty()) annotations.emplace(gang::kQueueAnnotation, queue);
  c.add_pod({.name = "forged", .requests = ask(gpus), .node = node, .annotations = annotations});
}

TEST_CASE("a pod cannot count in a queue that does not select its namespace",
          "[extender][orphaned][marks]") {
  LimitedCluster c;
  auto vision = testing::with_limit(a_queue("vision"), 4);
  vision.namespace_selector.requirements = {
      {"team", kube::LabelRequirement::Operator::kIn, {"vision"}}};
  c.set_queue(nullptr, vision);
  add_forged_pod(c, {"no-such-uid", "collector", {0, 0}, 1}, 4, "vision");
  c.see();
  const auto orphaned = c.snapshot().facts.orphaned;
  REQUIRE(orphaned.size() == 1);
  CHECK(orphaned[0].queue == "team");
}

TEST_CASE("an invented amount counts up to what the node has", "[extender][orphaned][marks]") {
  LimitedCluster c;
  SECTION("of a node") {
    add_forged_pod(c, {"no-such-uid", "collector", {0, 0}, 1}, 1'000'004);
    c.see();
    const auto orphaned = c.snapshot().facts.orphaned;
    REQUIRE(orphaned.size() == 1);
    CHECK(orphaned[0].requests.get(testing::kGpu) == 8);
  }
  SECTION("of a node that does not exist") {
    add_forged_pod(c, {"no-such-uid", "collector", {0, 0}, 1}, 1'000'004, "team", "invented");
    CHECK(c.reason_of_next() == "Planned");
  }
  SECTION("in another operator's gang") {
    c.add_foreign_group();
    c.add_foreign_pod();
    c.api.change(
        kube::kPods, kNs, "foreign-0",
        {{"spec",
          {{"containers",
            Json::array({{{"name", "main"},
                          {"resources", {{"requests", {{"nvidia.com/gpu", "1000004"}}}}}}})}}}});
    c.see();
    c.see_foreign_groups();
    REQUIRE(c.snapshot().foreign.size() == 1);
    CHECK(c.snapshot().foreign[0].bound_requests.get(testing::kGpu) == 8);
  }
}

TEST_CASE("a finished pod of another owner does not hide a slot from the limit",
          "[extender][orphaned][marks]") {
  LimitedCluster c;
  c.add_group("job", {a_set("learner", 1, ask(4))});
  const std::string pod = c.plan_and_add_pods("job").at(0);
  c.api.change(kube::kPodGroups, kNs, "job", owned_by("job-uid"));
  c.api.change(kube::kPods, kNs, pod, owned_by("job-uid"));
  const gang::PodGroup group = c.group("job");
  const gang::Placement& placement = group.status.gangs.at(0).placements.at(0);
  add_forged_pod(c, {group.meta.uid, placement.role, placement.slot, placement.number}, 0);
  SECTION("without an owner") {}
  SECTION("of another job") { c.api.change(kube::kPods, kNs, "forged", owned_by("other-job-uid")); }
  c.api.change(kube::kPods, kNs, "forged", {{"status", {{"phase", "Succeeded"}}}});
  CHECK(c.reason_of_next() == "LimitExceeded");
}

TEST_CASE("after delete --cascade=orphan pods count with their PodGroup or beside it",
          "[extender][orphaned][marks]") {
  LimitedCluster c;
  const std::string pod = c.run("job", 4);
  const Json no_owner = {{"metadata", {{"ownerReferences", nullptr}}}};
  c.api.change(kube::kPodGroups, kNs, "job", owned_by("job-uid"));
  c.api.change(kube::kPods, kNs, pod, owned_by("job-uid"));
  CHECK(c.reason_of_next() == "LimitExceeded");
  c.api.change(kube::kPods, kNs, pod, no_owner);
  CHECK(c.reason_of_next() == "LimitExceeded");
  c.api.change(kube::kPodGroups, kNs, "job", no_owner);
  CHECK(c.reason_of_next() == "LimitExceeded");
  CHECK(c.snapshot().facts.orphaned.empty());
  c.api.remove(kube::kPodGroups, kNs, "job");
  CHECK(c.reason_of_next() == "LimitExceeded");
}

TEST_CASE("a PodGroup of another operator with our UID as its name accounts for none of our pods",
          "[extender][orphaned][marks]") {
  LimitedCluster c;
  c.run("job", 4);
  const std::string uid = c.group("job").meta.uid;
  c.api.remove(kube::kPodGroups, kNs, "job");
  REQUIRE(c.reason_of_next() == "LimitExceeded");
  c.api.add(kube::kForeignPodGroups, kNs,
            {{"apiVersion", "scheduling.x-k8s.io/v1alpha1"},
             {"kind", "PodGroup"},
             {"metadata", {{"name", uid}, {"namespace", kNs}}},
             {"spec", {{"minMember", 1}}}});
  c.see_foreign_groups();
  CHECK(c.reason_of_next() == "LimitExceeded");
}

TEST_CASE("a pod that was taken from its job counts, and its successor starts within the limit",
          "[extender][orphaned][marks][healing]") {
  LimitedCluster c;
  const auto pods = c.run_all("job", 2, 2);
  const std::string& pod = pods.at(1);
  c.api.change(kube::kPodGroups, kNs, "job", owned_by("job-uid"));
  for (const std::string& one : pods) c.api.change(kube::kPods, kNs, one, owned_by("job-uid"));
  c.see();
  c.api.change(kube::kPods, kNs, pod, {{"metadata", {{"ownerReferences", nullptr}}}});
  auto members = std::vector{testing::Member(a_set("learner", 2, ask(2)))};
  members[0].slots[1].incarnation = 1;  // the controller misses it
  c.set_members("job", members);
  c.see();
  c.planner.schedule_once();
  c.see();
  const auto placed = [&] { return c.group("job").status.gangs.at(0).placements.size(); };
  CHECK(placed() == 1);
  CHECK(kube::to_text(c.api.get(kube::kPodGroups, kNs, "job")).find("LimitExceeded") !=
        std::string::npos);
  c.api.remove(kube::kPods, kNs, pod);
  c.see();
  c.planner.schedule_once();
  c.see();
  CHECK(placed() == 2);
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
