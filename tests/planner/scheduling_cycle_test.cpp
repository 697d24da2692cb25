#include "planner/scheduling_cycle.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/support/gang_builders.h"

namespace nervex::planner {
namespace {

using testing::a_group;
using testing::a_node;
using testing::a_set;
using testing::add_member;
using testing::ask;
using testing::capacity;
using testing::in_request;
using testing::list_members;
using testing::make_gangs;
using testing::not_ready;
using testing::nth_set;
using testing::planned;
using testing::view;

const SysTime kNow{std::chrono::seconds(1000)};

GroupSeen seen(gang::PodGroup group) {
  return {std::make_shared<const gang::PodGroup>(std::move(group)), false, {}};
}
GroupSeen unconfirmed(gang::PodGroup group) {
  GroupSeen out = seen(std::move(group));
  out.unconfirmed = true;
  return out;
}
GroupSeen committing(gang::PodGroup group) {
  GroupSeen out = seen(std::move(group));
  out.committing = {"base"};
  return out;
}

gang::PodGroup learners(const std::string& name, int count, int queued = 0, int priority = 0) {
  return a_group(name, {a_set("learner", count, ask(8))}, queued, priority);
}

// What a cycle wrote, one line per gang: "a base: n1#1 n2#2", or "a base: waits".
std::vector<std::string> written(const CycleResult& result) {
  std::vector<std::string> lines;
  for (const StatusWrite& write : result.writes) {
    for (const gang::GangStatus& gang : write.status.gangs) {
      std::string line = write.group->meta.name + " " + gang.name + ":";
      for (const gang::Placement& placement : gang.placements) {
        line += " " + placement.node + "#" + std::to_string(placement.number);
      }
      if (!gang.planned) line += " waits";
      if (gang.committed) line += " committed";
      lines.push_back(line);
    }
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST_CASE("a cycle places whole gangs in the order of the queue", "[extender][scheduling_cycle]") {
  struct Row {
    std::string when;
    std::vector<placement::NodeView> nodes;
    std::vector<GroupSeen> groups;
    Lines want;
  };
  const auto n1 = view(a_node("n1", 8));
  const auto n2 = view(a_node("n2", 8));
  const auto row = GENERATE_COPY(values<Row>({
      {"one gang fits", {n1, n2}, {seen(learners("a", 2))}, {"a base: n1#1 n2#2"}},
      {"one gang is too large", {n1, n2}, {seen(learners("a", 3))}, {"a base: waits"}},
      {"the older one goes first",
       {n1},
       {seen(learners("a", 1, 20)), seen(learners("b", 1, 10))},
       {"b base: n1#1", "a base: waits"}},
      {"the higher priority goes before the older one",
       {n1},
       {seen(learners("a", 1, 10)), seen(learners("b", 1, 20, 5))},
       {"b base: n1#1", "a base: waits"}},
      {"of two with the same priority and age the first by name",
       {n1},
       {seen(learners("b", 1)), seen(learners("a", 1))},
       {"a base: n1#1", "b base: waits"}},
      {"a gang that waits does not block a smaller one behind it",
       {n1},
       {seen(learners("a", 2, 10)), seen(learners("b", 1, 20))},
       {"a base: waits", "b base: n1#1"}},
      {"a gang that is planned keeps its capacity from one of higher priority",
       {n1},
       {seen(planned(learners("a", 1), {"n1"})), seen(learners("b", 1, 0, 5))},
       {"b base: waits"}},
      {"each gang of a PodGroup is placed or waits by itself",
       {n1},
       {seen(a_group("a", {a_set("learner", 1, ask(8)), in_request(a_set("collector", 1, ask(0)), 1),
                           in_request(a_set("learner", 9, ask(8)), 2)}))},
       {"a base: n1#1", "a request-1: n1#2", "a request-2: waits"}},
      {"a PodGroup is being deleted",
       {n1},
       {[] {
         auto group = learners("a", 1);
         group.meta.deleting = true;
         return seen(group);
       }()},
       {}},
      {"a gang wants no pods", {n1}, {seen(learners("a", 0))}, {}},
      {"all is planned already", {n1}, {seen(planned(learners("a", 1), {"n1"}))}, {}},
      {"all is committed already", {}, {seen(planned(learners("a", 1), {"n1"}, true))}, {}},
  }));
  INFO("when " << row.when);
  CHECK(written(run_cycle({row.nodes, row.groups}, {}, kNow)) == row.want);
}

TEST_CASE("plans that were not committed are checked again", "[extender][scheduling_cycle]") {
  struct Row {
    std::string when;
    std::vector<placement::NodeView> nodes;
    std::vector<GroupSeen> groups;
    Lines want;
  };
  const auto full = capacity(8, 0, 0);
  const auto n1 = view(a_node("n1", 8));
  const auto n2 = view(a_node("n2", 8));
  const auto row = GENERATE_COPY(values<Row>({
      {"a node was deleted and there is another",
       {n2},
       {seen(planned(learners("a", 1), {"n1"}))},
       {"a base: n2#2"}},
      {"a node is not ready and there is no other",
       {view(not_ready(a_node("n1", 8)))},
       {seen(planned(learners("a", 1), {"n1"}))},
       {"a base: waits"}},
      {"a foreign pod took the capacity",
       {view(a_node("n1", 8), full), n2},
       {seen(planned(learners("a", 1), {"n1"}))},
       {"a base: n2#2"}},
      {"what still fits stays and keeps its number",
       {n1, view(a_node("n2", 8), full), view(a_node("n3", 8))},
       {seen(planned(learners("a", 2), {"n1", "n2"}))},
       {"a base: n1#1 n3#3"}},
      {"it is planned again if the rest does not fit beside what stays",
       {view(a_node("n1", 8)), view(a_node("n2", 4))},
       {seen(planned(a_group("a", {a_set("learner", 1, ask(8)), a_set("collector", 1, ask(4))}),
                     {"deleted", "n1"}))},
       {"a base: n2#3 n1#4"}},
      {"two overlap: the later one in the queue moves",
       {n1, n2},
       {seen(planned(learners("a", 1, 20), {"n1"})), seen(planned(learners("b", 1, 10), {"n1"}))},
       {"a base: n2#2"}},
      {"two overlap: the one of lower priority is dropped",
       {n1},
       {seen(planned(learners("a", 1, 10), {"n1"})),
        seen(planned(learners("b", 1, 20, 5), {"n1"}))},
       {"a base: waits"}},
      {"a committed gang's node was deleted: it keeps its placements",
       {},
       {seen(planned(learners("a", 1), {"n1"}, true))},
       {}},
      {"a gang whose commit is being written keeps its placements",
       {},
       {committing(planned(learners("a", 1), {"n1"}))},
       {}},
      {"a plan whose reply was lost keeps its capacity, and its status is not written",
       {n1, n2},
       {unconfirmed(planned(learners("a", 1, 20), {"n1"})), seen(learners("b", 2, 10))},
       {"b base: waits"}},
  }));
  INFO("when " << row.when);
  CHECK(written(run_cycle({row.nodes, row.groups}, {}, kNow)) == row.want);
}

TEST_CASE("a plan follows the spec", "[extender][scheduling_cycle]") {
  const std::vector nodes{view(a_node("n1", 8)), view(a_node("n2", 8))};
  gang::PodGroup group = planned(learners("a", 1), {"n1"});
  group.meta.generation = 2;

  SECTION("a new generation is observed though nothing else changes") {
    const auto result = run_cycle({nodes, {seen(group)}}, {}, kNow);
    REQUIRE(result.writes.size() == 1);
    CHECK(result.writes[0].status.observed_generation == 2);
    CHECK(written(result) == Lines{"a base: n1#1"});
  }
  SECTION("a new generation is observed though it does not fit") {
    add_member(group, in_request(a_set("learner", 5, ask(8)), 1));
    const auto result = run_cycle({nodes, {seen(group)}}, {}, kNow);
    REQUIRE(result.writes.size() == 1);
    CHECK(result.writes[0].status.observed_generation == 2);
    CHECK(written(result) == Lines{"a base: n1#1", "a request-1: waits"});
  }
  SECTION("an added slot gets a placement beside the others") {
    nth_set(group, 0).slots.push_back({1, 0});
    CHECK(written(run_cycle({nodes, {seen(group)}}, {}, kNow)) == Lines{"a base: n1#1 n2#2"});
  }
  SECTION("an added slot does not fit: no slot has a placement") {
    nth_set(group, 0).slots = {{0, 0}, {1, 0}, {2, 0}};
    CHECK(written(run_cycle({nodes, {seen(group)}}, {}, kNow)) == Lines{"a base: waits"});
  }
  SECTION("a committed gang keeps its placements, and of what is missing it gets what fits") {
    group.status.gangs[0].committed = true;
    nth_set(group, 0).slots = {{0, 0}, {1, 0}, {2, 0}};
    const std::vector left{view(a_node("n1", 8), capacity(8, 0, 0)), nodes[1]};
    CHECK(written(run_cycle({left, {seen(group)}}, {}, kNow)) ==
          Lines{"a base: n1#1 n2#2 waits committed"});
  }
  SECTION("a removed slot loses its placement") {
    group = planned(learners("a", 2), {"n1", "n2"}, true);
    group.meta.generation = 2;
    nth_set(group, 0).slots = {{1, 0}};
    CHECK(written(run_cycle({nodes, {seen(group)}}, {}, kNow)) == Lines{"a base: n2#2 committed"});
  }
  SECTION("the next incarnation gets a placement with a new number") {
    nth_set(group, 0).slots = {{0, 1}};
    CHECK(written(run_cycle({nodes, {seen(group)}}, {}, kNow)) == Lines{"a base: n1#2"});
  }
  SECTION("the next incarnation in a committed gang moves no other slot") {
    group = planned(learners("a", 2), {"n1", "n2"}, true);
    group.meta.generation = 2;
    nth_set(group, 0).slots = {{0, 1}, {1, 0}};
    const std::vector left{nodes[0], view(a_node("n2", 8), capacity(8, 0, 0))};
    CHECK(written(run_cycle({left, {seen(group)}}, {}, kNow)) ==
          Lines{"a base: n1#3 n2#2 committed"});
    const std::vector full{view(a_node("n1", 8), capacity(8, 0, 0)), left[1]};  // by the pod before
    CHECK(written(run_cycle({full, {seen(group)}}, {}, kNow)) ==
          Lines{"a base: n2#2 waits committed"});
  }
  SECTION("placements that were deleted from the status are planned again") {
    group = planned(learners("a", 2), {"n1", "n2"}, true);
    const std::vector left{nodes[0], view(a_node("n2", 8), capacity(8, 0, 0))};
    group.status.gangs[0].placements.erase(group.status.gangs[0].placements.begin());
    CHECK(written(run_cycle({left, {seen(group)}}, {}, kNow)) ==
          Lines{"a base: n1#3 n2#2 committed"});
    group.status.gangs.clear();
    CHECK(written(run_cycle({nodes, {seen(group)}}, {}, kNow)) == Lines{"a base: n1#3 n2#4"});
  }
  SECTION("a gang that is not in the spec any more is removed from the status") {
    group.spec.gangs = make_gangs({in_request(a_set("collector", 1, ask(0)), 1)});
    CHECK(written(run_cycle({nodes, {seen(group)}}, {}, kNow)) == Lines{"a request-1: n1#2"});
  }
}

// Growth gangs request-5 and request-6 of one collector each, planned on `nodes`.
gang::PodGroup grown(const std::vector<std::string>& nodes, bool first_committed,
                     bool second_committed) {
  auto first = in_request(a_set("collector", 0, ask(1)), 5);
  auto second = in_request(a_set("collector", 0, ask(1)), 6);
  first.slots = {{4096, 0}};
  second.slots = {{4097, 2}};
  gang::PodGroup group =
      planned(a_group("a", {a_set("coordinator", 1, ask(0)), first, second}), {nodes[0]}, true);
  group = planned(group, {nodes[1]}, first_committed, "request-5");
  return planned(group, {nodes[2]}, second_committed, "request-6");
}

TEST_CASE("a slot that is not bound moves to a gang that the status does not have",
          "[extender][scheduling_cycle]") {
  gang::PodGroup group = grown({"n0", "n1", "n2"}, true, true);
  auto merged = in_request(a_set("collector", 0, ask(1)), 9);
  merged.slots = {{4096, 0}, {4097, 2}};
  group.spec.gangs = make_gangs({nth_set(group, 0), merged});
  ++group.meta.generation;
  GroupSeen one = seen(group);
  const auto* placement = gang::find_placement(group.status, "collector", {4097, 2});
  REQUIRE(placement != nullptr);
  one.open = {{*placement, OpenSlot::Why::kUnbound, {}, {}}};
  std::vector<placement::NodeView> nodes;
  for (const char* name : {"n0", "n1", "n2"}) nodes.push_back(view(a_node(name, 8)));
  CHECK(written(run_cycle({nodes, {one}}, {}, kNow)) ==
        Lines{"a base: n0#1 committed", "a request-9: n1#2 n2#3 committed"});
}

TEST_CASE("slots that move to another gang keep their placements", "[extender][scheduling_cycle]") {
  struct Row {
    std::string when;
    bool from_committed;
    bool into_committed;
    std::int64_t into;                // id of the request
    std::vector<gang::SlotId> slots;  // of that gang
    std::string full_node;
    Lines want;
  };
  const std::vector<gang::SlotId> both{{4096, 0}, {4097, 2}};
  const auto row = GENERATE_COPY(values<Row>({
      {"both are committed",
       true,
       true,
       5,
       both,
       "",
       {"a base: n0#1 committed", "a request-5: n1#2 n2#3 committed"}},
      {"the nodes of the committed placements are full",
       true,
       true,
       5,
       both,
       "n2",
       {"a base: n0#1 committed", "a request-5: n1#2 n2#3 committed"}},
      {"neither is committed",
       false,
       false,
       5,
       both,
       "",
       {"a base: n0#1 committed", "a request-5: n1#2 n2#3"}},
      {"neither is committed and one does not fit any more",
       false,
       false,
       5,
       both,
       "n2",
       {"a base: n0#1 committed", "a request-5: n1#2 n1#4"}},
      {"a gang that is not committed becomes so with a committed placement",
       true,
       false,
       5,
       both,
       "",
       {"a base: n0#1 committed", "a request-5: n1#2 n2#3 committed"}},
      {"a placement that is not committed moves to a committed gang",
       false,
       true,
       5,
       both,
       "",
       {"a base: n0#1 committed", "a request-5: n1#2 n2#3 committed"}},
      {"a placement that is not committed does not fit any more",
       false,
       true,
       5,
       both,
       "n2",
       {"a base: n0#1 committed", "a request-5: n1#2 n0#4 committed"}},
      {"to a gang of another name",
       true,
       true,
       9,
       both,
       "",
       {"a base: n0#1 committed", "a request-9: n1#2 n2#3 committed"}},
      {"beside a slot that is new",
       true,
       true,
       5,
       {{4096, 0}, {4097, 2}, {4098, 0}},
       "",
       {"a base: n0#1 committed", "a request-5: n1#2 n2#3 n0#4 committed"}},
      {"with another incarnation",
       true,
       true,
       5,
       {{4096, 0}, {4097, 3}},
       "",
       {"a base: n0#1 committed", "a request-5: n1#2 n0#4 committed"}},
      {"one slot was removed at the same time",
       true,
       true,
       5,
       {{4097, 2}},
       "",
       {"a base: n0#1 committed", "a request-5: n2#3 committed"}},
  }));
  INFO("when " << row.when);
  gang::PodGroup group = grown({"n0", "n1", "n2"}, row.into_committed, row.from_committed);
  auto merged = in_request(a_set("collector", 0, ask(1)), row.into);
  merged.slots = row.slots;
  group.spec.gangs = make_gangs({nth_set(group, 0), merged});
  ++group.meta.generation;
  std::vector<placement::NodeView> nodes;
  for (const char* name : {"n0", "n1", "n2"}) {
    nodes.push_back(row.full_node == name ? view(a_node(name, 1), capacity(1, 0, 0))
                                          : view(a_node(name, 8)));
  }
  const CycleResult result = run_cycle({nodes, {seen(group)}}, {}, kNow);
  CHECK(written(result) == row.want);
  REQUIRE(result.writes.size() == 1);
  group.status = result.writes[0].status;
  CHECK(run_cycle({nodes, {seen(group)}}, {}, kNow).writes.empty());
}

TEST_CASE("a placement that moves to a committed gang keeps its capacity",
          "[extender][scheduling_cycle]") {
  gang::PodGroup group = grown({"n0", "n1", "n1"}, true, false);
  auto merged = list_members(group)[1];
  merged.slots.push_back({4097, 2});
  group.spec.gangs = make_gangs({nth_set(group, 0), merged});
  ++group.meta.generation;
  // request-6 is not committed, so its placement counts as free here; the other group is first in
  // the queue.
  const auto n1 = view(a_node("n1", 1));
  const auto other = a_group("b", {a_set("learner", 1, ask(1))}, 0, 5);
  CHECK(written(run_cycle({{n1}, {seen(group), seen(other)}}, {}, kNow)) ==
        Lines{"b base: waits", "a base: n0#1 committed", "a request-5: n1#2 n1#3 committed"});
  GroupSeen unknown = unconfirmed(group);
  CHECK(written(run_cycle({{n1}, {unknown, seen(other)}}, {}, kNow)) == Lines{"b base: waits"});
}

TEST_CASE("what the API server rejected is not planned again", "[extender][scheduling_cycle]") {
  const auto nodes = std::vector{view(a_node("n1", 8), capacity(8, 1, 1)), view(a_node("n2", 8))};
  gang::PodGroup group = planned(learners("a", 1), {"n1"}, true);
  nth_set(group, 0).slots.push_back({1, 0});
  add_member(group, in_request(a_set("collector", 1, ask(0)), 1));
  ++group.meta.generation;
  const auto cycle = [&](Rejection::Extent extent, std::int64_t generation) {
    CycleState state;
    state.rejections[group.meta.uid] = {extent, generation, "too large", {}};
    return written(run_cycle({nodes, {seen(group)}}, CycleState(state), kNow));
  };
  CHECK(cycle(Rejection::Extent::kNewGangs, 2) ==
        Lines{"a base: n1#1 n2#2 committed", "a request-1: waits"});
  CHECK(cycle(Rejection::Extent::kNewPlacements, 2) ==
        Lines{"a base: n1#1 waits committed", "a request-1: waits"});
  CHECK(cycle(Rejection::Extent::kAnyStatus, 2).empty());
  CHECK(cycle(Rejection::Extent::kAnyStatus, 1) ==  // of an older spec
        Lines{"a base: n1#1 n2#2 committed", "a request-1: n1#3"});
}

TEST_CASE("placement numbers are never used again", "[extender][scheduling_cycle]") {
  const auto n1 = view(a_node("n1", 8));
  gang::PodGroup group = planned(learners("a", 1), {"n1"});
  auto dropped = run_cycle({{}, {seen(group)}}, {}, kNow);
  REQUIRE(dropped.writes.size() == 1);
  group.status = dropped.writes[0].status;
  CHECK(group.status.next_placement == 2);
  CHECK(written(run_cycle({{n1}, {seen(group)}}, {}, kNow)) == Lines{"a base: n1#2"});
}

TEST_CASE("a gang that waits reports why; changed numbers alone once a minute",
          "[extender][scheduling_cycle]") {
  const auto nodes = [](int full) {
    std::vector<placement::NodeView> views;
    views.reserve(3);
    for (int i = 0; i < 3; ++i) {
      views.push_back(view(a_node("n" + std::to_string(i), 8), capacity(i < full ? 8 : 0, 0, 0)));
    }
    return views;
  };
  gang::PodGroup group = learners("a", 3);
  auto first = run_cycle({nodes(2), {seen(group)}}, {}, kNow);
  REQUIRE(first.writes.size() == 1);
  group.status = first.writes[0].status;
  CHECK(group.status.gangs[0].reason == "Unschedulable");
  CHECK(group.status.gangs[0].message ==
        "learner: 2 of 3 do not fit: each needs nvidia.com/gpu 8; 1 node has it free, 2 more are "
        "full");
  CHECK(group.status.gangs[0].since == kNow);

  const auto soon = kNow + std::chrono::seconds(20);
  auto second = run_cycle({nodes(1), {seen(group)}}, {first.state.reports}, soon);
  CHECK(second.writes.empty());
  CHECK(second.look_again == std::chrono::seconds(40));

  const auto later = kNow + std::chrono::seconds(60);
  auto third = run_cycle({nodes(1), {seen(group)}}, {second.state.reports}, later);
  REQUIRE(third.writes.size() == 1);
  CHECK(third.writes[0].status.gangs[0].message.find("1 of 3 does not fit") != std::string::npos);
  CHECK(third.writes[0].status.gangs[0].since == kNow);
  CHECK_FALSE(third.look_again.has_value());
}

}  // namespace
}  // namespace nervex::planner
