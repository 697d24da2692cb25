#include "queue/slot_use.h"

#include <catch2/catch_test_macros.hpp>

#include <string>

#include "queue/workload.h"
#include "tests/support/gang_builders.h"

namespace nervex::queue {
namespace {

using testing::a_group;
using testing::a_set;
using testing::ask;
using testing::planned;

const kube::Resources kPlan{{"cpu", 1000}, {"memory", 8}};

TEST_CASE("a slot uses the larger of its plan and its pods, until both are over",
          "[queue][slot-use]") {
  OtherUse use{"learner", {0, 1}};
  CHECK(count_slot(kPlan, nullptr) == kPlan);
  use.pods = {{"n1", {{"cpu", 2000}, {"memory", 4}}}};
  CHECK(count_slot(kPlan, &use) == kube::Resources{{"cpu", 2000}, {"memory", 8}});
  use.is_over = true;  // a pod of an earlier incarnation is being deleted
  CHECK(count_slot(kPlan, &use) == kube::Resources{{"cpu", 2000}, {"memory", 4}});
  CHECK(count_pods(use) == kube::Resources{{"cpu", 2000}, {"memory", 4}});
  use.pods.clear();
  CHECK(count_slot(kPlan, &use).empty());
}

TEST_CASE("a slot counts once in a class, and in each class where it has a pod",
          "[queue][slot-use]") {
  const FindClass find_class = [](std::string_view node) { return node.substr(0, 1); };
  const kube::Resources large{{"cpu", 2000}};
  const kube::Resources small{{"cpu", 1000}};
  OtherUse use{"learner", {0, 1}};
  use.pods = {{"a1", large}};
  ClassRequests classes;
  SECTION("on another node of its class") {
    count_slot(classes, small, &use, "a2", find_class);
    CHECK(classes == ClassRequests{{"a", large}});
  }
  SECTION("on a node of another class") {
    count_slot(classes, small, &use, "b2", find_class);
    CHECK(classes == ClassRequests{{"a", large}, {"b", small}});
  }
  SECTION("without a placement") {
    count_slot(classes, small, &use, "", find_class);
    CHECK(classes == ClassRequests{{"a", large}});
  }
}

TEST_CASE("a workload leaves out finished slots", "[queue][slot-use]") {
  const auto group = planned(a_group("dqn", {a_set("learner", 3, ask(2))}), {"a", "b", "c"}, true);
  const OtherUses uses{{"learner", {0, 0}, 0, 0, true},
                       {"learner", {2, 0}, 0, 0, false, {{"c", ask(3)}}}};
  Workload workload = make_workload(group, 0, &uses);
  CHECK(workload.requests.get("nvidia.com/gpu") == 2 + 3);
  count_classes(workload, group, &uses, [](std::string_view node) { return node; });
  CHECK(workload.class_requests.size() == 2);
  CHECK(workload.class_requests.at("c").get("nvidia.com/gpu") == 3);
}

TEST_CASE("pods count with a slot that is wanted by a committed gang or has a placement",
          "[queue][slot-use]") {
  auto group = planned(a_group("dqn", {a_set("learner", 2, ask(2))}), {"a", "b"}, true);
  CHECK(list_counted_slots(group) == SlotNumbers{{"learner", {0, 1}}});
  group.status.gangs[0].placements.pop_back();
  CHECK(contains(list_counted_slots(group), "learner", 1));
  group.status.gangs[0].committed = false;
  CHECK(list_counted_slots(group) == SlotNumbers{{"learner", {0}}});
  group.meta.deleting = true;
  CHECK(list_counted_slots(group).empty());
}

}  // namespace
}  // namespace nervex::queue
