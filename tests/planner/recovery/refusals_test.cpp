// The planner learns from refusals by kube-scheduler, and the next plan avoids those nodes.
#include "planner/recovery/refusals.h"

#include <catch2/catch_test_macros.hpp>

#include "gang/avoided_nodes.h"
#include "planner/scheduling_cycle.h"
#include "tests/support/gang_builders.h"

namespace nervex::planner {
namespace {

using namespace std::chrono_literals;
using testing::a_group;
using testing::a_node;
using testing::a_set;
using testing::ask;
using testing::planned;
using testing::view;

const SysTime kStart{1000s};

// In a plan whose first placement has number 1.
Refusal refused(int ordinal, const std::string& node) {
  return {
      "collector", {"collector", {ordinal, 0}, node, ordinal + 1}, "0/2 nodes are available: no"};
}

// Two collectors on n1, one on n2.
gang::PodGroup three_collectors() {
  return planned(a_group("a", {a_set("collector", 3, ask(0))}), {"n1", "n1", "n2"});
}

gang::PodGroup after(gang::PodGroup group, const std::vector<Refusal>& refusals, SysTime now) {
  group.status = *refuse_plan(group, "base", refusals, now);
  return group;
}

// The group with the plan that a cycle makes on two empty nodes.
gang::PodGroup planned_again(gang::PodGroup group, SysTime now,
                             std::optional<std::chrono::milliseconds>* look_again = nullptr) {
  Snapshot snapshot;
  snapshot.nodes = {view(a_node("n1", 0)), view(a_node("n2", 0))};
  snapshot.groups = {{std::make_shared<const gang::PodGroup>(group), false, {}}};
  const CycleResult result = run_cycle(snapshot, {}, now);
  if (look_again != nullptr) *look_again = result.look_again;
  if (!result.writes.empty()) group.status = result.writes.front().status;
  return group;
}

std::string placement_nodes(const gang::PodGroup& group) {
  std::string text;
  for (const auto& placement : group.status.gangs[0].placements) text += placement.node + " ";
  return text;
}

TEST_CASE("a refused plan is dropped, and its node takes fewer of the set",
          "[extender][refusals]") {
  const gang::PodGroup group = after(three_collectors(), {refused(1, "n1")}, kStart);
  const gang::GangStatus& gang = group.status.gangs[0];
  CHECK_FALSE(gang.planned);
  CHECK(gang.placements.empty());
  CHECK(gang.reason == "RefusedByScheduler");
  CHECK(gang.message ==
        "kube-scheduler refused collector/1 on node n1: 0/2 nodes are available: no");
  CHECK(gang.refusals.count == 1);
  REQUIRE(group.status.avoid.size() == 1);
  CHECK(group.status.avoid[0] == gang::AvoidedNode{"collector", "n1", 1, 1, kStart + 60s});
  CHECK(group.status.next_placement == 4);

  const gang::PodGroup next = planned_again(group, kStart + 1s);
  CHECK(placement_nodes(next) == "n2 n2 n2 ");
  CHECK(next.status.gangs[0].placements[0].number == 4);
  CHECK(next.status.gangs[0].message ==
        "3 pods are placed; before, kube-scheduler refused collector/1 on node n1: 0/2 nodes are "
        "available: no");
  CHECK(next.status.avoid == group.status.avoid);
}

TEST_CASE("nodes that refused pods of earlier attempts are avoided from the first plan on",
          "[extender][refusals]") {
  gang::PodGroup group = a_group("a", {a_set("collector", 2, ask(0))});
  group.spec.avoid = {{"collector", "n1", 1, 3, kStart + 60s}};
  const gang::PodGroup next = planned_again(group, kStart);
  CHECK(placement_nodes(next) == "n2 n2 ");
  CHECK(next.status.avoid == group.spec.avoid);
  SECTION("a further refusal counts with the earlier ones") {
    gang::PodGroup again = planned(group, {"n1", "n1"});
    again = after(std::move(again), {refused(0, "n1")}, kStart + 1s);
    REQUIRE(again.status.avoid.size() == 1);
    CHECK(again.status.avoid[0] == gang::AvoidedNode{"collector", "n1", 1, 4, kStart + 481s});
  }
  SECTION("for as long as it would have been in that attempt") {
    CHECK(placement_nodes(planned_again(group, kStart + 60s)) == "n1 n1 ");
  }
  SECTION("an entry of no more use is not written") {
    CHECK(planned_again(group, kStart + 660s).status.avoid.empty());
  }
}

TEST_CASE("a node is avoided for longer the more often it was refused", "[extender][refusals]") {
  gang::PodGroup group = three_collectors();
  for (const auto time : {60s, 120s, 240s, 480s, 600s, 600s}) {
    group = after(std::move(group), {refused(0, "n1"), refused(1, "n1")}, kStart);
    REQUIRE(group.status.avoid.size() == 1);
    CHECK(group.status.avoid[0].at_most == 0);
    CHECK(group.status.avoid[0].until == kStart + time);
    group.status.gangs = three_collectors().status.gangs;
  }
  CHECK(group.status.avoid[0].times == 6);
}

TEST_CASE("plans that are refused again and again become rare", "[extender][refusals]") {
  gang::PodGroup group = three_collectors();
  for (const auto pause : {0s, 0s, 5s, 10s, 20s, 40s, 80s, 160s, 300s, 300s}) {
    group = after(std::move(group), {refused(0, "n1")}, kStart);
    const gang::PlanRefusals refusals = group.status.gangs[0].refusals;
    CHECK(refusals.plan_after == kStart + pause);
    group.status.gangs = three_collectors().status.gangs;
    group.status.gangs[0].refusals = refusals;
  }
}

TEST_CASE("a gang is not planned before its pause is over", "[extender][refusals]") {
  gang::PodGroup group = three_collectors();
  group.status.gangs[0].refusals.count = 2;
  group = after(std::move(group), {refused(2, "n2")}, kStart);
  CHECK(group.status.gangs[0].message.ends_with("; planned again after 1970-01-01T00:16:45Z"));
  std::optional<std::chrono::milliseconds> look_again;
  CHECK(planned_again(group, kStart + 1s, &look_again) == group);
  CHECK(look_again == 4s);
  CHECK(placement_nodes(planned_again(group, kStart + 5s)) == "n1 n1 n1 ");
}

TEST_CASE("a gang that has no other nodes waits, says why, and tries again later",
          "[extender][refusals]") {
  gang::PodGroup group = after(three_collectors(), {refused(0, "n1"), refused(2, "n2")}, kStart);
  std::optional<std::chrono::milliseconds> look_again;
  const gang::PodGroup waits = planned_again(group, kStart + 1s, &look_again);
  CHECK_FALSE(waits.status.gangs[0].planned);
  CHECK(waits.status.gangs[0].reason == "Unschedulable");
  CHECK(waits.status.gangs[0].message ==
        "collector: 2 of 3 do not fit: each needs cpu 1; 1 node has it free, 2 are avoided after "
        "pods were refused there; kube-scheduler refused collector/0 on node n1 (and 1 more "
        "pods): 0/2 nodes are available: no");
  CHECK(look_again == 59s);
  CHECK(planned_again(waits, kStart + 61s).status.gangs[0].planned);
}

// Plans until the last of six nodes is reached, the only one that kube-scheduler allows; each
// refusal takes 30 s.
TEST_CASE("a gang finds the one node that takes it, though its plans become rare",
          "[extender][refusals]") {
  std::vector<placement::NodeView> nodes;
  for (const char* name : {"n1", "n2", "n3", "n4", "n5", "n6"}) {
    nodes.push_back(view(a_node(name, 0)));
  }
  gang::PodGroup group = a_group("a", {a_set("collector", 1, ask(0))});
  std::string tried;
  SysTime now = kStart;
  for (int plan = 1; plan <= 12 && !tried.ends_with("n6 "); ++plan) {
    if (!group.status.gangs.empty()) now = group.status.gangs[0].refusals.plan_after;
    Snapshot snapshot;
    snapshot.nodes = nodes;
    snapshot.groups = {{std::make_shared<const gang::PodGroup>(group), false, {}}};
    group.status = run_cycle(snapshot, {}, now).writes.at(0).status;
    REQUIRE(group.status.gangs[0].planned);
    const gang::Placement placement = group.status.gangs[0].placements[0];
    tried += placement.node + " ";
    now += 30s;
    group = after(std::move(group), {{"collector", placement, "0/6 nodes are available: no"}}, now);
  }
  CHECK(tried == "n1 n2 n3 n4 n5 n6 ");
}

TEST_CASE("what was refused is forgotten after a while, and is bounded", "[extender][refusals]") {
  const gang::PodGroup group = after(three_collectors(), {refused(0, "n1")}, kStart);
  CHECK(gang::still_of_use(group.status.avoid, kStart + 659s).size() == 1);
  CHECK(gang::still_of_use(group.status.avoid, kStart + 660s).empty());

  constexpr int kPods = 700;
  std::vector<std::string> nodes;
  std::vector<Refusal> all;
  for (int i = 0; i < kPods; ++i) {
    nodes.push_back("node" + std::to_string(i));
    all.push_back(refused(i, nodes.back()));
  }
  const auto large = planned(a_group("a", {a_set("collector", kPods, ask(0))}), nodes);
  CHECK(after(large, all, kStart).status.avoid.size() == gang::kMostAvoided);
}

TEST_CASE("what a clock that was wrong has written holds nothing up", "[extender][refusals]") {
  gang::PodGroup group = after(three_collectors(), {refused(0, "n1")}, kStart + 24h);
  group.status.gangs[0].refusals.plan_after = kStart + 24h;
  CHECK_FALSE(is_paused(group.status.gangs[0], kStart));
  CHECK(collect_node_limits(group.status.avoid, kStart).empty());
  CHECK(gang::still_of_use(group.status.avoid, kStart).empty());
}

TEST_CASE("a plan that is committed or gone is not refused", "[extender][refusals]") {
  gang::PodGroup group = three_collectors();
  SECTION("committed") { group.status.gangs[0].committed = true; }
  SECTION("dropped") { group.status.gangs[0].placements.clear(); }
  SECTION("of another gang") { group.status.gangs[0].name = "request-1"; }
  CHECK_FALSE(refuse_plan(group, "base", std::vector{refused(0, "n1")}, kStart));
}

TEST_CASE("a refusal that no node is at fault for is known by kube-scheduler's words",
          "[extender][refusals]") {
  for (const char* message :
       {"0/1 nodes are available: persistentvolumeclaim \"data\" not found. not found",
        "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found",
        "persistentvolumeclaim \"data\" bound to non-existent persistentvolume \"v\"",
        "persistentvolumeclaim \"data\" is being deleted",
        "0/3 nodes are available: storageclass.storage.k8s.io \"fast\" not found",
        "waiting for ephemeral volume controller to create the persistentvolumeclaim \"a-data\"",
        "resourceclaim.resource.k8s.io \"gpu\" not found",
        "waiting for dynamic resource controller to create the resourceclaim \"gpu\""}) {
    INFO(message);
    CHECK(is_no_nodes_fault(message));
  }
  for (const char* message :
       {"0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match Pod's node affinity",
        "0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind",
        "0/1 nodes are available: 1 node(s) had volume node affinity conflict", ""}) {
    INFO(message);
    CHECK_FALSE(is_no_nodes_fault(message));
  }
}

TEST_CASE("only the nodes that are at fault are avoided", "[extender][refusals]") {
  auto claims = refused(0, "n1");
  claims.message = "persistentvolumeclaim \"data\" not found";
  claims.unusable_claims = {"data=missing"};
  const auto both = after(three_collectors(), {claims, refused(2, "n2")}, kStart);
  REQUIRE(both.status.avoid.size() == 1);
  CHECK(both.status.avoid[0].node == "n2");
  CHECK(both.status.gangs[0].refusals.waits_for.empty());
  CHECK_FALSE(is_paused(both.status.gangs[0], kStart));

  const auto one = after(three_collectors(), {claims}, kStart);
  CHECK(one.status.avoid.empty());
  CHECK(is_paused(one.status.gangs[0], kStart + 59s));
  CHECK_FALSE(is_paused(one.status.gangs[0], kStart + 60s));
  CHECK_FALSE(is_cause_over(one.status.gangs[0], claims.unusable_claims));
  CHECK(is_cause_over(one.status.gangs[0], std::vector<std::string>{"data=unbound"}));
  CHECK(is_cause_over(one.status.gangs[0], {}));
}

}  // namespace
}  // namespace nervex::planner
