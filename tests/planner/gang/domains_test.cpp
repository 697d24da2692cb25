// Pods that have to be near each other: required pod affinity, topology, node classes.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/planner/gang/one_cycle.h"
#include "tests/support/gang_builders.h"

namespace nervex::planner::domains {
namespace {

using testing::a_group;
using testing::a_node;
using testing::a_set;
using testing::add_member;
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

placement::NodeView in_zone(const std::string& name, const std::string& zone,
                            std::int64_t used = 0) {
  return view(labelled(a_node(name, 8), kZone, zone), capacity(used, 0, 0));
}
testing::Member together(testing::Member set) {
  set.shape.together = {kZone + "#1"};
  return set;
}

// Zone a has 2 nodes and zone b has 4.
std::vector<placement::NodeView> two_zones() {
  std::vector<placement::NodeView> nodes;
  for (const char* name : {"a1", "a2"}) nodes.push_back(in_zone(name, "a"));
  for (const char* name : {"b1", "b2", "b3", "b4"}) nodes.push_back(in_zone(name, "b"));
  return nodes;
}

TEST_CASE("pods that have to be together get one domain that holds them all",
          "[extender][domains]") {
  const auto four = together(a_set("collector", 4, ask(7)));
  CHECK(outcome(two_zones(), a_group("a", {four})) == "b1 b2 b3 b4");
  const auto two = together(a_set("collector", 2, ask(7)));
  CHECK(outcome(two_zones(), a_group("a", {two})) == "a1 a2");  // the smallest
  CHECK(outcome(two_zones(), a_group("a", {a_set("coordinator", 1, ask(7)), two})) ==
        "a1 a2 b1");  // the coordinator, last, goes anywhere
}

TEST_CASE("sets with the same term share a domain, others do not", "[extender][domains]") {
  const auto collectors = together(a_set("collector", 2, ask(7)));
  auto learners = together(a_set("learner", 2, ask(7)));
  CHECK(outcome(two_zones(), a_group("a", {collectors, learners})) == "b3 b4 b1 b2");
  learners.shape.together = {kZone + "#2"};
  CHECK(outcome(two_zones(), a_group("a", {collectors, learners})) == "a1 a2 b1 b2");
}

TEST_CASE("a gang that fits in no domain says so", "[extender][domains]") {
  const auto five = together(a_set("collector", 5, ask(7)));
  CHECK(outcome(two_zones(), a_group("a", {five})) ==
        "collector: 1 of 5 can never fit in one topology.kubernetes.io/zone, as pod affinity "
        "requires: one has capacity, even when empty, for 4, another for 2; 2 together would hold "
        "all");
  std::vector<placement::NodeView> nodes = two_zones();
  nodes.push_back(in_zone("b5", "b", 7));
  CHECK(outcome(nodes, a_group("a", {five})) ==
        "collector: 1 of 5 does not fit in one topology.kubernetes.io/zone, as pod affinity "
        "requires: one has capacity for 4, another for 2; 2 together would hold all");
  CHECK(outcome({view(a_node("n1", 8))}, a_group("a", {five})) ==
        "collector: no node has the label topology.kubernetes.io/zone");
}

TEST_CASE("a refused plan is not repeated in the same domain", "[extender][domains]") {
  auto nodes = two_zones();
  nodes.push_back(in_zone("a3", "a"));
  gang::PodGroup group = a_group("a", {together(a_set("collector", 2, ask(7)))});
  CHECK(outcome(nodes, group) == "a1 a2");
  // a3 could hold one of them, and a2 the other.
  group.status.avoid = {{"collector", "a1", 0, 1, kNow + std::chrono::seconds(60)}};
  CHECK(outcome(nodes, group) == "b1 b2");
  nodes.erase(nodes.begin() + 2, nodes.begin() + 6);
  CHECK(outcome(nodes, group) == "a2 a3");  // there is no other
}

TEST_CASE("a domain with nodes that would evict the pods, or prefer none, comes last",
          "[extender][domains]") {
  const std::string effect = GENERATE("NoExecute", "PreferNoSchedule");
  INFO(effect);
  auto pods = together(a_set("collector", 2, ask(7)));
  if (effect == "NoExecute") pods = testing::tolerating(std::move(pods), 5);
  std::vector<placement::NodeView> nodes = two_zones();
  for (placement::NodeView& one : nodes) {
    if (one.node->name != "a1") continue;
    one.node = std::make_shared<const kube::Node>(testing::with_taint(*one.node, effect.c_str()));
  }
  CHECK(outcome(nodes, a_group("a", {pods})) == "b1 b2");
  nodes.erase(nodes.begin() + 2, nodes.end());
  CHECK(outcome(nodes, a_group("a", {pods})) == "a2 a1");  // there is no other
}

TEST_CASE("a lost pod's successor goes to the domain of the others", "[extender][domains]") {
  gang::PodGroup group =
      planned(a_group("a", {together(a_set("collector", 2, ask(7)))}), {"b1", "b2"}, true);
  nth_set(group, 0).slots[1].incarnation = 1;
  ++group.meta.generation;
  std::vector<placement::NodeView> nodes{in_zone("a1", "a"), in_zone("b1", "b", 7),
                                         in_zone("b3", "b")};
  CHECK(outcome(nodes, group) == "b1 b3");
  nodes.pop_back();
  CHECK(outcome(nodes, group).starts_with("collector/1 lost its pod"));
}

TEST_CASE("a nodeSelector of one set does not tear it from the others", "[extender][domains]") {
  auto collectors = together(a_set("collector", 2, ask(7)));
  const auto learners = together(a_set("learner", 5, ask(7)));
  std::vector<placement::NodeView> nodes;
  for (const char* name : {"a1", "a2", "a3", "a4", "a5"}) nodes.push_back(in_zone(name, "a"));
  for (const char* name : {"b1", "b2"}) nodes.push_back(in_zone(name, "b"));
  SECTION("which names the label itself") {
    collectors = selecting(collectors, kZone, "b");
    CHECK(outcome(nodes, a_group("a", {collectors, learners})).find("pod affinity requires") !=
          std::string::npos);
  }
  SECTION("and is elsewhere than what runs") {
    gang::PodGroup group = planned(a_group("a", {learners}), {"a1", "a2", "a3", "a4", "a5"}, true);
    collectors = selecting(collectors, kZone, "b");
    add_member(group, in_request(collectors, 1));
    ++group.meta.generation;
    const CycleResult result = run_cycle({nodes, {seen(group)}}, {}, kNow);
    REQUIRE(result.writes.size() == 1);
    CHECK_FALSE(result.writes[0].status.gangs[1].planned);
  }
}

TEST_CASE("of lost pods that no domain holds all those that can get one together",
          "[extender][domains]") {
  gang::PodGroup group = planned(a_group("a", {together(a_set("collector", 4, ask(7)))}),
                                 {"x1", "x2", "x3", "x4"}, true);
  for (auto& slot : nth_set(group, 0).slots) ++slot.incarnation;
  ++group.meta.generation;
  const std::vector<placement::NodeView> nodes{in_zone("a1", "a"), in_zone("b1", "b"),
                                               in_zone("b2", "b"), in_zone("b3", "b")};
  const CycleResult result = run_cycle({nodes, {seen(group)}}, {}, kNow);
  REQUIRE(result.writes.size() == 1);
  const auto& placements = result.writes[0].status.gangs[0].placements;
  REQUIRE(placements.size() == 3);
  for (const auto& placement : placements) CHECK(placement.node.starts_with("b"));
}

TEST_CASE("a pod that is with no other may go to another domain", "[extender][domains]") {
  gang::PodGroup group =
      planned(a_group("a", {together(a_set("collector", 1, ask(7)))}), {"a1"}, true);
  GroupSeen one = seen(group);
  one.open = {{group.status.gangs[0].placements[0], OpenSlot::Why::kRefused, "no", SysTime{}}};
  const CycleResult result =
      run_cycle({{in_zone("a1", "a", 7), in_zone("b1", "b")}, {one}}, {}, kNow);
  REQUIRE(result.writes.size() == 1);
  CHECK(result.writes[0].status.gangs[0].placements[0].node == "b1");
}

TEST_CASE("capacity is reserved where the pods are that its own will have to be with",
          "[extender][domains]") {
  auto collectors = together(a_set("collector", 1, ask(7)));
  collectors.reserved_pods = 1;
  gang::PodGroup group = planned(a_group("a", {collectors}), {"b1"}, true);
  group.status.gangs[0].reserved = {};
  const CycleResult result = run_cycle(
      {{in_zone("a1", "a"), in_zone("b1", "b", 7), in_zone("b2", "b")}, {seen(group)}}, {}, kNow);
  REQUIRE(result.writes.size() == 1);
  REQUIRE(result.writes[0].status.gangs[0].reserved.size() == 1);
  CHECK(result.writes[0].status.gangs[0].reserved[0].node == "b2");
}

// -- topology

testing::Member near(testing::Member set, const std::string& level = kZone) {
  set.shape.topology = {{level, set.role, true}};
  return set;
}

TEST_CASE("requests that are planned in one cycle get one domain", "[extender][domains]") {
  gang::PodGroup group = planned(a_group("a", {a_set("coordinator", 1, ask(1))}), {"c"}, true);
  for (const int id : {1, 2}) add_member(group, in_request(near(a_set("learner", 2, ask(7))), id));
  ++group.meta.generation;
  const auto plan = [&](const std::vector<placement::NodeView>& nodes) {
    const CycleResult result = run_cycle({nodes, {seen(group)}}, {}, kNow);
    REQUIRE(result.writes.size() == 1);
    std::string text;
    for (const gang::GangStatus& gang : result.writes[0].status.gangs) {
      for (const auto& one : gang.placements) text += one.node + " ";
    }
    return text;
  };
  std::vector<placement::NodeView> nodes = two_zones();
  nodes.push_back(in_zone("c", "c", 1));
  // The first one fits zone a, where the other one does not fit any more.
  CHECK(plan(nodes) == "c a1 a2 ");
  nodes.push_back(in_zone("a3", "a"));
  nodes.push_back(in_zone("a4", "a"));
  nodes.push_back(in_zone("b5", "b"));
  CHECK(plan(nodes) == "c a1 a2 a3 a4 ");
}

TEST_CASE("a base pod that is replaced joins reserved capacity", "[extender][domains]") {
  auto learners = near(a_set("learner", 1, ask(7)));
  learners.reserved_pods = 1;
  gang::PodGroup group = planned(a_group("a", {learners}), {"gone"}, true);
  group.status.gangs[0].reserved = {{"learner", "b1", 1}};
  nth_set(group, 0).slots[0].incarnation = 1;
  ++group.meta.generation;
  // Zone a is smaller.
  const CycleResult result = run_cycle(
      {{in_zone("a1", "a"), in_zone("b1", "b", 7), in_zone("b2", "b"), in_zone("b3", "b")},
       {seen(group)}},
      {}, kNow);
  REQUIRE(result.writes.size() == 1);
  REQUIRE(result.writes[0].status.gangs[0].placements.size() == 1);
  CHECK(result.writes[0].status.gangs[0].placements[0].node.starts_with("b"));
}

TEST_CASE("reserved capacity on lost nodes keeps no pod there", "[extender][domains]") {
  auto learners = near(a_set("learner", 1, ask(7)));
  learners.reserved_pods = 1;
  gang::PodGroup group = planned(a_group("a", {learners}), {"gone"}, true);
  group.status.gangs[0].reserved = {{"learner", "a1", 1}};
  nth_set(group, 0).slots[0].incarnation = 1;
  ++group.meta.generation;
  std::vector<placement::NodeView> nodes = two_zones();
  for (std::size_t i = 0; i < 2; ++i) {
    nodes[i] = view(testing::not_ready(*nodes[i].node), capacity(i == 0 ? 7 : 0, 0, 0));
  }
  const CycleResult result = run_cycle({nodes, {seen(group)}}, {}, kNow);
  REQUIRE(result.writes.size() == 1);
  const gang::GangStatus& gang = result.writes[0].status.gangs[0];
  REQUIRE(gang.placements.size() == 1);
  CHECK(gang.placements[0].node.starts_with("b"));
  REQUIRE(gang.reserved.size() == 1);
  CHECK(gang.reserved[0].node.starts_with("b"));
}

TEST_CASE("a request leaves the domain of reserved capacity that it does not need to join",
          "[extender][domains]") {
  gang::PodGroup group =
      a_group("a", {a_set("coordinator", 1, ask(1)), near(a_set("learner", 0, ask(7)))});
  group = planned(std::move(group), {"c"}, true);
  group.status.gangs[0].reserved = {{"learner", "a1", 1}, {"learner", "a2", 1}};
  auto asked = near(a_set("learner", 4, ask(7)));
  asked.from_reserved = {"learner", 2};
  add_member(group, in_request(asked, 1));
  ++group.meta.generation;
  std::vector<placement::NodeView> nodes = two_zones();
  for (const char* name : {"a1", "a2"}) {  // no other node is in zone a
    nodes[name == std::string("a1") ? 0 : 1] = in_zone(name, "a", 7);
  }
  nodes.push_back(in_zone("c", "c", 1));
  const CycleResult result = run_cycle({nodes, {seen(group)}}, {}, kNow);
  REQUIRE(result.writes.size() == 1);
  REQUIRE(result.writes[0].status.gangs.size() == 2);
  std::string text;
  for (const auto& one : result.writes[0].status.gangs[1].placements) text += one.node + " ";
  CHECK(text == "b1 b2 b3 b4 ");
}

TEST_CASE("restored reserved capacity is with what is left of it", "[extender][domains]") {
  auto learners = near(a_set("learner", 0, ask(7)));
  learners.reserved_pods = 2;
  gang::PodGroup group =
      planned(a_group("a", {a_set("coordinator", 1, ask(1)), learners}), {"c"}, true);
  group.status.gangs[0].reserved = {{"learner", "b1", 1}};
  // Zone a is smaller.
  const CycleResult result =
      run_cycle({{in_zone("a1", "a"), in_zone("b1", "b", 7), in_zone("b2", "b"), in_zone("b3", "b"),
                  in_zone("c", "c", 1)},
                 {seen(group)}},
                {}, kNow);
  REQUIRE(result.writes.size() == 1);
  REQUIRE(result.writes[0].status.gangs[0].reserved.size() == 2);
  CHECK(result.writes[0].status.gangs[0].reserved[1].node == "b2");
}

TEST_CASE("a plan that has not started is made again when labels of its nodes change",
          "[extender][domains]") {
  const gang::PodGroup group =
      planned(a_group("a", {near(a_set("learner", 2, ask(7)))}), {"a1", "a2"}, false);
  CHECK(outcome(two_zones(), group) == "-");
  std::vector<placement::NodeView> nodes = two_zones();
  nodes[1] = in_zone("a2", "other");
  CHECK(outcome(nodes, group) == "b1 b2");
}

// -- node classes

const std::string kClass = "example.com/class";

// A node of class a100, of which so many GPUs are in use, and two of class l40s.
placement::Cluster three_nodes(std::int64_t used) {
  std::vector<placement::NodeView> views{
      view(labelled(a_node("a1", 8), kClass, "a100"), capacity(used, 0, 0))};
  for (const char* name : {"l1", "l2"}) {
    views.push_back(view(labelled(a_node(name, 8), kClass, "l40s")));
  }
  placement::Cluster out(views);
  out.set_labels(std::make_shared<placement::NodeLabels>(placement::NodeLabels{kClass, {}}));
  return out;
}

std::string nodes_of(const placement::Cluster& nodes, const gang::PodGroup& group) {
  const CycleResult result = run_cycle({nodes, {seen(group)}}, {}, kNow);
  if (result.writes.empty()) return "-";
  std::string text;
  for (const auto& one : result.writes[0].status.gangs[0].placements) text += one.node + " ";
  return text;
}

TEST_CASE("a plan that lost a node keeps to one node class until it runs", "[extender][domains]") {
  auto collectors = a_set("collector", 2, ask(7));
  collectors.shape.node_classes = {"a100", "l40s"};
  const gang::PodGroup waiting = planned(a_group("a", {collectors}), {"a1", "gone"}, false);
  CHECK(nodes_of(three_nodes(0), waiting) == "l1 l2 ");
  gang::PodGroup running = planned(a_group("a", {collectors}), {"a1", "gone"}, true);
  nth_set(running, 0).slots[1].incarnation = 1;
  ++running.meta.generation;
  CHECK(nodes_of(three_nodes(7), running) == "a1 l1 ");
}

}  // namespace
}  // namespace nervex::planner::domains
