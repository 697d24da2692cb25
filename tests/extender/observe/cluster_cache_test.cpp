#include "extender/observe/cluster_cache.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/extender/cluster.h"

namespace nervex::extender {
namespace {

using testing::a_set;
using testing::ask;
using testing::ExtenderCluster;
using testing::kNs;
using testing::Member;

// GPUs of a node that are neither used nor reserved; -1: nothing is reserved there.
std::int64_t spare_gpus(const ExtenderCluster& c, const std::string& node) {
  const auto reserved = c.cache.binds.reserved_nodes({node});
  return reserved.empty() ? -1 : reserved[0].spare.value().get("nvidia.com/gpu");
}

std::int64_t free_gpus(const ExtenderCluster& c, const std::string& node) {
  const placement::Cluster nodes = c.cache.planner.snapshot().nodes;
  const auto at = nodes.find(node);
  return at ? nodes.free(*at, "nvidia.com/gpu") : -1;
}

TEST_CASE("capacity of a placement is reserved until its pod is bound", "[extender][cache]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_group("a", {a_set("learner", 2, ask(3))});
  c.see();
  CHECK(spare_gpus(c, "n1") == -1);
  c.planner.schedule_once();
  CHECK(spare_gpus(c, "n1") == 2);
  CHECK(free_gpus(c, "n1") == 8);  // plans that are not committed are subtracted by the cycle

  const auto names = c.add_gang_pods("a");
  c.see();
  REQUIRE(c.bind(names[0], "n1").empty());
  CHECK(free_gpus(c, "n1") == 2);  // committed, and not seen bound
  CHECK(spare_gpus(c, "n1") == 2);
  c.see_pods();
  CHECK(free_gpus(c, "n1") == 2);
  CHECK(spare_gpus(c, "n1") == 2);
  REQUIRE(c.bind(names[1], "n1").empty());
  c.see_pods();
  CHECK(free_gpus(c, "n1") == 2);
  CHECK(spare_gpus(c, "n1") == -1);

  c.api.change(kube::kPods, kNs, names[0], {{"status", {{"phase", "Succeeded"}}}});
  c.see_pods();
  CHECK(free_gpus(c, "n1") == 5);  // finished: neither used nor reserved
  c.api.remove(kube::kPods, kNs, names[1]);
  c.see_pods();
  CHECK(free_gpus(c, "n1") == 5);  // deleted before it finished: reserved for its successor
  CHECK(spare_gpus(c, "n1") == 5);

  c.api.remove(kube::kPodGroups, kNs, "a");
  c.see();
  CHECK(spare_gpus(c, "n1") == -1);
  CHECK(free_gpus(c, "n1") == 8);
}

// kube-scheduler may see before us that a deleted node is there again.
TEST_CASE("capacity stays reserved on a node that was deleted", "[extender][cache]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_group("a", {a_set("learner", 2, ask(3))});
  c.see();
  c.planner.schedule_once();
  c.api.remove(kube::kNodes, "", "n1");
  c.see();
  const auto reserved = c.cache.binds.reserved_nodes({"n1"});
  REQUIRE(reserved.size() == 1);
  CHECK(!reserved[0].spare);
}

TEST_CASE("capacity of a pod that is being bound stays reserved when its placement is released",
          "[extender][cache]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_group("a", {a_set("learner", 2, ask(3))});
  const auto names = c.plan_and_add_pods("a");
  REQUIRE(c.bind(names[0], "n1").empty());
  REQUIRE(c.bind(names[1], "n1").empty());  // neither has been seen bound
  c.set_members("a", {a_set("learner", 1, ask(3))});
  c.see_groups();
  CHECK(free_gpus(c, "n1") == 2);
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == "n1!");
  CHECK(free_gpus(c, "n1") == 2);
  c.see_pods();
  CHECK(free_gpus(c, "n1") == 2);
  c.api.remove(kube::kPods, kNs, names[1]);
  c.see_pods();
  CHECK(free_gpus(c, "n1") == 5);
}

TEST_CASE("capacity of a superseded slot is free when its pod is deleted", "[extender][cache]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_group("a", {a_set("learner", 1, ask(6))});
  const auto names = c.plan_and_add_pods("a");
  REQUIRE(c.bind(names[0], "n1").empty());
  c.see_pods();
  auto next = a_set("learner", 1, ask(6));
  next.slots = {{0, 1}};
  c.set_members("a", {next});
  c.see_groups();
  c.planner.schedule_once();
  c.see_groups();
  CHECK(c.planned_nodes("a") == "waits!");
  CHECK_FALSE(c.bind(names[0], "n1").empty());  // its placement was superseded
  c.api.remove(kube::kPods, kNs, names[0]);
  c.see_pods();
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == "n1!");
}

TEST_CASE("the slot of a finished pod reserves nothing, with any placement", "[extender][cache]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_group("a", {a_set("learner", 2, ask(3))});
  const auto names = c.plan_and_add_pods("a");
  REQUIRE(c.bind(names[0], "n1").empty());
  c.api.change(kube::kPods, kNs, names[0], {{"status", {{"phase", "Succeeded"}}}});
  c.api.remove(kube::kPods, kNs, names[1]);
  c.see();
  // Planned again, like a requeued gang: the finished pod stays.
  const auto plan_anew = [&c](bool committed) {
    gang::PodGroupStatus status = c.group("a").status;
    for (auto& placement : status.gangs[0].placements) {
      placement.number = status.next_placement++;
    }
    status.gangs[0].committed = committed;
    c.api.change(kube::kPodGroups, kNs, "a", {{"status", gang::encode_status(status)}});
    c.see_groups();
  };
  plan_anew(false);
  CHECK(spare_gpus(c, "n1") == 5);  // for the other one alone
  plan_anew(true);
  CHECK(free_gpus(c, "n1") == 5);

  SECTION("until it is deleted") {
    c.api.remove(kube::kPods, kNs, names[0]);
    c.see_pods();
    CHECK(free_gpus(c, "n1") == 2);
    CHECK(spare_gpus(c, "n1") == 2);
  }
  SECTION("also if it finishes later") {
    c.api.change(kube::kPods, kNs, names[0], {{"status", {{"phase", "Running"}}}});
    c.see_pods();
    CHECK(spare_gpus(c, "n1") == -1);  // its own use, and both reservations
    c.api.change(kube::kPods, kNs, names[0], {{"status", {{"phase", "Succeeded"}}}});
    c.see_pods();
    CHECK(free_gpus(c, "n1") == 5);
    CHECK(spare_gpus(c, "n1") == 5);
  }
}

TEST_CASE("a snapshot names the bound pods that are being deleted", "[extender][cache]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_group("a", {a_set("learner", 2, ask(3))});
  const auto names = c.plan_and_add_pods("a");
  REQUIRE(c.bind(names[0], "n1").empty());
  const auto delete_pod = [&c](const std::string& name) {
    c.api.change(kube::kPods, kNs, name,
                 {{"metadata", {{"deletionTimestamp", "2026-11-22T10:00:07Z"}}}});
    c.see_pods();
  };
  const auto ending = [&c] { return c.cache.planner.snapshot().groups.at(0).ending; };
  delete_pod(names[1]);  // not bound: it goes at once
  CHECK(ending().empty());
  delete_pod(names[0]);
  REQUIRE(ending().size() == 1);
  CHECK(ending().begin()->first == std::pair<std::string, int>("learner", 0));
  CHECK(ending().begin()->second.name == names[0]);
  CHECK(to_rfc3339(ending().begin()->second.until) == "2026-11-22T10:00:07Z");
  SECTION("until they have finished") {
    c.api.change(kube::kPods, kNs, names[0], {{"status", {{"phase", "Succeeded"}}}});
  }
  SECTION("until they are gone") { c.api.remove(kube::kPods, kNs, names[0]); }
  SECTION("unless their node is lost") {
    c.api.change(kube::kPods, kNs, names[0],
                 {{"status",
                   {{"conditions", Json::array({{{"type", kube::kNodeLostCondition},
                                                 {"status", "True"},
                                                 {"message", "not Ready"}}})}}}});
  }
  c.see_pods();
  CHECK(ending().empty());
}

TEST_CASE("a gang that runs is settled: in the totals, with nothing to decide",
          "[extender][cache]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_group("a", {a_set("learner", 2, ask(3))});
  c.see();
  CHECK(c.cache.planner.snapshot().facts.settled->groups.empty());
  c.planner.schedule_once();
  const auto names = c.add_gang_pods("a");
  c.see();
  for (const std::string& name : names) REQUIRE(c.bind(name, "n1").empty());
  c.see();
  const planner::Snapshot snapshot = c.cache.planner.snapshot();
  CHECK(snapshot.groups.empty());
  REQUIRE(snapshot.facts.settled->groups.size() == 1);
  CHECK(snapshot.facts.settled->usage.rigid(queue::kRoot).total.get("nvidia.com/gpu") == 6);
  CHECK(c.cache.planner.snapshot().facts.settled ==
        snapshot.facts.settled);  // no copy while nothing changes

  c.api.remove(kube::kPodGroups, kNs, "a");
  c.see();
  CHECK(c.cache.planner.snapshot().facts.settled->groups.empty());
  CHECK(snapshot.facts.settled->groups.size() == 1);
}

TEST_CASE("a cycle gets what runs while a gang waits, and only if something may end for it",
          "[extender][cache]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_group("runs", {a_set("learner", 1, ask(8))});
  const auto names = c.plan_and_add_pods("runs");
  REQUIRE(c.bind(names[0], "n1").empty());
  c.see();
  const auto count_running = [&c](WithRunning with) {
    std::vector<planner::NodeChange> changes;
    return c.cache.planner.snapshot(changes, with).running.size();
  };
  CHECK(count_running(WithRunning::kYes) == 0);
  CHECK(c.cache.planner.snapshot_for(kNs, WithRunning::kYes).running.size() == 1);
  c.add_group("waits", {a_set("learner", 1, ask(8))});
  c.see();
  CHECK(count_running(WithRunning::kYes) == 1);  // nothing was decided about it yet
  c.planner.schedule_once();
  c.see();
  CHECK(count_running(WithRunning::kYes) == 1);
  CHECK(count_running(WithRunning::kIfPreempting) == 0);  // no queue preempts
  CHECK(count_running(WithRunning::kNo) == 0);
  c.add_node("n2", 8);
  c.see();
  c.planner.schedule_once();
  c.see();
  CHECK(count_running(WithRunning::kYes) == 1);  // its plan may be dropped in the next cycle
}

TEST_CASE("what runs is asked for by the flags that end workloads", "[extender][cache]") {
  using queue::PreemptionMode;
  const queue::ReservationOptions off;
  const queue::ReservationOptions on{std::chrono::seconds(300)};
  CHECK(choose_running({{}, PreemptionMode::kOff, off}) == WithRunning::kNo);
  CHECK(choose_running({{}, PreemptionMode::kReclaim, off}) == WithRunning::kIfPreempting);
  CHECK(choose_running({{}, PreemptionMode::kFull, off}) == WithRunning::kIfPreempting);
  CHECK(choose_running({{}, PreemptionMode::kOff, on}) == WithRunning::kYes);
  CHECK(choose_running({{}, PreemptionMode::kFull, on}) == WithRunning::kYes);
}

TEST_CASE("pods may reach the cache before their node and their PodGroup", "[extender][cache]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_group("a", {a_set("learner", 1, ask(3))});
  c.see_nodes();
  c.see_groups();
  c.planner.schedule_once();
  const auto names = c.add_gang_pods("a");
  REQUIRE(c.bind(names[0], "n1").empty());

  ExtenderCluster late;
  late.api.add(kube::kNodes, "", c.api.get(kube::kNodes, "", "n1"));
  for (const Json& pod : c.api.list(kube::kPods)) late.api.add(kube::kPods, kNs, pod);
  late.see_pods();
  CHECK(late.cache.planner.snapshot().nodes.empty());
  late.see_nodes();
  CHECK(free_gpus(late, "n1") == 5);
}

TEST_CASE("a pod with forged gang annotations frees no capacity", "[extender][cache]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_node("n2", 8);
  c.add_group("a", {a_set("learner", 1, ask(3))});
  c.see();
  c.planner.schedule_once();
  const auto group = c.group("a");
  auto forged = group.status.gangs[0].placements[0];
  const std::string name = c.add_gang_pod(group, forged);
  c.api.change(kube::kPods, kNs, name, {{"spec", {{"nodeName", "n2"}}}});  // bound elsewhere
  c.see();
  CHECK(spare_gpus(c, "n1") == 5);
}

TEST_CASE("slots that are not wanted reserve no capacity and have no placement",
          "[extender][cache]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_group("a", {a_set("learner", 2, ask(3))});
  c.see();
  c.planner.schedule_once();
  const std::string uid = c.group("a").meta.uid;
  CHECK(c.cache.binds.slot_seen({uid, "learner", {1, 0}, 2}).placement.has_value());
  c.set_members("a", {a_set("learner", 1, ask(3))});
  c.see_groups();
  CHECK(spare_gpus(c, "n1") == 5);
  CHECK_FALSE(c.cache.binds.slot_seen({uid, "learner", {1, 0}, 2}).placement.has_value());
  CHECK(c.cache.binds.slot_seen({uid, "learner", {0, 0}, 1}).placement.has_value());
  CHECK(c.cache.binds.slot_seen({"unknown", "learner", {0, 0}, 1}).group == nullptr);
}

TEST_CASE("a PodGroup that was deleted and created again is another one", "[extender][cache]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_group("a", {a_set("learner", 1, ask(3))});
  c.see();
  c.planner.schedule_once();
  const std::string first = c.group("a").meta.uid;
  c.api.remove(kube::kPodGroups, kNs, "a");
  c.add_group("a", {a_set("learner", 1, ask(3))});
  c.see();
  CHECK(c.cache.binds.slot_seen({first, "learner", {0, 0}, 1}).group == nullptr);
  CHECK(spare_gpus(c, "n1") == -1);
  CHECK(c.cache.planner.snapshot().groups.size() == 1);
}

TEST_CASE("old and new placements of an unconfirmed write are both reserved", "[extender][cache]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_node("n2", 8);
  c.add_group("a", {a_set("learner", 1, ask(3))});
  c.see();
  c.planner.schedule_once();
  gang::PodGroup moved = c.group("a");
  moved.status.gangs[0].placements[0].node = "n2";
  moved.status.gangs[0].placements[0].number = 2;
  c.cache.planner.mark_unconfirmed(std::make_shared<const gang::PodGroup>(moved));
  CHECK(spare_gpus(c, "n1") == 5);
  CHECK(spare_gpus(c, "n2") == 5);
  c.cache.planner.resolve(moved.meta.uid);
  CHECK(spare_gpus(c, "n1") == 5);
  CHECK(spare_gpus(c, "n2") == -1);
}

// A running gang may take the place of a plan; but that may have been committed since the cycle
// began, which is a write to another object.
TEST_CASE("a lost slot gets no place that another gang was committed to meanwhile",
          "[extender][cache]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_node("n2", 8);
  auto low = a_set("learner", 2, ask(8));
  c.add_group("low", {low});
  const auto names = c.plan_and_add_pods("low");
  REQUIRE(c.bind(names[0], "n1").empty());
  REQUIRE(c.bind(names[1], "n2").empty());
  c.add_node("n3", 8);
  c.add_group("high", {a_set("learner", 1, ask(8))});
  c.see();
  c.planner.schedule_once();
  REQUIRE(c.planned_nodes("high") == "n3");
  const auto high = c.add_gang_pods("high");
  c.api.remove(kube::kPods, kNs, names[1]);
  c.api.remove(kube::kNodes, "", "n2");
  ++low.slots[1].incarnation;
  c.set_members("low", {low});
  c.see();
  gang::PodGroup decided = c.group("low");
  decided.status.gangs[0].placements[1] = {"learner", {1, 1}, "n3", 3};
  decided.status.next_placement = 4;
  const auto mark = [&] {
    const bool is_marked =
        c.cache.planner.mark_unconfirmed(std::make_shared<const gang::PodGroup>(decided));
    c.cache.planner.resolve(decided.meta.uid);
    return is_marked;
  };
  CHECK(mark());
  REQUIRE(c.bind(high[0], "n3").empty());
  CHECK_FALSE(mark());
}

TEST_CASE("a late reply does not restore a deleted PodGroup", "[extender][cache]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_group("a", {a_set("learner", 1, ask(3))});
  c.see();
  c.planner.schedule_once();
  const gang::PodGroup reply = c.group("a");
  c.api.remove(kube::kPodGroups, kNs, "a");
  c.add_group("b", {a_set("learner", 1, ask(3))});
  c.see();
  c.cache.binds.fold(reply);
  CHECK(c.cache.planner.snapshot().groups.size() == 1);
  CHECK(spare_gpus(c, "n1") == -1);
}

TEST_CASE("slots that move between committed gangs are counted once and never released",
          "[extender][cache]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  std::vector<Member> members{a_set("coordinator", 1, ask(0))};
  for (const int id : {5, 6}) {
    auto set = testing::in_request(a_set("collector", 0, ask(2)), id);
    set.slots = {{4091 + id, 0}, {4191 + id, 0}};
    members.push_back(set);
  }
  c.add_group("a", members);
  c.see();
  c.planner.schedule_once();
  const auto five = c.add_gang_pods("a", "request-5");
  const auto six = c.add_gang_pods("a", "request-6");
  c.see();
  REQUIRE(c.bind(five[0], "n1").empty());
  REQUIRE(c.bind(five[1], "n1").empty());
  REQUIRE(c.bind(six[0], "n1").empty());  // six[1] is not bound yet
  c.see();
  REQUIRE(free_gpus(c, "n1") == 0);
  const gang::PodGroup before = c.group("a");

  auto& into = members[1].slots;
  into.insert(into.end(), members[2].slots.begin(), members[2].slots.end());
  members.pop_back();
  c.set_members("a", members);
  c.see();
  const auto still_counted = [&c] {
    CHECK(free_gpus(c, "n1") == 0);
    CHECK(spare_gpus(c, "n1") == 0);
  };
  still_counted();  // the spec has moved them, the status has not
  const bool binds_before = GENERATE(true, false);
  const auto bind_last = [&] {
    CHECK(c.filter(six[1], {"n1"}).node_names == std::vector<std::string>{"n1"});
    CHECK(c.bind(six[1], "n1").empty());
  };
  if (binds_before) bind_last();
  c.planner.schedule_once();
  CHECK(free_gpus(c, "n1") == 0);
  if (!binds_before) {
    still_counted();
    bind_last();
  }
  c.see();
  CHECK(free_gpus(c, "n1") == 0);

  CHECK(c.planned_nodes("a", "request-5") == "n1 n1 n1 n1!");
  CHECK(c.planned_nodes("a", "request-6") == "undecided");
  const gang::PodGroup after = c.group("a");
  CHECK(after.status.next_placement == before.status.next_placement);
  for (const gang::GangStatus& gang : before.status.gangs) {
    for (const gang::Placement& placement : gang.placements) {
      const auto* now = gang::find_placement(after.status, placement.role, placement.slot);
      REQUIRE(now != nullptr);
      CHECK(*now == placement);
    }
  }
  c.api.clear_writes();
  c.planner.schedule_once();
  CHECK(c.api.writes().empty());
}

TEST_CASE("a gang whose slots have moved to another one is not committed", "[extender][cache]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  std::vector<Member> members{a_set("coordinator", 1, ask(0))};
  for (const int id : {5, 6}) {
    auto set = testing::in_request(a_set("collector", 0, ask(2)), id);
    set.slots = {{4091 + id, 0}};
    members.push_back(set);
  }
  c.add_group("a", members);
  c.see();
  c.planner.schedule_once();
  const auto five = c.add_gang_pods("a", "request-5");
  const auto six = c.add_gang_pods("a", "request-6");
  c.see();
  REQUIRE(c.bind(five[0], "n1").empty());
  members[1].slots.push_back({4097, 0});
  members.pop_back();
  c.set_members("a", members);
  c.see();
  // Its placement was not checked for request-5, though that gang is committed.
  CHECK(c.bind(six[0], "n1").find("collector/4097 belongs to gang request-5 now") !=
        std::string::npos);
  c.planner.schedule_once();
  CHECK(c.bind(six[0], "n1").empty());
  CHECK(c.planned_nodes("a", "request-5") == "n1 n1!");
}

}  // namespace
}  // namespace nervex::extender
