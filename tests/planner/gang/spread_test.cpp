// Topology spread in scheduling cycles: placement/spread_test.cpp has the rules.
#include <catch2/catch_test_macros.hpp>

#include "tests/planner/gang/one_cycle.h"
#include "tests/support/gang_builders.h"

namespace nervex::planner::spread {
namespace {

using testing::a_group;
using testing::a_node;
using testing::a_set;
using testing::ask;
using testing::capacity;
using testing::labelled;
using testing::nth_set;
using testing::outcome;
using testing::planned;
using testing::seen;
using testing::view;

const std::string kZone = "topology.kubernetes.io/zone";
const SysTime kNow = testing::kCycleTime;
const kube::PodSelector kPods = kube::make_pod_selector("team-a", "[]");

// With `matching` pods that the constraint counts, each of which uses a GPU.
placement::NodeView in_zone(const std::string& name, const std::string& zone, int matching = 0) {
  auto used = capacity(matching, 0, 0);
  if (matching > 0) used.set(kPods.counter, matching);
  return view(labelled(a_node(name, 8), kZone, zone), used);
}
testing::Member spread(testing::Member set) {
  kube::TopologySpread by_zone;
  by_zone.key = kZone;
  by_zone.pods = kPods;
  set.shape.spread = {by_zone};
  set.shape.requests.set(kPods.counter, 1);
  return set;
}

TEST_CASE("a plan that running pods of others have made uneven is made again",
          "[planner][spread]") {
  const gang::PodGroup group =
      planned(a_group("a", {spread(a_set("collector", 2, ask(1)))}), {"a1", "b1"});
  const std::string same = outcome({in_zone("a1", "a", 1), in_zone("b1", "b")}, group);
  CHECK((same == "-" || same == "a1 b1"));
  CHECK(outcome({in_zone("a1", "a", 2), in_zone("b1", "b")}, group) == "b1 b1");
}

TEST_CASE("a lost pod's successor goes where the fewest are", "[planner][spread]") {
  gang::PodGroup group =
      planned(a_group("a", {spread(a_set("collector", 2, ask(1)))}), {"a1", "b1"}, true);
  nth_set(group, 0).slots[1].incarnation = 1;
  ++group.meta.generation;
  CHECK(outcome({in_zone("a1", "a", 1), in_zone("a2", "a"), in_zone("b1", "b")}, group) == "a1 b1");
}

TEST_CASE("a slot that is moved no longer counts where it was", "[planner][spread]") {
  gang::PodGroup group =
      planned(a_group("a", {spread(a_set("collector", 3, ask(1)))}), {"a1", "b1", "c1"}, true);
  GroupSeen one = seen(group);
  one.open = {{group.status.gangs[0].placements[2], OpenSlot::Why::kUnbound, "", SysTime{}}};
  auto cordoned = in_zone("c1", "c", 1);
  kube::Node node = *cordoned.node;
  node.unschedulable = true;
  cordoned.node = std::make_shared<const kube::Node>(std::move(node));
  const auto run = [&](const std::vector<placement::NodeView>& nodes) {
    return run_cycle({nodes, {one}}, {}, kNow).writes.at(0).status.gangs[0].placements;
  };
  // Zone c has none now: a second pod in another zone would be one too many.
  CHECK(run({in_zone("a1", "a", 1), in_zone("b1", "b", 1), cordoned}).size() == 2);
  const auto moved =
      run({in_zone("a1", "a", 1), in_zone("b1", "b", 1), cordoned, in_zone("c2", "c")});
  REQUIRE(moved.size() == 3);
  CHECK(moved[2].node == "c2");
}

TEST_CASE("of two gangs that one constraint counts the second sees the first",
          "[planner][spread]") {
  const auto set = spread(a_set("collector", 1, ask(1)));
  const std::vector<placement::NodeView> nodes{in_zone("a1", "a"), in_zone("b1", "b")};
  const CycleResult result =
      run_cycle({nodes, {seen(a_group("a", {set})), seen(a_group("b", {set}))}}, {}, kNow);
  REQUIRE(result.writes.size() == 2);
  CHECK(result.writes[0].status.gangs[0].placements[0].node !=
        result.writes[1].status.gangs[0].placements[0].node);
}

TEST_CASE("a gang that its constraint keeps waiting says so", "[planner][spread]") {
  const gang::PodGroup group = a_group("a", {spread(a_set("collector", 4, ask(1)))});
  CHECK(outcome({in_zone("a1", "a", 6), in_zone("b1", "b", 7)}, group) ==
        "collector: 1 of 4 does not fit: each needs nvidia.com/gpu 1; 2 nodes have it free");
  CHECK(outcome({in_zone("a1", "a"), in_zone("b1", "b")}, group) == "a1 a1 b1 b1");
  CHECK(
      outcome({in_zone("a1", "a"), view(labelled(a_node("b1", 8), kZone, "b"), capacity(7, 0, 0))},
              group) ==
      "collector: 1 of 4 does not fit within maxSkew 1 of topology.kubernetes.io/zone: b has the "
      "fewest pods and no capacity for more");
}

}  // namespace
}  // namespace nervex::planner::spread
