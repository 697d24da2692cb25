#include "placement/plan.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <map>

#include "kube/model/device_class.h"
#include "tests/support/gang_builders.h"

namespace nervex::placement {
namespace {

using testing::a_node;
using testing::a_set;
using testing::apart_by;
using testing::ask;
using testing::capacity;
using testing::labelled;
using testing::Member;
using testing::not_ready;
using testing::on_port;
using testing::preferring;
using testing::selecting;
using testing::tainted;
using testing::tolerating;
using testing::view;
using testing::with_taint;

// "learner/0" -> "n1"; empty: no plan.
using NodeBySlot = std::map<std::string, std::string>;

NodeBySlot node_by_slot(const Plan& plan) {
  NodeBySlot out;
  if (std::holds_alternative<gang::NoFit>(plan)) return out;
  for (const Assignment& a : std::get<std::vector<Assignment>>(plan)) {
    out[a.role + "/" + std::to_string(a.slot.ordinal)] = a.node;
  }
  return out;
}

TEST_CASE("resources left to kube-scheduler do not decide which node fits best",
          "[placement][plan][dra]") {
  const auto node = [](std::string name, std::int64_t gpus, std::int64_t cores) {
    kube::Node made = a_node(std::move(name), gpus, cores);
    made.allocatable = kube::with_delegated(made.allocatable, {"example.com/gpu"});
    return made;
  };
  // n1 has more of it left, since pods on n2 have some; n2 has less cpu left.
  kube::Resources used{{"cpu", 1000}, {"example.com/gpu", 4}};
  Member asks = a_set("learner", 1, ask(0, 2));
  asks.shape.requests.set("example.com/gpu", 1);
  const std::vector<gang::MemberSet> sets{asks};
  const Plan tight = plan_gang(sets, {view(node("n1", 0, 4)), view(node("n2", 0, 8), used)});
  CHECK(node_by_slot(tight) == NodeBySlot{{"learner/0", "n1"}});
  // A node is no node with devices because of it.
  const std::vector<gang::MemberSet> others{a_set("collector", 1, ask(0))};
  const Plan plain = plan_gang(others, {view(node("n1", 0, 8)), view(a_node("n2", 8, 4))});
  CHECK(node_by_slot(plain) == NodeBySlot{{"collector/0", "n1"}});
  // One that lists some of it comes first.
  kube::Node lists = a_node("n2", 0, 64);
  lists.allocatable.set("example.com/gpu", 2);
  const Plan mixed = plan_gang(sets, {view(node("n1", 0, 4)), view(lists)});
  CHECK(node_by_slot(mixed) == NodeBySlot{{"learner/0", "n2"}});
}

TEST_CASE("resources left to kube-scheduler count in no total of the cluster",
          "[placement][cluster][dra]") {
  kube::Node lists = a_node("n2", 8);
  lists.allocatable.set("example.com/gpu", 2);
  kube::Node delegates = a_node("n1", 8);
  delegates.allocatable = kube::with_delegated(delegates.allocatable, {"example.com/gpu"});
  CHECK(Cluster({view(delegates)}).allocatable().get("example.com/gpu") == 0);
  CHECK(Cluster({view(delegates), view(lists)}).allocatable().get("example.com/gpu") == 2);
  CHECK(Cluster({view(delegates), view(lists)}).allocatable().get("nvidia.com/gpu") == 16);
}

TEST_CASE("plan_gang places the whole gang or no pod", "[placement][plan]") {
  struct Row {
    std::string when;
    std::vector<gang::MemberSet> members;
    std::vector<NodeView> nodes;
    NodeBySlot want;
  };
  const auto row = GENERATE(values<Row>({
      {"one node has capacity for all",
       {a_set("learner", 1, ask(4)), a_set("collector", 1, ask(1))},
       {view(a_node("a", 8))},
       {{"learner/0", "a"}, {"collector/0", "a"}}},
      {"the largest set chooses first, so a small one cannot take its capacity",
       {a_set("collector", 1, ask(1)), a_set("learner", 1, ask(4))},
       {view(a_node("a", 4)), view(a_node("b", 1))},
       {{"learner/0", "a"}, {"collector/0", "b"}}},
      {"one member fits nowhere",
       {a_set("learner", 1, ask(4)), a_set("collector", 1, ask(1))},
       {view(a_node("a", 4))},
       {}},
      {"a set spreads over what is free",
       {a_set("learner", 3, ask(4))},
       {view(a_node("a", 8)), view(a_node("b", 8), capacity(4, 0, 0))},
       {{"learner/0", "b"}, {"learner/1", "a"}, {"learner/2", "a"}}},
      {"a node's free capacity is below zero",
       {a_set("learner", 1, ask(1))},
       {view(a_node("a", 8), capacity(9, 0, 0))},
       {}},
      {"the nodes' pod limit is reached",
       {a_set("collector", 1, ask(0))},
       {view(a_node("a", 0), capacity(0, 0, 110))},
       {}},
      {"the fuller node is filled first, so that a whole node stays free",
       {a_set("learner", 1, ask(2))},
       {view(a_node("a", 8)), view(a_node("b", 8), capacity(4, 0, 0))},
       {{"learner/0", "b"}}},
      {"pods without GPUs keep away from nodes that have them",
       {a_set("collector", 2, ask(0, 4))},
       {view(a_node("a", 8)), view(a_node("b", 0, 4)), view(a_node("c", 8), capacity(8, 0, 0))},
       {{"collector/0", "b"}, {"collector/1", "c"}}},
      {"a set only goes to nodes that it selects and tolerates",
       {selecting(a_set("learner", 2, ask(1)), "pool", "rl")},
       {view(a_node("a", 8)), view(tainted(labelled(a_node("b", 8), "pool", "rl"))),
        view(not_ready(labelled(a_node("c", 8), "pool", "rl"))),
        view(labelled(a_node("d", 8), "pool", "rl"))},
       {{"learner/0", "d"}, {"learner/1", "d"}}},
      {"a set with one allowed node would lose it to a larger set",
       {a_set("learner", 1, ask(8)), selecting(a_set("collector", 1, ask(4)), "disk", "ssd")},
       {view(labelled(a_node("a", 8), "disk", "ssd")), view(a_node("b", 8))},
       {{"learner/0", "b"}, {"collector/0", "a"}}},
      {"pods of a set with one host port get a node each",
       {on_port(a_set("collector", 2, ask(0)), 8080)},
       {view(a_node("a", 0)), view(a_node("b", 0))},
       {{"collector/0", "a"}, {"collector/1", "b"}}},
      {"sets of a gang with one host port get a node each",
       {on_port(a_set("learner", 1, ask(1)), 8080), on_port(a_set("collector", 1, ask(0)), 8080)},
       {view(a_node("a", 8)), view(a_node("b", 8))},
       {{"learner/0", "a"}, {"collector/0", "b"}}},
      {"sets with different host ports share a node",
       {on_port(a_set("learner", 1, ask(1)), 8080), on_port(a_set("collector", 1, ask(0)), 8081)},
       {view(a_node("a", 8)), view(a_node("b", 8))},
       {{"learner/0", "a"}, {"collector/0", "a"}}},
      {"a pod on the node holds the host port",
       {on_port(a_set("collector", 1, ask(0)), 8080)},
       {view(a_node("a", 0), {{"hostPort:TCP/8080", 1}}), view(a_node("b", 0))},
       {{"collector/0", "b"}}},
      {"pods that keep apart by node get a node each",
       {apart_by(a_set("collector", 2, ask(0)), "kubernetes.io/hostname")},
       {view(a_node("a", 0)), view(a_node("b", 0))},
       {{"collector/0", "a"}, {"collector/1", "b"}}},
      {"pods that keep apart by zone get a zone each",
       {apart_by(a_set("collector", 2, ask(0)), "zone")},
       {view(labelled(a_node("a", 0), "zone", "x")), view(labelled(a_node("b", 0), "zone", "x")),
        view(labelled(a_node("c", 0), "zone", "y"))},
       {{"collector/0", "a"}, {"collector/1", "c"}}},
      {"sets of a gang keep apart by zone",
       {apart_by(a_set("collector", 1, ask(0)), "zone"), apart_by(a_set("x", 1, ask(1)), "zone")},
       {view(labelled(a_node("a", 8), "zone", "x")), view(labelled(a_node("b", 0), "zone", "x")),
        view(labelled(a_node("c", 0), "zone", "y"))},
       {{"collector/0", "c"}, {"x/0", "a"}}},
      {"a pod in the zone keeps others out of all of it",
       {apart_by(a_set("collector", 1, ask(0)), "zone")},
       {view(labelled(a_node("a", 0), "zone", "x")),
        view(labelled(a_node("b", 0), "zone", "x"), {{"podAntiAffinity:zone#1", 1}}),
        view(labelled(a_node("c", 0), "zone", "y"))},
       {{"collector/0", "c"}}},
      {"a node without the label is a zone of its own",
       {apart_by(a_set("collector", 2, ask(0)), "zone")},
       {view(a_node("a", 0)), view(a_node("b", 0))},
       {{"collector/0", "a"}, {"collector/1", "b"}}},
      {"nodes that a set prefers are filled first, though others would waste less",
       {preferring(a_set("learner", 2, ask(4)), "fast", 1)},
       {view(a_node("a", 4)), view(labelled(a_node("b", 8), "fast", "yes"))},
       {{"learner/0", "b"}, {"learner/1", "b"}}},
      {"the weights of preferences are added up",
       {preferring(preferring(preferring(a_set("learner", 1, ask(4)), "x", 5), "y", 3), "z", 3)},
       {view(labelled(a_node("a", 8), "x", "1")),
        view(labelled(labelled(a_node("b", 8), "y", "1"), "z", "1"))},
       {{"learner/0", "b"}}},
      {"a preference gives way where the gang would not fit otherwise",
       {preferring(a_set("learner", 1, ask(4)), "disk", 100),
        selecting(a_set("collector", 1, ask(3)), "disk", "ssd")},
       {view(a_node("a", 4)), view(labelled(a_node("b", 4), "disk", "ssd"))},
       {{"learner/0", "a"}, {"collector/0", "b"}}},
      {"a node with a PreferNoSchedule taint comes last, though others would waste more",
       {a_set("learner", 3, ask(4))},
       {view(with_taint(a_node("a", 4), "PreferNoSchedule")), view(a_node("b", 8))},
       {{"learner/0", "b"}, {"learner/1", "b"}, {"learner/2", "a"}}},
      {"that taint is tolerated",
       {tolerating(a_set("learner", 1, ask(4)))},
       {view(with_taint(a_node("a", 4), "PreferNoSchedule")), view(a_node("b", 8))},
       {{"learner/0", "a"}}},
      {"the preferred node has that taint",
       {preferring(a_set("learner", 1, ask(4)), "fast", 100)},
       {view(labelled(with_taint(a_node("a", 4), "PreferNoSchedule"), "fast", "yes")),
        view(a_node("b", 8))},
       {{"learner/0", "b"}}},
      {"a gang would not fit without the node with that taint",
       {a_set("learner", 1, ask(4)), selecting(a_set("collector", 1, ask(3)), "disk", "ssd")},
       {view(with_taint(a_node("a", 4), "PreferNoSchedule")),
        view(labelled(a_node("b", 4), "disk", "ssd"))},
       {{"learner/0", "a"}, {"collector/0", "b"}}},
      {"a node would evict the pods after a while, and another one fits",
       {tolerating(a_set("learner", 2, ask(4)), 5)},
       {view(with_taint(a_node("a", 8), "NoExecute")), view(a_node("b", 4)), view(a_node("c", 4))},
       {{"learner/0", "b"}, {"learner/1", "c"}}},
      {"the gang fits without the node that would evict its pods only in another order",
       {tolerating(a_set("learner", 1, ask(4)), 5),
        selecting(tolerating(a_set("collector", 1, ask(3)), 5), "disk", "ssd")},
       {view(with_taint(a_node("a", 8), "NoExecute")),
        view(labelled(a_node("b", 4), "disk", "ssd")), view(a_node("c", 8))},
       {{"learner/0", "c"}, {"collector/0", "b"}}},
      {"only the node that would evict the pods fits",
       {tolerating(a_set("learner", 2, ask(4)), 5)},
       {view(with_taint(a_node("a", 8), "NoExecute")), view(a_node("b", 4))},
       {{"learner/0", "b"}, {"learner/1", "a"}}},
      {"the taint that would evict them is tolerated without a limit",
       {tolerating(a_set("learner", 2, ask(4)))},
       {view(with_taint(a_node("a", 8), "NoExecute")), view(a_node("b", 16))},
       {{"learner/0", "a"}, {"learner/1", "a"}}},
      {"the gang is empty", {}, {view(a_node("a", 4))}, {}},
  }));
  INFO("when " << row.when);
  CHECK(node_by_slot(plan_gang(row.members, row.nodes)) == row.want);
}

TEST_CASE("an empty gang is placed", "[placement][plan]") {
  CHECK(plan_gang({}, {}) == Plan{std::vector<Assignment>{}});
}

TEST_CASE("slots keep their ordinals and incarnations", "[placement][plan]") {
  gang::MemberSet set = a_set("collector", 0, ask(0));
  set.slots = {{4097, 2}, {4096, 0}};
  const std::vector<NodeView> nodes{view(a_node("a", 0))};
  const Plan want =
      std::vector<Assignment>{{"collector", {4096, 0}, "a"}, {"collector", {4097, 2}, "a"}};
  CHECK(plan_gang(std::vector{set}, nodes) == want);
}

TEST_CASE("a limit keeps further pods of a set off a node", "[placement][plan]") {
  struct Row {
    std::string when;
    std::vector<NodeLimit> limits;
    NodeBySlot want;
  };
  const auto row = GENERATE(values<Row>({
      {"none is allowed there", {{"learner", "b", 0}}, {{"learner/0", "a"}, {"learner/1", "a"}}},
      {"one is allowed there", {{"learner", "b", 1}}, {{"learner/0", "b"}, {"learner/1", "a"}}},
      {"of two limits the least counts",
       {{"learner", "b", 1}, {"learner", "b", 0}},
       {{"learner/0", "a"}, {"learner/1", "a"}}},
      {"a limit below zero allows none",
       {{"learner", "b", -1}},
       {{"learner/0", "a"}, {"learner/1", "a"}}},
      {"it is another set's", {{"collector", "b", 0}}, {{"learner/0", "b"}, {"learner/1", "b"}}},
      {"the node does not exist", {{"learner", "z", 0}}, {{"learner/0", "b"}, {"learner/1", "b"}}},
      {"the others have no capacity", {{"learner", "a", 1}, {"learner", "b", 0}}, {}},
  }));
  INFO("when " << row.when);
  const std::vector<gang::MemberSet> members{a_set("learner", 2, ask(4))};
  const std::vector<NodeView> nodes{view(a_node("a", 16)),
                                    view(a_node("b", 16), capacity(8, 0, 0))};
  CHECK(node_by_slot(plan_gang(members, nodes, row.limits)) == row.want);
}

TEST_CASE("a limit of a group of nodes holds for all of them together", "[placement][plan]") {
  const auto of_class = [](const std::string& name, const std::string& value) {
    return view(testing::labelled(a_node(name, 8), "model", value));
  };
  const std::vector<NodeView> nodes{of_class("a1", "a"), of_class("a2", "a"), of_class("b1", "b"),
                                    view(a_node("c1", 8))};
  struct Row {
    std::string when;
    GroupLimit limit;
    std::vector<std::int64_t> pods;  // that fit: of 1 GPU, then of 3
  };
  const auto row = GENERATE(values<Row>({
      {"it allows less than one node has", {"model", "nvidia.com/gpu", {{"a", 5}}}, {21, 5}},
      {"it allows more than one node has", {"model", "nvidia.com/gpu", {{"a", 11}}}, {27, 7}},
      {"it allows nothing", {"model", "nvidia.com/gpu", {{"a", 0}}}, {16, 4}},
      {"it allows more than there is", {"model", "nvidia.com/gpu", {{"a", 99}}}, {32, 8}},
      {"two groups have one", {"model", "nvidia.com/gpu", {{"a", 4}, {"b", 3}}}, {15, 4}},
      {"all other nodes are closed", {"model", "nvidia.com/gpu", {{"a", 11}}, true}, {11, 3}},
      {"it is about what they do not request", {"model", "amd.com/gpu", {{"a", 0}}}, {32, 8}},
  }));
  INFO("when " << row.when);
  for (std::size_t i = 0; i < row.pods.size(); ++i) {
    const std::int64_t gpus = i == 0 ? 1 : 3;
    const auto fits = [&](std::int64_t pods) {
      const std::vector<gang::MemberSet> members{
          a_set("learner", static_cast<int>(pods), ask(gpus))};
      const std::vector limits{row.limit};
      const Plan plan = plan_gang(members, nodes, {{}, limits});
      const auto* no_fit = std::get_if<gang::NoFit>(&plan);
      if (no_fit != nullptr && pods <= (i == 0 ? 32 : 8)) CHECK_FALSE(gang::is_proof(*no_fit));
      return no_fit == nullptr;
    };
    CHECK(fits(row.pods[i]));
    CHECK_FALSE(fits(row.pods[i] + 1));
  }
}

TEST_CASE("capacity for reserved pods is planned as slots that the caller adds",
          "[placement][plan]") {
  gang::MemberSet set = a_set("learner", 1, ask(8));
  set.reserved_pods = 5;
  const std::vector<NodeView> nodes{view(a_node("a", 8)), view(a_node("b", 8))};
  CHECK(node_by_slot(plan_gang(std::vector{set}, nodes)) == NodeBySlot{{"learner/0", "a"}});
  set.slots.push_back(gang::reserved_slot(0));
  CHECK(node_by_slot(plan_gang(std::vector{set}, nodes)) ==
        NodeBySlot{{"learner/-1", "a"}, {"learner/0", "b"}});
}

}  // namespace
}  // namespace nervex::placement
