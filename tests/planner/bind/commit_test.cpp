#include "planner/bind/commit.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/support/error_message.h"
#include "tests/support/gang_builders.h"

namespace nervex::planner {
namespace {

using testing::a_group;
using testing::a_node;
using testing::a_set;
using testing::add_member;
using testing::ask;
using testing::capacity;
using testing::error_message;
using testing::in_request;
using testing::not_ready;
using testing::nth_set;
using testing::planned;
using testing::tainted;
using testing::view;

gang::PodGroup job() {
  return planned(a_group("dqn-1", {a_set("coordinator", 1, ask(0)), a_set("learner", 2, ask(4))}),
                 {"n2", "n1", "n1"});
}

TEST_CASE("a gang is committed only if every member still has its placement",
          "[extender][commit]") {
  struct Row {
    std::string when;
    gang::PodGroup group;
    std::vector<placement::NodeView> nodes;
    std::string want;
  };
  gang::PodGroup lacking = job();
  lacking.status.gangs[0].placements.pop_back();
  gang::PodGroup dropped = job();
  dropped.status.gangs[0].planned = false;
  gang::PodGroup shrunk = job();
  nth_set(shrunk, 1).slots.pop_back();
  gang::PodGroup replaced = job();
  nth_set(replaced, 1).slots[1].incarnation = 1;
  const auto n2 = view(a_node("n2", 0));
  const auto row = GENERATE_COPY(values<Row>({
      {"all have capacity", job(), {view(a_node("n1", 8)), n2}, ""},
      {"one lacks capacity",
       job(),
       {view(a_node("n1", 8), capacity(1, 0, 0)), n2},
       "learner/1: node n1 has 3 nvidia.com/gpu left and learner needs 4"},
      {"two of the gang were planned on one host port",
       planned(a_group("dqn-1", {testing::on_port(a_set("learner", 2, ask(1)), 80)}), {"n1", "n1"}),
       {view(a_node("n1", 8))},
       "learner/1: hostPort TCP/80 is taken on node n1 and learner needs it"},
      {"another pod holds the host port",
       planned(a_group("dqn-1", {testing::on_port(a_set("learner", 1, ask(1)), 80)}), {"n1"}),
       {view(a_node("n1", 8), {{"hostPort:TCP/80", 1}})},
       "learner/0: hostPort TCP/80 is taken on node n1 and learner needs it"},
      {"two of the gang were planned in one zone",
       planned(a_group("dqn-1", {testing::apart_by(a_set("learner", 2, ask(1)), "zone")}),
               {"n1", "n2"}),
       {view(testing::labelled(a_node("n1", 8), "zone", "x")),
        view(testing::labelled(a_node("n2", 8), "zone", "x"))},
       "learner/1: learner keeps apart by zone from a pod on node n2 or near it"},
      {"a node was deleted", job(), {view(a_node("n1", 8))}, "coordinator/0: node n2 was deleted"},
      {"a node is not ready",
       job(),
       {view(not_ready(a_node("n1", 8))), n2},
       "learner/0: node n1 is not ready"},
      {"a node was tainted",
       job(),
       {view(tainted(a_node("n1", 8))), n2},
       "learner/0: node n1 is tainted"},
      {"a slot has no placement",
       lacking,
       {view(a_node("n1", 8)), n2},
       "gang base lacks a placement for learner/1"},
      {"a slot's incarnation has no placement",
       replaced,
       {view(a_node("n1", 8)), n2},
       "gang base lacks a placement for learner/1"},
      {"the plan was dropped", dropped, {view(a_node("n1", 8)), n2}, "gang base has no plan"},
      {"a slot that is not wanted any more lacks capacity",
       shrunk,
       {view(a_node("n1", 8), capacity(4, 0, 0)), n2},
       ""},
  }));
  INFO("when " << row.when);
  CHECK(error_message(check_commit(row.group, "base", row.nodes)) == row.want);
}

TEST_CASE("only the gang itself is checked", "[extender][commit]") {
  gang::PodGroup group = job();
  add_member(group, in_request(a_set("collector", 1, ask(8)), 1));
  const std::vector nodes{view(a_node("n1", 8)), view(a_node("n2", 0))};
  CHECK(error_message(check_commit(group, "base", nodes)).empty());
  CHECK(error_message(check_commit(group, "request-1", nodes)) == "gang request-1 has no plan");
}

TEST_CASE("a pod is bound only for the current placement of its slot", "[extender][commit]") {
  struct Row {
    std::string when;
    gang::PodSlot slot;
    SlotSeen seen;
    std::string ns;
    std::string node;
    std::string want;
  };
  const auto group = std::make_shared<const gang::PodGroup>(job());
  const gang::PodSlot slot{"uid-dqn-1", "learner", {0, 0}, 2};
  const SlotSeen seen{group, gang::Placement{"learner", {0, 0}, "n1", 2}, "base", false, {}};
  const SlotSeen moved{group, gang::Placement{"learner", {0, 0}, "n1", 5}, "base", false, {}};
  const SlotSeen newer{group, gang::Placement{"learner", {0, 1}, "n1", 2}, "base", false, {}};
  const SlotSeen none{group, std::nullopt, "", false, {}};
  const auto row = GENERATE_COPY(values<Row>({
      {"all is as planned", slot, seen, "rl", "n1", ""},
      {"the PodGroup is not known", slot, {}, "rl", "n1", "the pod's PodGroup was not seen yet"},
      {"the PodGroup is of another namespace", slot, seen, "x", "n1",
       "the pod names a PodGroup of another namespace"},
      {"the placement moved", slot, moved, "rl", "n1", "placement 2 of learner/0 was superseded"},
      {"the slot has no placement", slot, none, "rl", "n1",
       "placement 2 of learner/0 was superseded"},
      {"the slot has a newer incarnation", slot, newer, "rl", "n1",
       "placement 2 of learner/0 was superseded"},
      {"the scheduler chose another node", slot, seen, "rl", "n3",
       "learner/0 is planned on node n1"},
  }));
  INFO("when " << row.when);
  CHECK(error_message(check_bind(row.slot, row.seen, row.ns, row.node)) == row.want);
}

}  // namespace
}  // namespace nervex::planner
