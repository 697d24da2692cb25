// Pods that required pod affinity keeps together.
#include "extender/decide/domains.h"

#include <catch2/catch_test_macros.hpp>

#include "extender/decide/scheduling_cycle.h"
#include "tests/support/gang_builders.h"

namespace nervex::extender::domains {
namespace {

using testing::a_group;
using testing::a_node;
using testing::a_set;
using testing::ask;
using testing::capacity;
using testing::labelled;
using testing::planned;
using testing::view;

const std::string kZone = "topology.kubernetes.io/zone";
const SysTime kNow{std::chrono::seconds(1000)};

gang::NodeView in_zone(const std::string& name, const std::string& zone, std::int64_t used = 0) {
  return view(labelled(a_node(name, 8), kZone, zone), capacity(used, 0, 0));
}
gang::MemberSet together(gang::MemberSet set) {
  set.shape.together = {kZone + "#1"};
  return set;
}
GroupSeen seen(gang::PodGroup group) {
  return {std::make_shared<const gang::PodGroup>(std::move(group)), false, {}};
}
// "b1 b2", or why it waits.
std::string outcome(const std::vector<gang::NodeView>& nodes, const gang::PodGroup& group) {
  const CycleResult result = run_cycle({nodes, {seen(group)}}, {}, kNow);
  if (result.writes.empty()) return "-";
  const gang::GangStatus& gang = result.writes[0].status.gangs[0];
  if (!gang.planned) return gang.message;
  std::string text;
  for (const auto& placement : gang.placements) {
    text += (text.empty() ? "" : " ") + placement.node;
  }
  return text;
}

// Zone a has 2 nodes and zone b has 4.
std::vector<gang::NodeView> two_zones() {
  std::vector<gang::NodeView> nodes;
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
  CHECK(outcome(two_zones(), a_group("a", {collectors, learners})) == "b1 b2 b3 b4");
  learners.shape.together = {kZone + "#2"};
  CHECK(outcome(two_zones(), a_group("a", {collectors, learners})) == "a1 a2 b1 b2");
}

TEST_CASE("a gang that fits in no domain says so", "[extender][domains]") {
  const auto five = together(a_set("collector", 5, ask(7)));
  CHECK(outcome(two_zones(), a_group("a", {five})) ==
        "collector: 1 of 5 does not fit: each needs nvidia.com/gpu 7; 4 nodes have it free, 2 do "
        "not match nodeSelector or affinity; pod affinity wants them in one "
        "topology.kubernetes.io/zone");
  CHECK(outcome({view(a_node("n1", 8))}, a_group("a", {five})) ==
        "collector: no node is allowed: 1 does not match nodeSelector or affinity; pod affinity "
        "wants them in one topology.kubernetes.io/zone");
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

TEST_CASE("a lost pod's successor goes to the domain of the others", "[extender][domains]") {
  gang::PodGroup group =
      planned(a_group("a", {together(a_set("collector", 2, ask(7)))}), {"b1", "b2"}, true);
  group.spec.members[0].slots[1].incarnation = 1;
  ++group.meta.generation;
  std::vector<gang::NodeView> nodes{in_zone("a1", "a"), in_zone("b1", "b", 7), in_zone("b3", "b")};
  CHECK(outcome(nodes, group) == "b1 b3");
  nodes.pop_back();
  CHECK(outcome(nodes, group).starts_with("collector/1 lost its pod"));
}

}  // namespace
}  // namespace nervex::extender::domains
