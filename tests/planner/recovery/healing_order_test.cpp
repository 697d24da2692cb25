// A gang that runs in part gets its missing placements before any other gang starts.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "planner/scheduling_cycle.h"
#include "tests/support/gang_builders.h"

namespace nervex::planner::healing_order {
namespace {

using testing::a_group;
using testing::a_node;
using testing::a_set;
using testing::ask;
using testing::capacity;
using testing::nth_set;
using testing::planned;
using testing::view;

const SysTime kNow{std::chrono::seconds(1000)};

placement::NodeView empty(const std::string& name) { return view(a_node(name, 8)); }
placement::NodeView full(const std::string& name) {
  return view(a_node(name, 8), capacity(8, 0, 0));
}

GroupSeen seen(gang::PodGroup group) {
  return {std::make_shared<const gang::PodGroup>(std::move(group)), false, {}};
}

gang::PodGroup learners(const std::string& name, int count, int queued = 0, int priority = 0) {
  return a_group(name, {a_set("learner", count, ask(8))}, queued, priority);
}

// Priority 0, runs on these nodes, and the pods of its last slots were evicted: the controller
// wants the next incarnations.
gang::PodGroup running(const std::vector<std::string>& nodes, int evicted) {
  gang::PodGroup group = planned(learners("low", static_cast<int>(nodes.size())), nodes, true);
  auto& slots = nth_set(group, 0).slots;
  for (int i = 0; i < evicted; ++i)
    ++slots[slots.size() - 1 - static_cast<std::size_t>(i)].incarnation;
  ++group.meta.generation;
  return group;
}

// By group: "low: n1#1 n2#3; high: waits". Of groups that were not written as they were.
std::string outcome(const std::vector<placement::NodeView>& nodes,
                    const std::vector<GroupSeen>& groups) {
  std::map<std::string, gang::GangStatus> after;
  for (const GroupSeen& one : groups) {
    if (!one.group->status.gangs.empty()) after[one.group->meta.name] = one.group->status.gangs[0];
  }
  for (const StatusWrite& write : run_cycle({nodes, groups}, {}, kNow).writes) {
    after[write.group->meta.name] = write.status.gangs.front();
  }
  std::string text;
  for (const auto& [name, gang] : after) {
    text += (text.empty() ? "" : "; ") + name + ":";
    for (const auto& placement : gang.placements) {
      text += " " + placement.node + "#" + std::to_string(placement.number);
    }
    if (!gang.planned) text += " waits";
  }
  return text;
}

TEST_CASE("what a running gang has lost gets a place before anything starts",
          "[extender][healing]") {
  struct Row {
    std::string when;
    std::vector<placement::NodeView> nodes;
    std::vector<GroupSeen> groups;
    std::string want;
  };
  const GroupSeen high = seen(learners("high", 1, 0, 9));
  const auto row = GENERATE_COPY(values<Row>({
      {"a gang of higher priority waits for the same node",
       {full("n1"), empty("n2")},
       {seen(running({"n1", "n2"}, 1)), high},
       "high: waits; low: n1#1 n2#3"},
      {"one that is planned there is moved",
       {full("n1"), empty("n2"), empty("n3")},
       {seen(running({"n1", "nx"}, 1)), seen(planned(learners("high", 1, 0, 9), {"n2"})),
        seen(planned(learners("mid", 1, 0, 5), {"n3"}))},
       "high: n2#1; low: n1#1 n3#3; mid: waits"},
      {"one that is planned keeps its place where there is another one",
       {full("n1"), empty("n2"), empty("n3")},
       {seen(running({"n1", "nx"}, 1)), seen(planned(learners("high", 1, 0, 9), {"n2"}))},
       "high: n2#1; low: n1#1 n3#3"},
      {"plans that it could not use stay as they are",
       {full("n1"), view(a_node("n2", 4))},
       {seen(running({"n1", "nx"}, 1)),
        seen(planned(a_group("high", {a_set("learner", 1, ask(4))}, 0, 9), {"n2"}))},
       "high: n2#1; low: n1#1 waits"},
      {"not all of it fits: it gets what there is",
       {full("n1"), empty("n2")},
       {seen(running({"n1", "nx", "ny"}, 2)), high},
       "high: waits; low: n1#1 n2#4 waits"},
      {"of plans no more yield than are of use",
       {full("n1"), empty("n2"), empty("n3")},
       {seen(running({"n1", "nx", "ny", "nz"}, 3)),
        seen(planned(learners("high", 2, 0, 9), {"n2", "n3"}))},
       "high: waits; low: n1#1 n2#5 n3#6 waits"},
  }));
  INFO("when " << row.when);
  CHECK(outcome(row.nodes, row.groups) == row.want);
}

TEST_CASE("the place of a pod that was stopped is kept for its successor", "[extender][healing]") {
  gang::PodGroup group = planned(learners("low", 2), {"n1", "n2"}, true);
  GroupSeen low = seen(group);
  // Evicted by the kubelet, which leaves it there with phase Failed; no incarnation is wanted yet.
  low.open = {{group.status.gangs[0].placements[1], OpenSlot::Why::kTakenAway, "Evicted", {}}};
  const std::vector<placement::NodeView> nodes{full("n1"), empty("n2")};
  const CycleResult result = run_cycle({nodes, {low, seen(learners("high", 1, 0, 9))}}, {}, kNow);
  CHECK(outcome(nodes, {low, seen(learners("high", 1, 0, 9))}) == "high: waits; low: n1#1 n2#2");
  // The next cycle finds out whether it is still kept.
  CHECK(result.state.waiting.any_may_fit());
}

TEST_CASE("a running gang uses what it has reserved for requests before it is ended",
          "[extender][healing]") {
  gang::PodGroup group = running({"n1", "nx"}, 1);
  nth_set(group, 0).reserved_pods = 1;
  group.status.gangs[0].reserved = {{"learner", "n2", 1}};
  const CycleResult result = run_cycle({{full("n1"), full("n2")}, {seen(group)}}, {}, kNow);
  REQUIRE(result.writes.size() == 1);
  const gang::GangStatus& low = result.writes[0].status.gangs.front();
  CHECK(low.planned);
  REQUIRE(low.placements.size() == 2);
  CHECK(low.placements[1].node == "n2");
  CHECK(low.reserved.empty());
}

TEST_CASE("a gang whose time to heal is over takes no place from a plan", "[extender][healing]") {
  gang::PodGroup group = running({"n1", "nx"}, 1);
  group.status.gangs[0].reason = std::string(gang::kReasonHealingTimeout);
  CHECK(outcome({full("n1"), empty("n2")},
                {seen(group), seen(planned(learners("high", 1, 0, 9), {"n2"}))}) ==
        "high: n2#1; low: n1#1 waits");
}

}  // namespace
}  // namespace nervex::planner::healing_order
