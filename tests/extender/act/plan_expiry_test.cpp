// Plans without a bound pod expire, so that others get the capacity.
#include "planner/recovery/plan_expiry.h"

#include <catch2/catch_test_macros.hpp>

#include "tests/extender/cluster.h"

namespace nervex::extender {
namespace {

using namespace std::chrono_literals;
using testing::a_set;
using testing::ask;
using testing::ExtenderCluster;
using testing::kNs;

// Gang a is planned on both nodes and b waits behind it.
struct Unstarted : ExtenderCluster {
  std::vector<std::string> names;
  Unstarted() {
    add_node("n1", 8);
    add_node("n2", 8);
    add_group("a", {a_set("learner", 2, ask(8))}, 1);
    add_group("b", {a_set("learner", 1, ask(8))}, 2);
    see();
    planner.schedule_once();
    REQUIRE(planned_nodes("a") == "n1 n2");
    REQUIRE(planned_nodes("b") == "waits");
  }
  void create_pods() {
    names = add_gang_pods("a");
    see_pods();
    planner.schedule_once();
  }
  void pass(std::chrono::seconds time) {
    clock.advance(time);
    planner.schedule_once();
    see_groups();
  }
  void refuse(const std::string& name) { not_scheduled(name, "Unschedulable"); }
  void gate(const std::string& name) { not_scheduled(name, "SchedulingGated"); }
  void not_scheduled(const std::string& name, const std::string& reason) {
    api.change(kube::kPods, kNs, name,
               {{"status",
                 {{"conditions",
                   {{{"type", "PodScheduled"},
                     {"status", "False"},
                     {"reason", reason},
                     {"message", "no"}}}}}}});
    see_pods();
    planner.schedule_once();
  }
  gang::GangStatus gang() const { return group("a").status.gangs.front(); }
};

TEST_CASE("a plan whose pods are not bound gives its capacity to others", "[extender][expiry]") {
  Unstarted c;
  c.create_pods();
  c.pass(119s);
  CHECK(c.planned_nodes("a") == "n1 n2");
  c.pass(1s);
  CHECK(c.planned_nodes("a") == "waits");
  CHECK(c.gang().reason == "PlanExpired");
  CHECK(c.gang().message.starts_with(
      "kube-scheduler has not bound any of 2 pods in 120s (deployment nervex-scheduler); planned "
      "again after "));
  CHECK(c.planned_nodes("b") != "waits");
  c.pass(5s);
  CHECK(c.gang().reason == "Unschedulable");
}

TEST_CASE("a plan expires also if a pod of an older placement has finished", "[extender][expiry]") {
  Unstarted c;
  c.create_pods();
  c.api.change(kube::kPods, kNs, c.names[0],
               {{"spec", {{"nodeName", "n1"}}}, {"status", {{"phase", "Succeeded"}}}});
  gang::PodGroupStatus status = c.group("a").status;
  status.gangs[0].placements[0].number = status.next_placement++;
  c.api.change(kube::kPodGroups, kNs, "a", {{"status", gang::encode_status(status)}});
  c.see();
  c.planner.schedule_once();
  c.pass(120s);
  CHECK(c.gang().reason == "PlanExpired");
}

TEST_CASE("a plan whose pods have schedulingGates says so when it expires", "[extender][expiry]") {
  Unstarted c;
  c.create_pods();
  c.gate("a-learner-0-0");
  c.pass(120s);
  CHECK(c.gang().reason == "PlanExpired");
  CHECK(c.gang().message.starts_with(
      "1 of 2 pods still had schedulingGates after 120s, so none was bound: the gates of all have "
      "to be removed within that time; planned again after "));

  Unstarted opened;
  opened.create_pods();
  opened.gate("a-learner-0-0");
  opened.refuse("a-learner-0-0");  // the gate is gone
  opened.pass(120s);
  CHECK(opened.gang().message.starts_with("kube-scheduler has not bound any of 2 pods"));
}

TEST_CASE("a plan whose pods are not created gives its capacity to others", "[extender][expiry]") {
  Unstarted c;
  c.pass(119s);
  CHECK(c.planned_nodes("a") == "n1 n2");
  c.pass(1s);
  CHECK(c.planned_nodes("a") == "waits");
  CHECK(c.gang().reason == "PlanExpired");
  CHECK(
      c.gang().message.starts_with("2 of 2 pods were not created within 120s (deployment "
                                   "nervex-operator); planned again after "));
  CHECK(c.planned_nodes("b") != "waits");
}

TEST_CASE("an expired plan is made again after a pause that doubles", "[extender][expiry]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_group("a", {a_set("learner", 1, ask(8))});
  c.see();
  std::vector<std::chrono::seconds> pauses;
  for (int i = 0; i < 8; ++i) {
    c.planner.schedule_once();
    REQUIRE(c.planned_nodes("a") == "n1");
    c.planner.schedule_once();
    c.clock.advance(120s);
    c.planner.schedule_once();
    std::chrono::seconds pause{0};
    while (c.planned_nodes("a") == "waits" && pause < 600s) {
      c.clock.advance(1s);
      ++pause;
      c.planner.schedule_once();
    }
    pauses.push_back(pause);
  }
  CHECK(pauses == std::vector{5s, 10s, 20s, 40s, 80s, 160s, 300s, 300s});
}

TEST_CASE("a plan is checked again when its time is over, also if it has no pods",
          "[extender][expiry]") {
  Unstarted c;
  const auto result = planner::expire_plans(c.cache.planner.uncommitted_plans(), {}, c.clock.mono(),
                                            c.clock.now(), {});
  CHECK(result.writes.empty());
  CHECK(result.look_again == 120s);
}

TEST_CASE("a plan that could not be dropped yet keeps its age", "[extender][expiry]") {
  Unstarted c;
  const auto look = [&c](const planner::PlanAges& ages) {
    return planner::expire_plans(c.cache.planner.uncommitted_plans(), ages, c.clock.mono(),
                                 c.clock.now(), {});
  };
  const auto first = look({});
  c.clock.advance(120s);
  const auto due = look(first.ages);
  REQUIRE(due.writes.size() == 1);
  c.clock.advance(1s);  // nothing was written: its PodGroup has to wait after an error
  CHECK(look(due.ages).writes.size() == 1);
}

TEST_CASE("a plan has its time from when something about it moved last", "[extender][expiry]") {
  Unstarted c;
  const gang::PodGroup group = c.group("a");
  const auto create = [&](std::size_t number) {
    auto name = c.add_gang_pod(group, group.status.gangs[0].placements[number]);
    c.see_pods();
    return name;
  };
  c.pass(119s);
  const std::string first = create(0);
  SECTION("a pod was created, which no cycle follows") {
    c.pass(119s);
    CHECK(c.planned_nodes("a") == "n1 n2");
    c.pass(1s);
    CHECK(c.gang().message.starts_with("1 of 2 pods were not created within 120s"));
  }
  SECTION("a pod was refused") {
    c.pass(119s);
    c.refuse(first);
    c.pass(119s);
    CHECK(c.planned_nodes("a") == "n1 n2");
    c.refuse(first);  // once more is no news
    c.pass(1s);
    CHECK(c.gang().reason == "PlanExpired");
  }
  SECTION("the bind of a pod has begun") {
    c.pass(119s);
    c.cache.binds.note_bind_call(*gang::pod_slot(c.pod(first)));
    c.pass(119s);
    CHECK(c.planned_nodes("a") == "n1 n2");
    c.pass(1s);
    CHECK(c.gang().reason == "PlanExpired");
  }
}

// kube-scheduler keeps the learner back, since its claim was not created, and comes again and again
// with the coordinator, whose bind is held.
struct Claiming : ExtenderCluster {
  std::vector<std::string> pods;
  Claiming() {
    add_node("n1", 8);
    auto learner = a_set("learner", 1, ask(8));
    learner.resource_claims = {"ResourceClaimTemplate/gpus"};
    add_group("a", {testing::coordinator(), learner}, 1);
    see();
    planner.schedule_once();
    REQUIRE(planned_nodes("a") == "n1 n1");
    pods = add_gang_pods("a");
    see_pods();
  }
  void try_coordinator() { cache.binds.note_bind_call(*gang::pod_slot(pod("a-coordinator-0-0"))); }
  void pass(std::chrono::seconds time) {
    clock.advance(time);
    planner.schedule_once();
    see_groups();
  }
  gang::GangStatus gang() const { return group("a").status.gangs.front(); }
};

TEST_CASE("a plan whose pods wait for resource claims gives its nodes back within the deadline",
          "[extender][expiry]") {
  Claiming c;
  for (int i = 0; i < 6; ++i) {
    c.try_coordinator();
    c.pass(20s);
  }
  CHECK(c.gang().reason == "PlanExpired");
  CHECK(c.gang().message.starts_with(
      "1 of 2 pods waited for ResourceClaimTemplate/gpus for 120s: the claims of a template are "
      "created by kube-controller-manager, and a ResourceQuota may forbid them; planned again "
      "after "));
  CHECK(c.gang().refusals.cause == "ResourceClaimTemplate/gpus");
  CHECK(c.gang().refusals.plan_after == c.clock.now() + 60s);
}

TEST_CASE("binds that are tried again count as progress where no pod waits for resource claims",
          "[extender][expiry]") {
  Unstarted c;
  c.create_pods();
  for (int i = 0; i < 8; ++i) {
    c.cache.binds.note_bind_call(*gang::pod_slot(c.pod(c.names[0])));
    c.pass(20s);
  }
  CHECK(c.planned_nodes("a") == "n1 n2");
}

TEST_CASE("a plan that moves all the time ends after ten minutes", "[extender][expiry]") {
  Unstarted c;
  const gang::PodGroup group = c.group("a");
  c.planner.schedule_once();
  for (int i = 0; i < 6; ++i) {  // created, and deleted again
    const auto name = c.add_gang_pod(group, group.status.gangs[0].placements[0]);
    c.see_pods();
    c.pass(100s);
    if (i < 5) CHECK(c.planned_nodes("a") == "n1 n2");
    c.api.remove(kube::kPods, kNs, name);
    c.see_pods();
  }
  CHECK(c.gang().reason == "PlanExpired");
  CHECK(c.gang().message.starts_with("1 of 2 pods were not created within 600s"));
}

TEST_CASE("a pod that is created for an expired plan is not bound", "[extender][expiry]") {
  Unstarted c;
  const gang::PodGroup group = c.group("a");
  c.pass(120s);
  REQUIRE(c.planned_nodes("a") == "waits");
  const auto late = c.add_gang_pod(group, group.status.gangs[0].placements[0]);
  c.see();
  CHECK(c.filter(late, {"n1", "n2"}).node_names.empty());
  CHECK_FALSE(c.bind(late, "n1").empty());
  CHECK(c.bound_node(late).empty());
}

TEST_CASE("a pod of a committed gang does not wake the planner", "[extender][expiry]") {
  Unstarted c;
  c.create_pods();
  CHECK(c.bind(c.names[0], "n1").empty());
  const auto pod = std::make_shared<const kube::Pod>(c.pod(c.names[1]));
  c.cache.updates.pod_changed(pod, nullptr);
  CHECK(c.cache.updates.pod_changed(nullptr, pod) == WatchUpdates::Look::kNo);
}

TEST_CASE("a clock that is set back lengthens no plan", "[extender][expiry]") {
  Unstarted c;
  c.create_pods();
  c.pass(1s);
  c.clock.set_back(1h);
  c.pass(1s);
  c.pass(120s);
  CHECK(c.gang().reason == "PlanExpired");
}

TEST_CASE("a plan whose pods are all refused expires sooner", "[extender][expiry]") {
  Unstarted c;
  c.create_pods();
  c.refuse(c.names[0]);
  c.pass(30s);
  CHECK(c.planned_nodes("a") == "n1 n2");  // the other one's bind may be held
  c.refuse(c.names[1]);
  CHECK(c.planned_nodes("a") == "waits");
  CHECK(c.group("a").status.avoid.size() == 2);
  CHECK(
      c.gang().message.find("kube-scheduler refused learner/0 on node n1 (and 1 more pods): no") !=
      std::string::npos);
}

TEST_CASE("the plan of a committed gang does not expire", "[extender][expiry]") {
  Unstarted c;
  c.create_pods();
  CHECK(c.bind(c.names[0], "n1").empty());
  c.see();
  c.pass(600s);
  CHECK(c.gang().committed);
  CHECK(c.gang().placements.size() == 2);
}

TEST_CASE("a new leader gives victims a minute, and what is planned then is a new plan",
          "[extender][expiry]") {
  gang::PodGroup group = testing::a_group("a", {a_set("learner", 1, ask(8))}, 1);
  group = testing::planned(group, {"n1"}, false);
  group.status.gangs[0].planned = false;
  group.status.gangs[0].reason = std::string(gang::kReasonPreempting);
  group.status.gangs[0].victims = {{"uid-b", "base"}};
  planner::UncommittedPlan plan{std::make_shared<const gang::PodGroup>(group), "base", 0, 0, 0, {}};
  const SysTime now(1'000'000s);
  plan.victims_due = now - 1h;
  const MonoTime mono(5'000s);
  planner::ExpiredPlans first = planner::expire_plans({plan}, {}, mono, now, {});
  CHECK(first.writes.empty());
  CHECK(first.look_again == 60s);
  CHECK(planner::expire_plans({plan}, first.ages, mono + 59s, now + 59s, {}).writes.empty());
  CHECK(planner::expire_plans({plan}, first.ages, mono + 60s, now + 60s, {}).writes.size() == 1);

  group.status.gangs[0].planned = true;
  group.status.gangs[0].victims.clear();
  plan = {std::make_shared<const gang::PodGroup>(group), "base", 1, 0, 0, {}};
  const planner::ExpiredPlans planned =
      planner::expire_plans({plan}, first.ages, mono + 1h, now + 1h, {});
  CHECK(planned.writes.empty());
}

}  // namespace
}  // namespace nervex::extender
