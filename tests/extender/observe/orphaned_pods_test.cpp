// Pods that outlive their placement use capacity of their queue until they end.
#include "extender/observe/parts/orphaned_pods.h"

#include <catch2/catch_test_macros.hpp>

#include "tests/extender/cluster.h"
#include "tests/queue/builders.h"

namespace nervex::extender {
namespace {

using testing::a_queue;
using testing::a_set;
using testing::ask;
using testing::ExtenderCluster;
using testing::kNs;
using testing::with_limit;

// A node with 8 GPUs. Queue "team" has a limit of 4 of them, and the namespace is its.
struct Limited : ExtenderCluster {
  kube::Store<kube::ForeignPodGroup> foreign_groups;

  Limited() {
    add_node("n1", 8);
    const auto team = std::make_shared<const queue::Queue>(with_limit(a_queue("team"), 4));
    cache.updates.queue_changed(nullptr, team);
    auto ns = std::make_shared<kube::Namespace>();
    ns->meta.name = kNs;
    ns->meta.labels = {{queue::kQueueLabel, "team"}};
    cache.updates.namespace_changed(nullptr, ns);
  }
  // A gang of one pod, which is bound. Its PodGroup says so.
  std::string run(const std::string& name, int gpus) {
    add_group(name, {a_set("learner", 1, ask(gpus))});
    std::string pod = plan_and_add_pods(name).at(0);
    REQUIRE(bind(pod, "n1").empty());
    see();
    return pod;
  }
  void add_foreign_pod() {
    api.add(kube::kPods, kNs,
            {{"apiVersion", "v1"},
             {"kind", "Pod"},
             {"metadata",
              {{"name", "foreign-0"},
               {"namespace", kNs},
               {"labels", {{kube::kForeignGroupLabel, "foreign"}}}}},
             {"spec",
              {{"schedulerName", "nervex-scheduler"},
               {"nodeName", "n1"},
               {"containers",
                Json::array({{{"name", "main"},
                              {"resources", {{"requests", {{"nvidia.com/gpu", "4"}}}}}}})}}}});
  }
  void see_foreign_groups() {
    const auto sink = foreign_group_sink(foreign_groups, cache.updates, holds, planner);
    sink.begin_list();
    for (const Json& one : api.list(kube::kForeignPodGroups)) (void)sink.upsert(kube::to_text(one));
    sink.end_list(std::to_string(api.resource_version()));
  }
  // Why a gang of so many GPUs waits.
  std::string reason_of_next(int gpus = 4) {
    if (api.get(kube::kPodGroups, kNs, "next").is_null()) {
      add_group("next", {a_set("learner", 1, ask(gpus))});
    }
    see();
    planner.schedule_once();
    see();
    return group("next").status.gangs.at(0).reason;
  }
};

TEST_CASE("pods of a deleted PodGroup use the limit of their queue until they end",
          "[extender][orphaned]") {
  Limited c;
  const std::string pod = c.run("done", 4);
  REQUIRE(c.reason_of_next() == "LimitExceeded");
  c.api.remove(kube::kPodGroups, kNs, "done");
  CHECK(c.reason_of_next() == "LimitExceeded");
  SECTION("the pod is deleted") { c.api.remove(kube::kPods, kNs, pod); }
  SECTION("the pod has finished") { c.end_pod(pod, true); }
  CHECK(c.reason_of_next() == "Planned");
}

TEST_CASE("the pod says in which queue its deleted gang counts", "[extender][orphaned]") {
  Limited c;
  c.cache.updates.queue_changed(nullptr, std::make_shared<const queue::Queue>(a_queue("other")));
  const std::string pod = c.run("done", 4);
  c.api.change(kube::kPods, kNs, pod,
               {{"metadata", {{"annotations", {{gang::kQueueAnnotation, "other"}}}}}});
  c.api.remove(kube::kPodGroups, kNs, "done");
  CHECK(c.reason_of_next() == "Planned");
}

TEST_CASE("a PodGroup that is being deleted uses what its pods still occupy",
          "[extender][orphaned]") {
  Limited c;
  const std::string pod = c.run("done", 4);
  c.api.change(kube::kPodGroups, kNs, "done",
               {{"metadata", {{"deletionTimestamp", "2026-11-26T10:00:00Z"}}}});
  CHECK(c.reason_of_next() == "LimitExceeded");
  c.api.remove(kube::kPods, kNs, pod);
  CHECK(c.reason_of_next() == "Planned");
}

TEST_CASE("pods whose PodGroup is scaled down use the limit of their queue until they end",
          "[extender][orphaned]") {
  Limited c;
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
  Limited c;
  c.add_foreign_pod();
  SECTION("it never existed") { c.see_foreign_groups(); }
  SECTION("it was deleted") {
    c.api.add(kube::kForeignPodGroups, kNs,
              {{"apiVersion", "scheduling.x-k8s.io/v1alpha1"},
               {"kind", "PodGroup"},
               {"metadata", {{"name", "foreign"}, {"namespace", kNs}}},
               {"spec", {{"minMember", 1}}}});
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
  Limited c;
  const std::string pod = c.run("done", 4);
  c.api.remove(kube::kPodGroups, kNs, "done");
  c.see();
  const auto bound = std::make_shared<const kube::Pod>(c.pod(pod));
  CHECK(c.cache.updates.pod_changed(bound, nullptr) == WatchUpdates::Look::kNow);
}

}  // namespace
}  // namespace nervex::extender
