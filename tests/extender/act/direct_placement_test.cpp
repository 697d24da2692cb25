// Gangs that are committed with their plan, so that their pods are created with their nodes.
#include "planner/gang/direct_placement.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/extender/cluster.h"
#include "tests/extender/held_binds.h"

namespace nervex::extender::direct_test {
namespace {

using namespace std::chrono_literals;
using testing::a_set;
using testing::ask;
using testing::coordinator;
using testing::ExtenderCluster;
using testing::in_request;
using testing::kNs;
using testing::Member;

constexpr const char* kStatus = "/podgroups/a/status";

// A coordinator and two learners, each learner on a separate node.
struct Direct : ExtenderCluster {
  explicit Direct(Member learners = a_set("learner", 2, ask(8))) : ExtenderCluster({}, false) {
    add_node("n1", 8);
    add_node("n2", 8);
    add_group("a", {coordinator(), std::move(learners)});
    api.change(kube::kPodGroups, kNs, "a", {{"spec", {{"placement", "Direct"}}}});
    see();
  }

  void plan() {
    planner.schedule_once();
    see();
  }
  gang::GangStatus base() const { return group("a").status.gangs.at(0); }
  static std::string placement_pod_name(const gang::Placement& placement) {
    return "a-" + placement.role + "-" + std::to_string(placement.slot.ordinal) + "-" +
           std::to_string(placement.slot.incarnation);
  }
  // The coordinator's pod without its node, and others with theirs.
  void create(const std::string& role) {
    for (const gang::Placement& placement : base().placements) {
      if (placement.role != role) continue;
      const std::string name = add_gang_pod(group("a"), placement);
      if (role == "coordinator") continue;
      api.change(kube::kPods, kNs, name, {{"spec", {{"nodeName", placement.node}}}});
    }
    see();
  }
  void change(const std::string& pod, const Json& status) {
    api.change(kube::kPods, kNs, pod, {{"status", status}});
    see_pods();
  }
  void start(const std::string& pod) {
    change(pod, {{"phase", "Running"}, {"startTime", "2026-01-01T00:00:00Z"}});
  }
  // As kubelets do it: with a start time.
  void reject(const std::string& pod) {
    change(pod,
           {{"phase", "Failed"}, {"reason", "OutOfcpu"}, {"startTime", "2026-01-01T00:00:00Z"}});
  }

  testing::HeldBinds calls{binder, holds};
  void bind_coordinator() {
    const kube::Pod made = pod("a-coordinator-0-0");
    calls.begin({made.meta.name, kNs, made.meta.uid, base().placements.at(0).node});
  }
  // Its call's error, "" if it was bound, "held".
  std::string outcome() {
    for (const auto& ended : calls.finish()) {
      return ended.result ? "" : ended.result.error().message;
    }
    return "held";
  }
};

TEST_CASE("plan and commit of a gang that is placed directly are one write", "[extender][direct]") {
  Direct c;
  c.api.clear_writes();
  c.plan();
  CHECK(c.planned_nodes("a") == "n1 n1 n2!");
  CHECK(c.base().direct_through == 3);
  CHECK(c.api.writes("PATCH", kStatus).size() == 1);
  c.plan();
  CHECK(c.api.writes("PATCH", kStatus).size() == 1);
}

TEST_CASE("which gangs are committed with their plan", "[extender][direct]") {
  SECTION("none that has claims") {
    auto learners = a_set("learner", 2, ask(8));
    learners.shape.claims = {"data"};
    Direct c(std::move(learners));
    c.plan();
    CHECK(c.planned_nodes("a") == "n1 n1 n2");
    CHECK(c.base().direct_through == 0);
  }
  SECTION("none that does not fit") {
    Direct c(a_set("learner", 3, ask(8)));
    c.plan();
    CHECK(c.planned_nodes("a") == "waits");
  }
  SECTION("none whose PodGroup does not ask for it") {
    Direct c;
    c.api.change(kube::kPodGroups, kNs, "a", {{"spec", {{"placement", nullptr}}}});
    c.see();
    c.plan();
    CHECK(c.planned_nodes("a") == "n1 n1 n2");
  }
  SECTION("none of which kube-scheduler has refused a plan") {
    Direct c;
    gang::PodGroup group = c.group("a");
    gang::GangStatus base;
    base.name = gang::kBaseGang;
    base.refusals.count = 1;
    group.status.gangs = {base};
    c.api.change(kube::kPodGroups, kNs, "a", {{"status", gang::encode_status(group.status)}});
    c.see();
    c.plan();
    CHECK(c.planned_nodes("a") == "n1 n1 n2");
  }
  SECTION("none that grows a job, and no gang of a coordinator alone") {
    Direct c;
    c.set_members("a", {coordinator(), in_request(a_set("learner", 2, ask(8)), 1)});
    c.api.change(kube::kPodGroups, kNs, "a", {{"spec", {{"placement", "Direct"}}}});
    c.see();
    c.plan();
    CHECK(c.planned_nodes("a") == "n1");
    CHECK(c.planned_nodes("a", "request-1") == "n1 n2");
  }
}

TEST_CASE("the commit is checked on what is true when it is written", "[extender][direct]") {
  Direct c;
  c.planner.schedule_once();
  gang::PodGroup decided = c.group("a");  // as a cycle would have it that began before ...
  c.api.change(kube::kPodGroups, kNs, "a", {{"status", nullptr}});
  c.see();
  SECTION("and nothing has happened") {
    CHECK(c.cache.planner.mark_unconfirmed(std::make_shared<const gang::PodGroup>(decided)));
  }
  SECTION("and a pod of another owner came") {
    c.add_plain_pod("intruder", ask(1), "n2");
    c.see();
    CHECK_FALSE(c.cache.planner.mark_unconfirmed(std::make_shared<const gang::PodGroup>(decided)));
  }
  SECTION("and a node was cordoned") {
    c.api.change(kube::kNodes, "", "n2", {{"spec", {{"unschedulable", true}}}});
    c.see();
    CHECK_FALSE(c.cache.planner.mark_unconfirmed(std::make_shared<const gang::PodGroup>(decided)));
  }
}

// As after a plan of before the PodGroup asked for direct placement.
TEST_CASE("a stored plan counts as committed while the write that commits it is under way",
          "[extender][direct]") {
  Direct c;
  c.plan();
  const gang::PodGroup decided = c.group("a");
  gang::PodGroup stored = decided;
  stored.status.gangs.at(0).committed = false;
  stored.status.gangs.at(0).direct_through = 0;
  c.api.change(kube::kPodGroups, kNs, "a", {{"status", gang::encode_status(stored.status)}});
  c.add_group("b", {a_set("learner", 1, ask(8))});
  gang::PodGroup other = c.group("b");
  gang::GangStatus planned;
  planned.name = gang::kBaseGang;
  planned.planned = true;
  planned.placements = {{"learner", {0, 0}, "n2", 1}};
  other.status.gangs = {planned};
  c.api.change(kube::kPodGroups, kNs, "b", {{"status", gang::encode_status(other.status)}});
  c.see();
  CHECK(c.cache.planner.mark_unconfirmed(std::make_shared<const gang::PodGroup>(decided)));
  CHECK_FALSE(c.cache.binds.begin_commit(other.meta.uid, planned.name));
}

// Its pods are there: counted once more, they would not fit.
TEST_CASE("a gang that takes over slots of a committed one is written without a check",
          "[extender][direct]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_node("n2", 8);
  const auto one = in_request(a_set("learner", 1, ask(8)), 1);
  auto other = in_request(a_set("learner", 1, ask(8)), 2);
  other.slots = {{1, 0}};
  c.add_group("a", {one, other});
  const auto names = c.plan_and_add_pods("a", "request-1");
  CHECK(c.bind(names[0], "n1").empty());
  c.see();
  other.slots = {{0, 0}, {1, 0}};
  c.set_members("a", {other});
  c.see();
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a", "request-2") == "n1 n2!");
  CHECK(c.group("a").status.observed_generation == 2);
}

TEST_CASE("the coordinator is bound when the kubelets have begun with all others",
          "[extender][direct][hold]") {
  Direct c;
  c.plan();
  c.create("learner");
  c.create("coordinator");
  c.bind_coordinator();
  CHECK(c.outcome() == "held");
  c.start("a-learner-0-0");
  CHECK(c.outcome() == "held");

  SECTION("one of them late") {
    c.clock.advance(9s);
    c.start("a-learner-1-0");
    CHECK(c.outcome().empty());
    CHECK(c.bound_node("a-coordinator-0-0") == "n1");
  }
  SECTION("one of them has ended by itself already") {
    c.change("a-learner-1-0", {{"phase", "Succeeded"}, {"startTime", "2026-01-01T00:00:00Z"}});
    CHECK(c.outcome().empty());
  }
  SECTION("and not when one was rejected") {
    c.reject("a-learner-1-0");
    CHECK(c.outcome() == "held");
    c.clock.advance(11s);
    CHECK(c.outcome() ==
          "gang base: the coordinator is bound last, and 1 of 3 pods are not started yet: "
          "learner/1 (on n2, whose kubelet has not started it)");
    CHECK(c.bound_node("a-coordinator-0-0").empty());

    // Its successor comes through kube-scheduler, elsewhere, and is bound there.
    c.add_node("n3", 8);
    auto learners = a_set("learner", 2, ask(8));
    learners.slots[1].incarnation = 1;
    c.set_members("a", {coordinator(), learners});
    c.see();
    c.plan();
    const gang::Placement moved = c.base().placements.at(2);
    CHECK(moved.node == "n3");
    CHECK_FALSE(gang::is_direct(c.base(), moved));
    c.add_gang_pod(c.group("a"), moved);
    c.see();
    c.bind_coordinator();
    CHECK(c.outcome() == "held");
    CHECK(c.bind("a-learner-1-1", "n3").empty());
    c.see_pods();
    CHECK(c.outcome().empty());
  }
}

TEST_CASE("a pod that is made through kube-scheduler after all is bound at once",
          "[extender][direct]") {
  Direct c;
  c.plan();
  const gang::Placement first = c.base().placements.at(1);
  const std::string name = c.add_gang_pod(c.group("a"), first);
  c.see();
  CHECK(c.bind(name, first.node).empty());
  CHECK(c.bound_node(name) == "n1");
}

// Else the planner would give the slot another place while its pod is being created here.
TEST_CASE("a slot whose pod may be created with its node keeps its place", "[extender][direct]") {
  Direct c;
  c.plan();
  c.add_node("n3", 8);
  c.add_node("n4", 8);
  c.api.change(kube::kNodes, "", "n2", {{"spec", {{"unschedulable", true}}}});
  c.see();
  c.plan();
  CHECK(c.planned_nodes("a") == "n1 n1 n2!");

  SECTION("but for one that waits for kube-scheduler") {
    const std::string name = c.add_gang_pod(c.group("a"), c.base().placements.at(2));
    c.change(name, {{"conditions", Json::array({{{"type", "PodScheduled"},
                                                 {"status", "False"},
                                                 {"reason", "Unschedulable"},
                                                 {"message", "n2 is cordoned"}}})}});
    c.plan();
    CHECK(c.planned_nodes("a") == "n1 n1 n3!");
  }
}

TEST_CASE("a kubelet that does nothing is named, and the gang is requeued in the end",
          "[extender][direct]") {
  Direct c;
  c.plan();
  c.create("learner");
  c.create("coordinator");
  c.start("a-learner-0-0");
  c.planner.schedule_once();
  c.clock.advance(61s);
  c.plan();
  const auto base = c.base();
  CHECK(base.reason == gang::kReasonHealing);
  CHECK(base.healing_cause.message.find(
            "learner/1 was created on node n2, whose kubelet has not started "
            "it") == 0);
  c.clock.advance(300s);
  c.plan();
  CHECK(c.base().reason == gang::kReasonHealingTimeout);
}

TEST_CASE("pods that admission has enlarged are known before their successors are planned",
          "[extender][direct]") {
  Direct c(a_set("learner", 1, ask(4)));
  c.plan();
  const gang::Placement placement = c.base().placements.at(1);
  const std::string name = c.add_gang_pod(c.group("a"), placement);
  Json large = c.api.get(kube::kPods, kNs, name);
  large["spec"]["nodeName"] = placement.node;
  large["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = "6";
  c.api.change(kube::kPods, kNs, name, {{"spec", large["spec"]}});
  c.see();
  c.plan();
  const auto status = c.group("a").status;
  REQUIRE(status.enlarged.size() == 1);
  CHECK(status.enlarged[0].requests.get("nvidia.com/gpu") == 6);
}

}  // namespace
}  // namespace nervex::extender::direct_test
