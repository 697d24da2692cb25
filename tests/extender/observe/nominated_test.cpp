// Pods that are nominated for a node (status.nominatedNodeName) count there, for any scheduler.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/extender/cluster.h"

namespace nervex::extender {
namespace {

using testing::a_set;
using testing::ask;
using testing::ExtenderCluster;
using testing::kNs;

struct NominatedPods : ExtenderCluster {
  explicit NominatedPods(int count = 1) {
    for (int i = 1; i <= count; ++i) add_node("n" + std::to_string(i), 8);
  }
  // As kube-scheduler does when it preempts others for it.
  void nominate(const std::string& name, int priority, const Json& node) {
    if (api.get(kube::kPods, kNs, name).is_null()) add_plain_pod(name, ask(8));
    api.change(kube::kPods, kNs, name,
               {{"spec", {{"priority", priority}, {"schedulerName", "default-scheduler"}}},
                {"status", {{"nominatedNodeName", node}}}});
  }
  void add_learner(const std::string& name, int priority) {
    add_group(name, {a_set("learner", 1, ask(8))}, 0, priority);
  }
  WatchUpdates::Look look(const kube::PodPtr& before, const kube::PodPtr& after) {
    return cache.updates.pod_changed(before, after);
  }
  kube::PodPtr pod_ptr(const std::string& name) const {
    return std::make_shared<const kube::Pod>(pod(name));
  }
};

TEST_CASE("a nominated pod keeps its node from gangs of the same or a lower priority",
          "[extender][nominated]") {
  struct Row {
    std::string when;
    int priority;  // of the gang; the pod has 5
    std::string want;
  };
  const auto row = GENERATE(values<Row>({
      {"the gang has a lower priority", 0, "waits"},
      {"it has the same", 5, "waits"},
      {"it has a higher one", 6, "n1"},
  }));
  INFO("when " << row.when);
  NominatedPods c;
  c.nominate("urgent", 5, "n1");
  c.add_learner("a", row.priority);
  c.see();
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == row.want);
}

TEST_CASE("each gang sees the nominated pods that count for its own priority",
          "[extender][nominated]") {
  NominatedPods c(2);
  c.nominate("urgent", 5, "n1");
  c.add_learner("low", 0);
  c.add_learner("high", 9);
  c.see();
  c.planner.schedule_once();
  CHECK(c.planned_nodes("high") == "n1");
  CHECK(c.planned_nodes("low") == "n2");
}

TEST_CASE("a plan that is not committed leaves a node for which a pod is nominated",
          "[extender][nominated]") {
  NominatedPods c(2);
  c.add_learner("a", 0);
  c.see();
  c.planner.schedule_once();
  REQUIRE(c.planned_nodes("a") == "n1");
  const auto names = c.add_gang_pods("a");
  c.see();
  SECTION("it is not committed any more") {
    c.nominate("urgent", 5, "n1");
    c.see_pods();
    CHECK_FALSE(c.bind(names[0], "n1").empty());
    CHECK(c.bound_node(names[0]).empty());
    c.planner.schedule_once();
    CHECK(c.planned_nodes("a") == "n2");
  }
  SECTION("but for a pod of lower priority") {
    c.nominate("urgent", -1, "n1");
    c.see_pods();
    CHECK(c.bind(names[0], "n1").empty());
  }
  SECTION("the nomination wakes the planner") {
    c.add_plain_pod("urgent", ask(8));
    const kube::PodPtr before = c.pod_ptr("urgent");
    c.look(nullptr, before);
    c.nominate("urgent", 5, "n1");
    CHECK(c.look(before, c.pod_ptr("urgent")) == WatchUpdates::Look::kNow);
  }
}

TEST_CASE("a gang that waits gets what a nominated pod does not take", "[extender][nominated]") {
  NominatedPods c;
  c.nominate("urgent", 5, "n1");
  c.add_learner("a", 0);
  c.see();
  c.planner.schedule_once();
  REQUIRE(c.planned_nodes("a") == "waits");
  const auto planned = c.planner.gangs_planned();
  const kube::PodPtr before = c.pod_ptr("urgent");
  SECTION("it is nominated for no node any more") {
    c.nominate("urgent", 5, nullptr);
    CHECK(c.look(before, c.pod_ptr("urgent")) == WatchUpdates::Look::kAtCapacity);
    CHECK(c.planner.schedule_at_capacity());
    CHECK(c.planned_nodes("a") == "n1");
  }
  SECTION("it is deleted") {
    c.look(before, nullptr);
    CHECK(c.planner.schedule_at_capacity());
    CHECK(c.planned_nodes("a") == "n1");
  }
  SECTION("it is bound: nothing is gained") {
    c.api.change(kube::kPods, kNs, "urgent", {{"spec", {{"nodeName", "n1"}}}});
    c.look(before, c.pod_ptr("urgent"));
    CHECK_FALSE(c.planner.schedule_at_capacity());
    CHECK(c.planner.gangs_planned() == planned);
  }
}

TEST_CASE("the successor of a preempted pod does not take the place of the preemptor",
          "[extender][nominated]") {
  NominatedPods c;
  c.add_learner("a", 0);
  const auto names = c.plan_and_add_pods("a");
  REQUIRE(c.bind(names[0], "n1").empty());
  c.see();
  c.nominate("urgent", 5, "n1");
  c.api.remove(kube::kPods, kNs, names[0]);
  auto set = a_set("learner", 1, ask(8));
  set.slots = {{0, 1}};
  c.set_members("a", {set});
  c.see();
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == "waits!");
}

}  // namespace
}  // namespace nervex::extender
