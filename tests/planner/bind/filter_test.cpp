#include "planner/bind/filter.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/support/gang_builders.h"

namespace nervex::planner {
namespace {

using testing::a_group;
using testing::a_set;
using testing::ask;
using testing::nth_set;
using testing::planned;

// learner/0 with placement 1 on n1, learner/1 with placement 2 on n2; next is 3.
gang::PodGroup two_learners() {
  return planned(a_group("dqn-1", {a_set("learner", 2, ask(8))}), {"n1", "n2"});
}

gang::PodSlot slot(int ordinal, int incarnation, std::int64_t placement) {
  return {"uid-dqn-1", "learner", {ordinal, incarnation}, placement};
}

SlotSeen seen(const gang::PodGroup& group, std::optional<gang::Placement> placement) {
  return {std::make_shared<const gang::PodGroup>(group),
          std::move(placement),
          "base",
          false,
          nth_set(group, 0).shape.requests,
          false,
          group.status.next_placement};
}

kube::FilterResult error(std::string text) { return {{}, {}, std::move(text)}; }
kube::FilterResult no_node(std::string text) { return {{}, {{"n1", std::move(text)}}, ""}; }

TEST_CASE("a gang's pod passes filter on its planned node only", "[extender][filter]") {
  struct Row {
    std::string when;
    gang::PodSlot pod;
    SlotSeen seen;
    std::vector<std::string> names;
    kube::FilterResult want;
  };
  const gang::PodGroup group = two_learners();
  const gang::Placement first{"learner", {0, 0}, "n1", 1};
  const gang::Placement second{"learner", {1, 0}, "n2", 2};
  gang::PodGroup elsewhere = group;
  elsewhere.meta.ns = "other";
  const auto row = GENERATE_COPY(values<Row>({
      {"it is planned on one of the nodes",
       slot(1, 0, 2),
       seen(group, second),
       {"n1", "n2"},
       {{"n2"}, {}, ""}},
      {"it is pinned to its node", slot(0, 0, 1), seen(group, first), {"n1"}, {{"n1"}, {}, ""}},
      {"its PodGroup was not seen",
       slot(0, 0, 1),
       {},
       {"n1"},
       error("the pod's PodGroup was not seen yet, retrying")},
      {"its placement is newer than the cache",
       slot(0, 0, 3),
       seen(group, first),
       {"n1"},
       error("placement 3 of podgroup dqn-1 was not seen yet, retrying")},
      {"its slot has another placement since",
       slot(0, 0, 1),
       seen(planned(group, {"n1", "n2"}), gang::Placement{"learner", {0, 0}, "n1", 3}),
       {"n1"},
       no_node("placement 1 of learner/0 was superseded: delete this pod, its gang is planned "
               "again with new pods")},
      {"its gang lost its placements",
       slot(0, 0, 1),
       seen(group, std::nullopt),
       {"n1"},
       no_node("placement 1 of learner/0 was superseded: delete this pod, its gang is planned "
               "again with new pods")},
      {"it is of an older incarnation",
       slot(0, 0, 1),
       seen(group, gang::Placement{"learner", {0, 1}, "n1", 1}),
       {"n1"},
       no_node("placement 1 of learner/0 was superseded: delete this pod, its gang is planned "
               "again with new pods")},
      {"kube-scheduler's plugins rejected its node",
       slot(1, 0, 2),
       seen(group, second),
       {"n1", "n3"},
       no_node("learner/1 is planned on node n2, which the scheduler's own checks refused")},
      {"it names a PodGroup of another namespace",
       slot(0, 0, 1),
       seen(elsewhere, first),
       {"n1"},
       no_node("the pod names a PodGroup of another namespace")},
      {"kube-scheduler names no node", slot(0, 0, 1), seen(group, first), {}, {}},
  }));
  INFO("when " << row.when);
  kube::FilterArgs args;
  args.pod.meta.ns = "rl";
  args.node_names = row.names;
  CHECK(filter(args, {true, row.pod, row.seen, {}}) == row.want);
}

TEST_CASE("a pod that admission made larger than planned is retried until the plan has followed",
          "[extender][filter]") {
  const gang::Placement placement{"learner", {0, 0}, "n1", 1};
  kube::FilterArgs args;
  args.pod.meta.ns = "rl";
  args.node_names = {"n1"};
  args.pod.requests = ask(8);
  const FilterView view{true, slot(0, 0, 1), seen(two_learners(), placement), {}};
  CHECK(filter(args, view).node_names == std::vector<std::string>{"n1"});
  args.pod.requests.set("memory", 1LL << 30);
  CHECK(filter(args, view) ==
        error("learner/0 asks for memory 1Gi but 0 was planned: a LimitRange, RuntimeClass or "
              "injected sidecar enlarged the pod; its gang is planned again"));
}

TEST_CASE("filter answers an error until the caches are synced", "[extender][filter]") {
  kube::FilterArgs args;
  args.node_names = {"n1"};
  CHECK(filter(args, {}) == error("nervex-extender has not read the cluster yet, retrying"));
}

TEST_CASE("a pod with invalid gang annotations fits no node", "[extender][filter]") {
  kube::FilterArgs args;
  args.pod.meta.annotations.emplace(gang::kPodGroupUidAnnotation, "uid-dqn-1");
  args.node_names = {"n1"};
  CHECK(filter(args, {true, std::nullopt, {}, {}}) ==
        no_node("the pod's gang annotations are damaged"));
}

TEST_CASE("a pod of no gang takes no capacity that is reserved for gangs", "[extender][filter]") {
  struct Row {
    std::string when;
    std::vector<ReservedNode> reserved;
    kube::FilterResult want;
  };
  const auto row = GENERATE(values<Row>({
      {"nothing is reserved anywhere", {}, {{"n1", "n2"}, {}, ""}},
      {"a node has enough unreserved capacity", {{"n1", ask(4)}}, {{"n1", "n2"}, {}, ""}},
      {"a node has too little", {{"n1", ask(3)}}, {{"n2"}, {}, ""}},
      {"no node has enough",
       {{"n1", ask(3)}, {"n2", ask(0)}},
       no_node("capacity is reserved for gangs")},
      {"a node is overcommitted by reservations",
       {{"n1", kube::Resources{{"cpu", -1}}}},
       {{"n2"}, {}, ""}},
      {"a node is not known yet", {{"n1", std::nullopt}}, {{"n2"}, {}, ""}},
      {"the only node with enough is not known yet",
       {{"n1", std::nullopt}, {"n2", ask(0)}},
       {{},
        {},
        "capacity is reserved for gangs on node n1, which nervex-extender does not know yet, "
        "retrying"}},
  }));
  INFO("when " << row.when);
  kube::FilterArgs args;
  args.pod.requests = ask(4);
  args.node_names = {"n1", "n2"};
  CHECK(filter(args, {true, std::nullopt, {}, row.reserved}) == row.want);
}

}  // namespace
}  // namespace nervex::planner
