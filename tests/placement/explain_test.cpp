#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "placement/explain.h"
#include "placement/plan.h"
#include "tests/support/gang_builders.h"

namespace nervex::placement {
namespace {

using testing::a_node;
using testing::a_set;
using testing::apart_by;
using testing::ask;
using testing::capacity;
using testing::cordoned;
using testing::labelled;
using testing::not_ready;
using testing::on_port;
using testing::selecting;
using testing::tainted;
using testing::view;

std::vector<NodeView> copies(int count, const std::string& prefix, const NodeView& like) {
  std::vector<NodeView> nodes;
  for (int i = 0; i < count; ++i) {
    kube::Node node = *like.node;
    node.name = prefix + std::to_string(i);
    nodes.push_back({std::make_shared<const kube::Node>(node), like.free});
  }
  return nodes;
}

std::vector<NodeView> operator+(std::vector<NodeView> a, const std::vector<NodeView>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST_CASE("an explanation is one sentence with role, resource and numbers",
          "[placement][explain]") {
  struct Row {
    std::string when;
    std::vector<gang::MemberSet> members;
    std::vector<NodeView> nodes;
    std::string want;
  };
  const auto gpu = view(a_node("", 8));
  const auto full = view(a_node("", 8), capacity(4, 0, 0));
  const auto row = GENERATE_COPY(values<Row>({
      {"some of a set fit",
       {a_set("learner", 32, ask(8))},
       copies(26, "free", gpu) + copies(9, "full", full) +
           copies(3, "tainted", view(tainted(a_node("", 8)))),
       "learner: 6 of 32 do not fit: each needs nvidia.com/gpu 8; 26 nodes have it free, 9 more "
       "are full, 3 have untolerated taints"},
      {"one pod of a set does not fit",
       {a_set("learner", 2, ask(8))},
       copies(1, "free", gpu) + copies(1, "full", full),
       "learner: 1 of 2 does not fit: each needs nvidia.com/gpu 8; 1 node has it free, 1 more is "
       "full"},
      {"the set is one pod",
       {a_set("coordinator", 1, ask(0, 4))},
       {view(a_node("n", 0), capacity(0, 61, 0))},
       "coordinator: does not fit: it needs cpu 4; no node has it free, 1 is full"},
      {"an earlier set of the gang took the capacity",
       {a_set("learner", 1, ask(8)), a_set("collector", 2, ask(4))},
       copies(1, "free", gpu) + copies(1, "full", view(a_node("", 8), capacity(8, 0, 0))),
       "collector: 2 of 2 do not fit: each needs nvidia.com/gpu 4; no node has it free, 2 are "
       "full"},
      {"the sets fit the empty nodes alone, but not together",
       {a_set("learner", 1, ask(8)), a_set("collector", 2, ask(4))},
       copies(1, "free", gpu) + copies(1, "other", view(a_node("", 0))),
       "collector: can never fit beside the rest of its gang: each needs nvidia.com/gpu 4; the nodes cannot hold all pods of the gang even when empty"},
      {"two sets that keep apart from each other have one node",
       {on_port(a_set("learner", 1, ask(0)), 8080), on_port(a_set("collector", 1, ask(0)), 8080)},
       {view(a_node("a", 8)), view(labelled(a_node("b", 0), "x", "y"), capacity(0, 64, 0)),
        view(tainted(a_node("c", 0)))},
       "learner: does not fit: it needs cpu 1; no node has it free, 2 are full, 1 has an "
       "untolerated taint"},
      {"pods that keep apart by two labels at once: two racks in one zone",
       {apart_by(apart_by(a_set("learner", 3, ask(0)), "zone"), "rack")},
       {view(labelled(labelled(a_node("a", 0), "zone", "x"), "rack", "1")),
        view(labelled(labelled(a_node("b", 0), "zone", "x"), "rack", "2")),
        view(labelled(labelled(a_node("c", 0), "zone", "y"), "rack", "3")),
        view(labelled(labelled(a_node("d", 0), "zone", "z"), "rack", "3"))},
       "learner: 1 of 3 can never fit: each needs a rack of its own (podAntiAffinity); the nodes "
       "have capacity for 2 even when empty"},
      {"the only large node is tainted: taints change",
       {a_set("learner", 1, ask(16))},
       {view(a_node("a", 8)), view(a_node("b", 4)), view(tainted(a_node("c", 16)))},
       "learner: does not fit: it needs nvidia.com/gpu 16; no node has it free, 2 are too small, 1 "
       "has an untolerated taint"},
      {"the only large node is cordoned, another one not ready",
       {a_set("learner", 2, ask(16))},
       {view(a_node("a", 8)), view(cordoned(a_node("b", 16))), view(not_ready(a_node("c", 16)))},
       "learner: 2 of 2 do not fit: each needs nvidia.com/gpu 16; no node has it free, 1 is too "
       "small, 1 is not ready, 1 is cordoned"},
      {"the tainted node would not be selected either",
       {selecting(a_set("learner", 1, ask(16)), "pool", "rl")},
       {view(labelled(a_node("a", 8), "pool", "rl")), view(tainted(a_node("c", 16)))},
       "learner: can never fit: it needs nvidia.com/gpu 16; the largest node has 8 even when "
       "empty, 1 has an untolerated taint"},
      {"another role can never fit, though the first one only waits",
       {a_set("learner", 1, ask(8)), a_set("collector", 1, ask(0, 100))},
       copies(1, "full", full),
       "collector: can never fit: it needs cpu 100; the largest node has 64 even when empty"},
      {"some nodes are too small for it",
       {a_set("learner", 1, ask(8))},
       {view(a_node("a", 8), capacity(1, 0, 0)), view(a_node("b", 4)), view(a_node("c", 0))},
       "learner: does not fit: it needs nvidia.com/gpu 8; no node has it free, 1 is full, 2 are "
       "too small"},
      {"memory is short",
       {a_set("learner", 2, kube::Resources{{"cpu", 1000}, {"memory", 200 * testing::kGi}})},
       {view(a_node("a", 8), capacity(0, 32, 0)), view(a_node("b", 8))},
       "learner: 1 of 2 does not fit: each needs memory 200Gi; 1 node has it free, 1 more is full"},
      {"no node is large enough",
       {a_set("learner", 4, ask(16))},
       {view(a_node("a", 8)), view(a_node("b", 4)), view(tainted(a_node("c", 8)))},
       "learner: 4 of 4 can never fit: each needs nvidia.com/gpu 16; the largest node has 8 even "
       "when empty, 1 has an untolerated taint"},
      {"a tainted node would hold some of the set",
       {a_set("learner", 4, ask(16))},
       {view(a_node("a", 8)), view(a_node("b", 4)), view(tainted(a_node("c", 16)))},
       "learner: 3 of 4 can never fit: each needs nvidia.com/gpu 16; the nodes have capacity for 1 "
       "even when empty, 1 has an untolerated taint"},
      {"the resource that is short in an empty cluster is named, not the one that is short now",
       {a_set("learner", 1, ask(8, 100))},
       {view(a_node("a", 8), capacity(8, 0, 0))},
       "learner: can never fit: it needs cpu 100; the largest node has 64 even when empty"},
      {"no node has both",
       {a_set("learner", 1, ask(8, 100))},
       {view(a_node("a", 8)), view(a_node("b", 0, 128))},
       "learner: can never fit: it needs nvidia.com/gpu 8 beside its other requests; no node has "
       "both even when empty"},
      {"the cluster is too small for the set",
       {a_set("learner", 40, ask(8))},
       copies(32, "free", gpu),
       "learner: 8 of 40 can never fit: each needs nvidia.com/gpu 8; the nodes have capacity for "
       "32 "
       "even when empty"},
      {"it would fit if a node came back",
       {a_set("learner", 2, ask(8))},
       {view(a_node("a", 8)), view(not_ready(a_node("b", 8)))},
       "learner: 1 of 2 does not fit: each needs nvidia.com/gpu 8; 1 node has it free, 1 is not "
       "ready"},
      {"no node is allowed",
       {selecting(a_set("learner", 2, ask(8)), "pool", "rl")},
       {view(tainted(labelled(a_node("a", 8), "pool", "rl"))), view(a_node("b", 8)),
        view(a_node("c", 8)), view(not_ready(labelled(a_node("d", 8), "pool", "rl")))},
       "learner: no node is allowed: 1 has an untolerated taint, 2 do not match nodeSelector or "
       "affinity, 1 is not ready"},
      {"a node is cordoned, and would do",
       {a_set("learner", 2, ask(8))},
       {view(a_node("a", 8)), view(cordoned(a_node("b", 8)))},
       "learner: 1 of 2 does not fit: each needs nvidia.com/gpu 8; 1 node has it free, 1 is "
       "cordoned"},
      {"a host port is taken",
       {on_port(a_set("collector", 2, ask(0)), 8080)},
       {view(a_node("a", 0), {{"hostPort:TCP/8080", 1}}), view(a_node("b", 0))},
       "collector: 1 of 2 does not fit: each needs hostPort TCP/8080; 1 node has it free, 1 more "
       "is "
       "full"},
      {"there are fewer nodes than pods with one host port",
       {on_port(a_set("collector", 3, ask(0)), 8080)},
       copies(2, "free", view(a_node("", 0))),
       "collector: 1 of 3 can never fit: each needs hostPort TCP/8080; the nodes have capacity for "
       "2 even when empty"},
      {"GPUs are short, not the host port",
       {on_port(a_set("learner", 2, ask(8)), 8080)},
       {view(a_node("a", 8)), view(a_node("b", 8), capacity(4, 0, 0)), view(a_node("c", 0))},
       "learner: 1 of 2 does not fit: each needs nvidia.com/gpu 8; 1 node has it free, 1 more is "
       "full, 1 is too small"},
      {"there are fewer zones than pods that keep apart by zone",
       {apart_by(a_set("collector", 3, ask(0)), "zone")},
       {view(labelled(a_node("a", 0), "zone", "x")), view(labelled(a_node("b", 0), "zone", "x")),
        view(labelled(a_node("c", 0), "zone", "y"))},
       "collector: 1 of 3 can never fit: each needs a zone of its own (podAntiAffinity); the nodes "
       "have capacity for 2 even when empty"},
      {"a pod of its kind is in one of two zones",
       {apart_by(a_set("collector", 2, ask(0)), "zone")},
       {view(labelled(a_node("a", 0), "zone", "x")),
        view(labelled(a_node("b", 0), "zone", "x"), {{"podAntiAffinity:zone#1", 1}}),
        view(labelled(a_node("c", 0), "zone", "y"))},
       "collector: 1 of 2 does not fit: each needs a zone of its own (podAntiAffinity); 1 node has "
       "it free, 2 more are full"},
      {"its volume cannot be used on some nodes",
       {[] {
         auto set = a_set("learner", 1, ask(8));
         set.shape.constraints.edit([](kube::NodeConstraints& constraints) {
           constraints.volume_terms = *kube::parse_json(
               R"([[{"matchExpressions":[{"key":"zone","operator":"Exists"}]}]])");
         });
         return set;
       }()},
       {view(a_node("a", 8)), view(labelled(a_node("b", 8), "zone", "x"), capacity(1, 0, 0))},
       "learner: does not fit: it needs nvidia.com/gpu 8; no node has it free, 1 is full, 1 cannot "
       "reach its volume"},
      {"there is no node", {a_set("learner", 2, ask(8))}, {}, "learner: the cluster has no nodes"},
  }));
  INFO("when " << row.when);
  const Plan plan = plan_gang(row.members, row.nodes);
  REQUIRE(std::holds_alternative<gang::NoFit>(plan));
  CHECK(explain(std::get<gang::NoFit>(plan)) == row.want);
}

TEST_CASE("a gang over quota says by how much and how much is used", "[placement][explain]") {
  constexpr std::int64_t kGi = testing::kGi;
  CHECK(explain(gang::OverQuota{"team", "requests.memory", kGi, 4 * kGi, 3 * kGi, 0, 2 * kGi}) ==
        "over quota by requests.memory 1Gi: resourcequota team allows 4Gi, 3Gi are used, the gang "
        "needs 2Gi");
  CHECK(explain(gang::OverQuota{"team", "pods", 2, 3, 1, 0, 4}) ==
        "over quota by pods 2: resourcequota team allows 3, 1 is used, the gang needs 4, more than "
        "the whole quota");
}

TEST_CASE("an explanation counts the nodes that are avoided", "[placement][explain]") {
  struct Row {
    std::string when;
    int wanted;
    std::vector<NodeLimit> limits;
    std::string want;
  };
  const auto row = GENERATE(values<Row>({
      {"no pod may go there",
       3,
       {{"learner", "a", 0}, {"learner", "b", 0}},
       "learner: 2 of 3 do not fit: each needs nvidia.com/gpu 8; 1 node has it free, 2 are avoided "
       "after pods were refused there"},
      {"one pod may go there, but not two",
       4,
       {{"learner", "c", 1}, {"learner", "a", 0}},
       "learner: 1 of 4 does not fit: each needs nvidia.com/gpu 8; 2 nodes have it free, 2 are "
       "avoided after pods were refused there"},
      {"no other node is allowed",
       1,
       {{"learner", "a", 0}, {"learner", "b", 0}, {"learner", "c", 0}},
       "learner: does not fit: it needs nvidia.com/gpu 8; no other node may be used: 3 are avoided "
       "after pods were refused there"},
      {"it fits only an empty cluster without limits, which is no proof",
       5,
       {{"learner", "a", 0}},
       "learner: 2 of 5 do not fit: each needs nvidia.com/gpu 8; 2 nodes have it free, 1 is "
       "avoided "
       "after a pod was refused there"},
  }));
  INFO("when " << row.when);
  const std::vector<gang::MemberSet> members{a_set("learner", row.wanted, ask(8))};
  std::vector<NodeView> nodes{view(a_node("a", 16)), view(a_node("b", 16)), view(a_node("c", 16))};
  if (row.wanted != 4) nodes[2] = view(a_node("c", 8));
  const Plan plan = plan_gang(members, nodes, row.limits);
  REQUIRE(std::holds_alternative<gang::NoFit>(plan));
  CHECK(explain(std::get<gang::NoFit>(plan)) == row.want);
}

TEST_CASE("an explanation says how many pods are only reserved for", "[placement][explain]") {
  struct Row {
    int wanted = 0;
    int reserved = 0;
    std::string want;
  };
  const auto row = GENERATE(values<Row>({
      {3, 0, "learner: 1 of 3 does not fit: each needs nvidia.com/gpu 8; 1 node has it free"},
      {3, 3,
       "learner: 1 of 3 does not fit: each needs nvidia.com/gpu 8; 1 node has it free; all 3 are "
       "reserved capacity for requests (reservedReplicas)"},
      {3, 1,
       "learner: 1 of 3 does not fit: each needs nvidia.com/gpu 8; 1 node has it free; 1 of the 3 "
       "is reserved capacity for requests (reservedReplicas)"},
      {1, 1,
       "learner: does not fit: it needs nvidia.com/gpu 8; 1 node has it free; it is reserved "
       "capacity for requests (reservedReplicas)"},
  }));
  gang::InsufficientCapacity cause{{"learner", row.wanted, 1, row.reserved}, {"nvidia.com/gpu", 8}};
  cause.set.nodes.free = 1;
  CHECK(explain(cause) == row.want);
}

TEST_CASE("an explanation without the role fits behind a field path", "[placement][explain]") {
  CHECK(explain_without_role(gang::NoNodeAllowed{{"learner", 1, 1}}) == "the cluster has no nodes");
}

TEST_CASE("an explanation says if nodes are reserved, and not for whom", "[placement][explain]") {
  gang::InsufficientCapacity cause{{"learner", 1, 1}, {"nvidia.com/gpu", 8}};
  cause.set.nodes.full = 2;
  const std::string start =
      "learner: does not fit: it needs nvidia.com/gpu 8; no node has it free, 2 are full";
  CHECK(explain(cause) == start);
  cause.reservation = gang::ReservationOutcome::kOwn;
  CHECK(explain(cause) == start + "; nodes are reserved for the gang until it fits there");
  cause.reservation = gang::ReservationOutcome::kOfOthers;
  CHECK(explain(cause) ==
        start +
            "; some nodes are reserved for another job: only jobs that end in time "
            "(activeDeadlineSeconds) or can be reclaimed (preemptible) start there");
}

}  // namespace
}  // namespace nervex::placement
