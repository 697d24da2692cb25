#include "extender/act/lost_nodes.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/extender/cluster.h"

namespace nervex::extender::lost_nodes_test {
namespace {

using std::chrono::seconds;
using testing::a_set;
using testing::Applied;
using testing::ask;
using testing::list_members;

// A committed gang of two learners; both run, on n1 and n2.
struct RunningGang : testing::ExtenderCluster {
  std::vector<std::string> names;

  RunningGang() {
    for (const char* node : {"n1", "n2", "n3"}) add_node(node, 8);
    add_group("a", {a_set("learner", 2, ask(8))});
    see();
    planner.schedule_once();
    names = add_gang_pods("a");
    see();
    REQUIRE(bind(names[0], "n1").empty());
    REQUIRE(bind(names[1], "n2").empty());
    see();
    planner.schedule_once();
    api.clear_writes();
  }
  void lose(const std::string& node) {
    set_ready(node, false);
    see_nodes();
    planner.schedule_once();
  }
  void pass(seconds time) {
    clock.advance(time);
    planner.schedule_once();
    see_pods();
    planner.schedule_once();
  }
  std::string mark(std::size_t i) const { return pod(names[i]).node_lost; }
  gang::GangStatus gang() const { return group("a").status.gangs.front(); }
};

TEST_CASE("pods of a node that is not Ready for too long are marked", "[extender][lost_nodes]") {
  RunningGang c;
  c.lose("n1");
  c.pass(seconds(59));
  CHECK(c.mark(0).empty());
  CHECK(c.api.writes().empty());
  c.pass(seconds(1));
  CHECK(c.mark(0) == "not Ready since 2026-01-01T00:00:00Z");
  CHECK(c.mark(1).empty());
  CHECK(c.gang().healing_since);
  CHECK(c.gang().healing_cause.message ==
        "learner/0 lost its node n1 (not Ready since 2026-01-01T00:00:00Z)");
  const auto writes = c.api.writes().size();
  c.pass(seconds(5));
  CHECK(c.api.writes().size() == writes);
}

TEST_CASE(
    "why a slot lost its pod is known though pod and mark were gone before the planner looked",
    "[extender][lost_nodes]") {
  RunningGang c;
  c.set_ready("n3", false);
  c.lose("n1");
  c.clock.advance(seconds(60));
  c.lost_nodes.mark_pods();
  REQUIRE(c.mark(0) == "not Ready since 2026-01-01T00:00:00Z");
  c.see_pods();
  c.api.remove(kube::kPods, testing::kNs, c.names[0]);  // the controller was quick
  auto members = list_members(c.group("a"));
  ++members[0].slots[0].incarnation;
  c.set_members("a", members);
  c.see();
  c.planner.schedule_once();
  CHECK(c.gang().healing_cause.message ==
        "learner/0 lost its node n1 (not Ready since 2026-01-01T00:00:00Z)");
}

TEST_CASE("a node that was Ready in between is not lost", "[extender][lost_nodes]") {
  RunningGang c;
  c.lose("n1");
  c.pass(seconds(40));
  c.set_ready("n1", true);
  c.see_nodes();
  c.lose("n1");
  c.pass(seconds(40));
  CHECK(c.mark(0).empty());
  c.pass(seconds(20));
  CHECK_FALSE(c.mark(0).empty());
}

TEST_CASE("a node is read live before its pods are marked", "[extender][lost_nodes]") {
  RunningGang c;
  c.lose("n1");
  SECTION("it is Ready, and the watch is behind") {
    c.set_ready("n1", true);
    c.pass(seconds(90));
    CHECK(c.mark(0).empty());
  }
  SECTION("the API server does not answer") {
    c.api.fail_next("GET", "/api/v1/nodes/n1", {Code::kTransient, "timeout"}, Applied::kNo);
    c.clock.advance(seconds(60));
    c.planner.schedule_once();
    CHECK(c.mark(0).empty());
    c.clock.advance(seconds(1));
    c.planner.schedule_once();
    CHECK_FALSE(c.mark(0).empty());
  }
}

TEST_CASE("a network that is broken ends no job", "[extender][lost_nodes]") {
  RunningGang c;
  const bool are_all = GENERATE(true, false);
  INFO("all nodes are away: " << are_all);
  if (!are_all) c.add_node("n4", 8);
  for (const char* node : {"n1", "n2", "n3"}) c.set_ready(node, false);
  c.see_nodes();
  c.pass(seconds(600));
  CHECK(c.mark(0).empty());
  CHECK(c.mark(1).empty());
  c.set_ready("n1", true);
  c.set_ready("n3", true);
  c.see_nodes();
  c.planner.schedule_once();
  c.pass(seconds(59));
  CHECK(c.mark(1).empty());  // it has as long as any other to come back
  c.pass(seconds(2));
  CHECK(c.mark(1) == "not Ready since 2026-01-01T00:00:00Z");
  CHECK(c.mark(0).empty());
}

// What the controller writes of a template's tolerations.
void tolerate(RunningGang& c, std::size_t pod, const char* annotation, const char* value) {
  c.api.change(kube::kPods, testing::kNs, c.names[pod],
               {{"metadata", {{"annotations", {{annotation, value}}}}}});
  c.see_pods();
}

constexpr const char* kNotReadySeconds = "nervex.sensetime.com/tolerates-not-ready-seconds";
constexpr const char* kUnreachableSeconds = "nervex.sensetime.com/tolerates-unreachable-seconds";

TEST_CASE("a template that tolerates the outage of a node is lost later, or never",
          "[extender][lost_nodes]") {
  RunningGang c;
  struct Row {
    std::string when;
    const char* key;
    const char* value;
    const char* ready;  // condition Ready of the node
    int lost_after;     // seconds; 0: never
  };
  const auto row = GENERATE(values<Row>({
      {"nothing is tolerated", "other", "3600", "False", 60},
      {"for longer than the limit", kNotReadySeconds, "3600", "False", 3600},
      {"for any time", kNotReadySeconds, "always", "False", 0},
      {"for less than the limit", kNotReadySeconds, "5", "False", 60},
      {"the other taint", kUnreachableSeconds, "3600", "False", 60},
      {"a node that is not heard of", kUnreachableSeconds, "3600", "Unknown", 3600},
      {"the other taint of a node that is not heard of", kNotReadySeconds, "3600", "Unknown", 60},
      {"it is no number", kNotReadySeconds, "1h", "False", 60},
  }));
  INFO(row.when);
  tolerate(c, 0, row.key, row.value);
  c.api.change(
      kube::kNodes, "", "n1",
      {{"status", {{"conditions", Json::array({{{"type", "Ready"}, {"status", row.ready}}})}}}});
  c.see_nodes();
  c.planner.schedule_once();
  if (row.lost_after == 0) {
    c.pass(seconds(60));
    CHECK(c.lost_nodes.mark_pods() == std::nullopt);
    c.pass(seconds(1'000'000));
    CHECK(c.mark(0).empty());
    return;
  }
  if (row.lost_after > 60) {
    c.pass(seconds(60));
    CHECK(c.lost_nodes.mark_pods() == seconds(row.lost_after - 60));
    c.pass(seconds(row.lost_after - 61));
  } else {
    c.pass(seconds(59));
  }
  CHECK(c.mark(0).empty());
  c.pass(seconds(1));
  CHECK_FALSE(c.mark(0).empty());
}

TEST_CASE("each pod of a node is lost by its own template's tolerations",
          "[extender][lost_nodes]") {
  RunningGang c;
  c.api.change(kube::kPods, testing::kNs, c.names[1], {{"spec", {{"nodeName", "n1"}}}});
  tolerate(c, 0, kNotReadySeconds, "3600");
  c.lose("n1");
  c.pass(seconds(60));
  CHECK(c.mark(0).empty());
  CHECK_FALSE(c.mark(1).empty());
  SECTION("the other one follows") {
    c.pass(seconds(3540));
    CHECK_FALSE(c.mark(0).empty());
  }
  SECTION("the node comes back before") {
    c.set_ready("n1", true);
    c.see_nodes();
    c.pass(seconds(7200));
    CHECK(c.mark(0).empty());
  }
  SECTION("its node is deleted: nothing comes back") {
    c.api.remove(kube::kNodes, "", "n1");
    c.see_nodes();
    c.planner.schedule_once();
    c.see_pods();
    CHECK(c.mark(0) == "deleted");
  }
  SECTION("the PodGroup is deleted, as of an attempt that is over: the pod's word counts on") {
    c.api.remove(kube::kPodGroups, testing::kNs, "a");
    c.see_groups();
    c.pass(seconds(3539));
    CHECK(c.mark(0).empty());
    c.pass(seconds(1));
    CHECK_FALSE(c.mark(0).empty());
  }
}

TEST_CASE("nodes that were deleted together are lost", "[extender][lost_nodes]") {
  RunningGang c;
  for (const char* node : {"n1", "n2", "n3"}) c.api.remove(kube::kNodes, "", node);
  c.see_nodes();
  c.pass(seconds(61));
  CHECK(c.mark(0) == "deleted");
  CHECK(c.mark(1) == "deleted");
}

TEST_CASE("a node that was deleted is lost after the same time", "[extender][lost_nodes]") {
  RunningGang c;
  c.api.remove(kube::kNodes, "", "n1");
  c.see_nodes();
  c.planner.schedule_once();
  c.pass(seconds(59));
  CHECK(c.mark(0).empty());
  c.pass(seconds(1));
  CHECK(c.mark(0) == "deleted");
}

TEST_CASE("a node that was deleted before the extender started is lost, too",
          "[extender][lost_nodes]") {
  RunningGang c;
  c.api.remove(kube::kNodes, "", "n1");
  kube::Store<kube::Node> nodes;
  LostNodes lost(c.api, nodes, c.pods, c.clock, seconds(60));
  CHECK(lost.mark_pods() == seconds(60));
  c.clock.advance(seconds(60));
  (void)lost.mark_pods();
  CHECK(c.mark(0) == "deleted");
  CHECK(c.mark(1).empty());  // its node was not seen, but is there
}

TEST_CASE("a mark that fails is written again, and conditions of others stay",
          "[extender][lost_nodes]") {
  RunningGang c;
  c.api.change(
      kube::kPods, testing::kNs, c.names[0],
      {{"status", {{"conditions", Json::array({{{"type", "Ready"}, {"status", "False"}}})}}}});
  c.lose("n1");
  const auto applied = GENERATE(Applied::kNo, Applied::kYes);
  c.api.fail_next("PATCH", "/pods/" + c.names[0] + "/status", {Code::kTransient, "timeout"},
                  applied);
  c.clock.advance(seconds(60));
  c.planner.schedule_once();
  c.clock.advance(seconds(1));
  c.planner.schedule_once();
  const Json pod = c.api.get(kube::kPods, testing::kNs, c.names[0]);
  const Json& conditions = kube::array_at(pod, {"status", "conditions"});
  REQUIRE(conditions.size() == 2);
  CHECK(kube::string_at(conditions[0], {"type"}) == "Ready");
  CHECK(kube::string_at(conditions[1], {"type"}) == std::string(kube::kNodeLostCondition));
}

TEST_CASE("marks that are refused are tried again more and more rarely", "[extender][lost_nodes]") {
  RunningGang c;
  c.lose("n1");
  c.api.fail_next("PATCH", "/pods/", {Code::kForbidden, "403"}, Applied::kNo, 1000);
  c.clock.advance(seconds(60));
  c.api.clear_writes();
  std::optional<std::chrono::milliseconds> again;
  for (const int delay : {1, 2, 4, 8, 16, 30, 30}) {
    again = c.lost_nodes.mark_pods();
    CHECK(again == seconds(delay));
    const auto tried = c.api.writes().size();
    c.set_ready("n3", false);  // even if other changes wake the planner
    c.see_nodes();
    again = c.lost_nodes.mark_pods();
    CHECK(c.api.writes().size() == tried);
    c.set_ready("n3", true);
    c.see_nodes();
    c.clock.advance(seconds(delay));
  }
}

TEST_CASE("of finished pods those that are being deleted are marked", "[extender][lost_nodes]") {
  RunningGang c;
  c.api.change(kube::kPods, testing::kNs, c.names[0], {{"status", {{"phase", "Failed"}}}});
  SECTION("it stays") {
    c.see_pods();
    c.lose("n1");
    c.pass(seconds(60));
    CHECK(c.mark(0).empty());
  }
  SECTION("it is being deleted") {
    c.api.change(kube::kPods, testing::kNs, c.names[0],
                 {{"metadata", {{"deletionTimestamp", "2026-01-01T00:00:00Z"}}}});
    c.see_pods();
    c.lose("n1");
    c.pass(seconds(60));
    CHECK_FALSE(c.mark(0).empty());
  }
}

TEST_CASE("pods of others on a lost node are left alone, and 0 turns it off",
          "[extender][lost_nodes]") {
  RunningGang c;
  c.add_plain_pod("other", ask(0), "n1");
  c.see_pods();
  const bool is_off = GENERATE(false, true);
  LostNodes lost(c.api, c.nodes, c.pods, c.clock, seconds(is_off ? 0 : 60));
  const auto node = c.nodes.get("n1");
  kube::Node away = *node;
  away.ready = false;
  lost.node_changed(node, std::make_shared<const kube::Node>(away));
  c.set_ready("n1", false);
  c.clock.advance(seconds(3600));
  CHECK(lost.mark_pods() == std::nullopt);
  CHECK(c.mark(0).empty() == is_off);
  CHECK(c.pod("other").node_lost.empty());
}

TEST_CASE("what a kubelet rejects is kept in the status, though the pod is deleted at once",
          "[extender][cache]") {
  RunningGang c;
  c.api.change(kube::kPods, testing::kNs, c.names[0],
               {{"status", {{"phase", "Failed"}, {"reason", "OutOfcpu"}}}});
  c.see_pods();
  c.api.remove(kube::kPods, testing::kNs, c.names[0]);
  auto members = list_members(c.group("a"));
  members[0].slots[0].incarnation = 1;
  c.set_members("a", members);
  c.see();
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == "n3 n2!");
  const auto avoid = c.group("a").status.avoid;
  REQUIRE(avoid.size() == 1);
  CHECK(avoid[0].set == "learner");
  CHECK(avoid[0].node == "n1");
  CHECK(avoid[0].at_most == 0);
  CHECK(avoid[0].times == 1);
}

TEST_CASE("a pod that kube-scheduler refuses for too long moves, and its node is avoided",
          "[extender][cache]") {
  RunningGang c;
  c.api.remove(kube::kPods, testing::kNs, c.names[0]);
  auto members = list_members(c.group("a"));
  members[0].slots[0].incarnation = 1;
  c.set_members("a", members);
  c.see();
  c.planner.schedule_once();
  REQUIRE(c.planned_nodes("a") == "n1 n2!");
  const auto group = c.group("a");
  const std::string pod = c.add_gang_pod(group, group.status.gangs[0].placements[0]);
  c.api.change(
      kube::kPods, testing::kNs, pod,
      {{"status",
        {{"conditions", Json::array({{{"type", "PodScheduled"},
                                      {"status", "False"},
                                      {"reason", "Unschedulable"},
                                      {"message", "no port is free"},
                                      {"lastTransitionTime", to_rfc3339(c.clock.now())}}})}}}});
  c.see_pods();
  c.pass(seconds(59));
  CHECK(c.planned_nodes("a") == "n1 n2!");
  c.pass(seconds(1));
  CHECK(c.planned_nodes("a") == "n3 n2!");
  CHECK(c.group("a").status.avoid.size() == 1);
}

TEST_CASE("a placement is not taken from a pod that was bound since the snapshot",
          "[extender][cache]") {
  RunningGang c;
  auto attempted = c.group("a");
  attempted.status.gangs.front().placements.front() = {"learner", {0, 0}, "n3", 3};
  CHECK_FALSE(c.cache.planner.mark_unconfirmed(std::make_shared<const gang::PodGroup>(attempted)));
  CHECK(c.cache.planner.unconfirmed().empty());
  c.api.remove(kube::kPods, testing::kNs, c.names[0]);
  c.see_pods();
  CHECK(c.cache.planner.mark_unconfirmed(std::make_shared<const gang::PodGroup>(attempted)));
}

// The write is repeated unchanged: a pod bound in between would have lost its placement.
TEST_CASE("no pod is bound while a write that may move it is not answered", "[extender][cache]") {
  const auto applied = GENERATE(Applied::kNo, Applied::kYes);
  testing::ExtenderCluster c;
  for (const char* node : {"n1", "n2"}) c.add_node(node, 8);
  c.add_group("a", {a_set("learner", 1, ask(8)), a_set("collector", 1, ask(0))});
  c.see();
  c.planner.schedule_once();
  const auto names = c.add_gang_pods("a");  // collector, learner
  c.see();
  const auto placements = c.group("a").status.gangs.front().placements;
  REQUIRE(c.bind(names[0], placements[0].node).empty());
  c.see();
  c.set_ready(placements[1].node, false);
  c.see_nodes();
  c.api.fail_next("PATCH", "/podgroups/a/status", {Code::kTransient, "timeout"}, applied);
  c.planner.schedule_once();
  REQUIRE(c.cache.planner.unconfirmed().size() == 1);
  CHECK(c.bind(names[1], placements[1].node) ==
        "learner/0: another plan of its gang is being written");

  c.clock.advance(seconds(1));
  c.planner.schedule_once();
  CHECK(c.cache.planner.unconfirmed().empty());
  CHECK(c.bind(names[1], placements[1].node).find("superseded") != std::string::npos);
}

}  // namespace
}  // namespace nervex::extender::lost_nodes_test
