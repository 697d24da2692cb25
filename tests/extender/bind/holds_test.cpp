// Held binds: the calls of a gang's pods wait for each other, and all or none are bound.
#include "extender/bind/holds.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <future>
#include <thread>

#include "tests/extender/cluster.h"

namespace nervex::extender {
namespace {

using namespace std::chrono_literals;
using testing::a_set;
using testing::Applied;
using testing::ask;
using testing::coordinator;
using testing::ExtenderCluster;
using testing::in_request;
using testing::kNs;
using testing::list_members;

constexpr const char* kStatusOfA = "/podgroups/a/status";

// A gang of a coordinator and two learners, each on a separate node; its pods are created.
struct Held : ExtenderCluster {
  std::vector<std::string> names;  // coordinator, learner/0, learner/1

  explicit Held(const HoldOptions& options = {}) : ExtenderCluster(options) {
    add_node("n1", 8);
    add_node("n2", 8);
    add_group("a", {coordinator(), a_set("learner", 2, ask(8))});
    see();
    planner.schedule_once();
    names = add_gang_pods("a");
    see();
    api.clear_writes();
  }

  std::string planned_node(const std::string& name) const {
    const auto slot = gang::pod_slot(pod(name));
    return gang::find_placement(group("a").status, slot->role, slot->slot)->node;
  }
  std::future<std::string> begin(const std::string& name) {
    // Looked up before the thread starts: by then another call may have dropped the plan.
    return std::async(std::launch::async,
                      [this, name, node = planned_node(name)] { return bind(name, node); });
  }
  // Waits until this many calls are held.
  void wait_for(std::size_t calls) const {
    while (holds.size() != calls) std::this_thread::yield();
  }
  int bound() const {
    int count = 0;
    for (const std::string& name : names) {
      const Json pod = api.get(kube::kPods, kNs, name);
      count += !pod.is_null() && pod["spec"].contains("nodeName") ? 1 : 0;
    }
    return count;
  }
};

TEST_CASE("no pod is bound before all of its gang are here; then all are", "[extender][hold]") {
  Held c;
  auto coordinator = c.begin(c.names[0]);
  auto first = c.begin(c.names[1]);
  c.wait_for(2);
  CHECK(c.api.writes().empty());
  auto second = c.begin(c.names[2]);
  CHECK(first.get().empty());
  CHECK(second.get().empty());
  // Bound last: when the others are seen to be.
  c.wait_for(1);
  CHECK(c.bound_node(c.names[0]).empty());
  CHECK(c.planned_nodes("a").ends_with("!"));
  c.see_pods();
  CHECK(coordinator.get().empty());
  CHECK(c.bound() == 3);
  CHECK(c.api.writes("PATCH", kStatusOfA).size() == 1);
}

TEST_CASE("a gang whose pods do not all come starts none of them", "[extender][hold]") {
  Held c({.arrival_timeout = 500ms});  // threads of a busy machine start late, and must be in time
  auto coordinator = c.begin(c.names[0]);
  auto learner = c.begin(c.names[1]);
  const std::string error = learner.get();
  CHECK(coordinator.get() == error);
  CHECK(error.starts_with("gang base cannot start: 1 of 3 pods did not come to be bound for "));
  CHECK(error.ends_with(": learner/1 (on n2); no pod was bound"));
  CHECK(c.bound() == 0);
  CHECK(c.holds.size() == 0);
  SECTION("and when they come again, all do") {
    std::vector<std::future<std::string>> calls;
    for (const std::string& name : c.names) calls.push_back(c.begin(name));
    calls[1].wait();
    calls[2].wait();
    c.see_pods();
    for (auto& call : calls) CHECK(call.get().empty());
    CHECK(c.bound() == 3);
  }
}

// As kube-scheduler writes it when its own plugins find no node for the pod.
void refuse(ExtenderCluster& c, const std::string& name, const std::string& reason,
            const std::string& why) {
  c.api.change(kube::kPods, kNs, name,
               {{"status",
                 {{"conditions",
                   {{{"type", "PodScheduled"},
                     {"status", "False"},
                     {"reason", reason},
                     {"message", why},
                     {"lastTransitionTime", "2026-11-22T10:00:00Z"}}}}}}});
  c.see_pods();
}

TEST_CASE("what the scheduler refuses is learned when the time is up", "[extender][hold]") {
  Held c({.arrival_timeout = 300ms});  // the calls of two threads have to meet within it
  c.add_node("n3", 8);
  c.see_nodes();
  SECTION("refused by its plugins: planned elsewhere") {
    refuse(c, c.names[2], "Unschedulable", "1 node(s) exceed max volume count");
    auto coordinator = c.begin(c.names[0]);
    auto learner = c.begin(c.names[1]);
    learner.get();
    coordinator.get();
    CHECK(c.planned_nodes("a") == "waits");
    const auto status = c.group("a").status;
    CHECK(status.gangs[0].reason == "RefusedByScheduler");
    CHECK(status.gangs[0].message ==
          "kube-scheduler refused learner/1 on node n2: 1 node(s) exceed max volume count");
    c.see_groups();
    c.planner.schedule_once();
    CHECK(c.planned_nodes("a") == "n1 n1 n3");
    CHECK(c.api.writes("PATCH", kStatusOfA).size() == 2);
  }
  SECTION("an error of the scheduler teaches nothing") {
    refuse(c, c.names[2], "SchedulerError", "extender: connection refused");
    c.begin(c.names[1]).get();
    CHECK(c.planned_nodes("a") == "n1 n1 n2");
    CHECK(c.api.writes().empty());
  }
  SECTION("nor does silence") {
    c.begin(c.names[1]).get();
    CHECK(c.planned_nodes("a") == "n1 n1 n2");
    CHECK(c.api.writes().empty());
  }
  SECTION("a write whose reply is lost is made once") {
    refuse(c, c.names[2], "Unschedulable", "no");
    c.api.fail_next("PATCH", kStatusOfA, {Code::kTransient, "timeout"}, Applied::kYes);
    c.begin(c.names[1]).get();
    c.see_groups();
    CHECK(c.bind(c.names[1], "n1") == "placement 2 of learner/0 was superseded");
    CHECK(c.group("a").status.avoid.size() == 1);
    CHECK(c.group("a").status.gangs[0].refusals.count == 1);
  }
  SECTION("another write came first: read and decided again") {
    refuse(c, c.names[2], "Unschedulable", "no");
    c.api.change(kube::kPodGroups, kNs, "a", {{"metadata", {{"labels", {{"x", "y"}}}}}});
    c.begin(c.names[1]).get();
    CHECK(c.group("a").status.avoid.size() == 1);
  }
  CHECK(c.bound() == 0);
}

TEST_CASE("a call is not held for longer than the longest time, however many come",
          "[extender][hold]") {
  Held c({.arrival_timeout = 1h, .longest = 20ms});
  CHECK(c.begin(c.names[1]).get().starts_with("gang base cannot start"));
}

TEST_CASE("a call ends early", "[extender][hold]") {
  Held c;
  auto call = c.begin(c.names[1]);
  c.wait_for(1);
  SECTION("when the program stops") {
    c.holds.stop();
    CHECK(call.get() == "nervex-extender is stopping; another replica binds the pod");
    CHECK(c.begin(c.names[2]).get() ==
          "nervex-extender is stopping; another replica binds the pod");
  }
  SECTION("when its pod is deleted") {
    c.api.remove(kube::kPods, kNs, c.names[1]);
    c.see_pods();
    CHECK(call.get() == "the pod was deleted");
  }
  SECTION("when its pod is being deleted, though a finalizer keeps it") {
    c.api.change(kube::kPods, kNs, c.names[1],
                 {{"metadata", {{"deletionTimestamp", "2026-11-22T10:00:00Z"}}}});
    c.see_pods();
    CHECK(call.get() == "the pod was deleted");
    CHECK(c.begin(c.names[1]).get() == "the pod is being deleted");
  }
  SECTION("when its PodGroup is deleted") {
    c.api.remove(kube::kPodGroups, kNs, "a");
    c.see_groups();
    CHECK(call.get() == "the pod's PodGroup was deleted");
  }
  SECTION("when its placement is superseded") {
    auto members = list_members(c.group("a"));
    for (gang::SlotId& slot : members[1].slots) ++slot.incarnation;
    c.set_members("a", members);
    c.see_groups();
    c.planner.schedule_once();
    c.see_groups();
    CHECK(call.get() == "placement 2 of learner/0 was superseded");
  }
  CHECK(c.bound() == 0);
  CHECK(c.holds.size() == 0);
}

TEST_CASE("a call whose caller has left does not count any more", "[extender][hold]") {
  Held c({.arrival_timeout = 1h, .longest = 1h});
  const kube::BindArgs args{c.names[1], kNs, c.pod(c.names[1]).meta.uid, "n1"};
  const auto outcome = c.binder.bind(args, [] { return true; });
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().message == "kube-scheduler did not wait for the pods of the gang");
  CHECK(c.holds.size() == 0);
}

TEST_CASE("a gang waits only for the slots that it wants", "[extender][hold]") {
  Held c;
  auto first = c.begin(c.names[1]);
  c.wait_for(1);
  auto members = list_members(c.group("a"));
  members.erase(members.begin());  // no coordinator
  members[0].slots.pop_back();     // one learner
  c.set_members("a", members);
  c.see_groups();
  CHECK(first.get().empty());
  CHECK(c.bound_node(c.names[1]) == "n1");
}

TEST_CASE("a gang that is committed is not held, but for the pod that is bound last",
          "[extender][hold]") {
  Held c({.arrival_timeout = 20ms});
  auto group = c.group("a");
  group.status.gangs[0].committed = true;
  c.api.change(kube::kPodGroups, kNs, "a", {{"status", gang::encode_status(group.status)}});
  c.see_groups();
  CHECK(
      c.bind(c.names[0], c.planned_node(c.names[0])) ==
      "gang base: the coordinator is bound last, and 2 of 3 pods are not bound yet: learner/0 (on "
      "n1), learner/1 (on n2)");
  CHECK(c.bind(c.names[1], "n1").empty());
  CHECK(c.bind(c.names[2], "n2").empty());
  c.see_pods();
  CHECK(c.bind(c.names[0], c.planned_node(c.names[0])).empty());
}

TEST_CASE("a pod that has finished counts as bound", "[extender][hold]") {
  Held c({.arrival_timeout = 20ms});
  auto group = c.group("a");
  group.status.gangs[0].committed = true;
  c.api.change(kube::kPodGroups, kNs, "a", {{"status", gang::encode_status(group.status)}});
  c.see_groups();
  CHECK(c.bind(c.names[1], "n1").empty());
  CHECK(c.bind(c.names[2], "n2").empty());
  c.api.change(kube::kPods, kNs, c.names[1], {{"status", {{"phase", "Succeeded"}}}});
  c.see_pods();
  CHECK(c.bind(c.names[0], c.planned_node(c.names[0])).empty());
}

// The last pod of that slot has finished, and the next one gets a place after all that waits.
TEST_CASE("the coordinator does not wait for a slot that waits for a placement",
          "[extender][hold]") {
  const bool is_growing = GENERATE(true, false);
  Held c({.arrival_timeout = 20ms});
  auto group = c.group("a");
  gang::GangStatus& base = group.status.gangs[0];
  base.committed = true;
  std::erase_if(base.placements,
                [](const auto& one) { return one.role == "learner" && one.slot.ordinal == 1; });
  c.api.change(kube::kPodGroups, kNs, "a", {{"status", gang::encode_status(group.status)}});
  auto members = list_members(group);
  if (is_growing) members[1].growing = {1};
  c.set_members("a", members);
  c.see_groups();
  CHECK(c.bind(c.names[1], "n1").empty());
  c.see_pods();
  const std::string answer = c.bind(c.names[0], c.planned_node(c.names[0]));
  CHECK(answer == (is_growing ? ""
                              : "gang base: the coordinator is bound last, and 1 of 3 pods are not "
                                "bound yet: learner/1 (no node yet)"));
}

TEST_CASE("a gang larger than the limit starts with its first bind", "[extender][hold]") {
  Held c({.largest_gang = 2});
  CHECK(c.bind(c.names[1], "n1").empty());
  CHECK(c.planned_nodes("a").ends_with("!"));
}

TEST_CASE("gangs whose calls would be too many are told to come again", "[extender][hold]") {
  Held c({.most_calls = 4});
  c.add_group("b", {a_set("learner", 2, ask(0))});
  const auto others = c.plan_and_add_pods("b");
  auto call = c.begin(c.names[1]);
  c.wait_for(1);
  const auto node = c.group("b").status.gangs[0].placements[0].node;
  CHECK(c.bind(others[0], node) ==
        "the bind calls of other gangs are held; this gang's turn comes");
  c.holds.stop();
  call.get();
}

TEST_CASE("gangs of one PodGroup do not wait for each other", "[extender][hold]") {
  Held c;
  auto members = list_members(c.group("a"));
  members.push_back(in_request(a_set("collector", 1, ask(0)), 1));
  c.set_members("a", members);
  const auto grown = c.plan_and_add_pods("a", "request-1");
  auto held = c.begin(c.names[1]);
  c.wait_for(1);
  CHECK(c.begin(grown[0]).get().empty());
  CHECK(c.bound() == 0);
  c.holds.stop();
  held.get();
}

TEST_CASE("a plan that does not hold any more fails all of its calls", "[extender][hold]") {
  Held c;
  c.add_plain_pod("thief", ask(1), "n2");
  c.see();
  std::vector<std::future<std::string>> calls;
  for (const std::string& name : c.names) calls.push_back(c.begin(name));
  for (auto& call : calls) {
    CHECK(call.get() ==
          "gang base cannot start now: learner/1: node n2 has 7 nvidia.com/gpu left and learner "
          "needs 8");
  }
  CHECK(c.bound() == 0);
}

TEST_CASE("a placement that the planner moves itself fails its call at once", "[extender][hold]") {
  Held c;
  c.add_node("n3", 8);
  c.see_nodes();
  auto learner = c.begin(c.names[1]);
  c.wait_for(1);
  c.set_ready(c.planned_node(c.names[1]), false);
  c.see_nodes();
  c.planner.schedule_once();
  CHECK(learner.get() == "placement 2 of learner/0 was superseded");
}

TEST_CASE("many calls at once of many gangs", "[extender][hold]") {
  constexpr int kGangs = 8;
  constexpr int kPods = 24;
  ExtenderCluster c(HoldOptions{});
  c.add_node("n1", 0, 1000);
  c.add_node("n2", 0, 1000);
  std::vector<std::string> names;
  for (int i = 0; i < kGangs; ++i)
    c.add_group("g" + std::to_string(i), {a_set("collector", kPods, ask(0))});
  c.see();
  c.planner.schedule_once();
  for (int i = 0; i < kGangs; ++i) {
    const auto some = c.add_gang_pods("g" + std::to_string(i));
    names.insert(names.end(), some.begin(), some.end());
  }
  c.see();
  std::map<std::string, std::string> bound_node;
  for (int i = 0; i < kGangs; ++i) {
    const auto group = c.group("g" + std::to_string(i));
    for (const auto& placement : group.status.gangs[0].placements) {
      bound_node[group.meta.name + "-collector-" + std::to_string(placement.slot.ordinal) + "-0"] =
          placement.node;
    }
  }
  std::vector<std::future<std::string>> calls;
  for (const std::string& name : names) {
    calls.push_back(std::async(
        std::launch::async, [&c, name, node = bound_node.at(name)] { return c.bind(name, node); }));
  }
  for (auto& call : calls) CHECK(call.get().empty());
  CHECK(c.api.writes("PATCH", "/status").size() >= kGangs);
  CHECK(c.holds.size() == 0);
}

}  // namespace
}  // namespace nervex::extender
