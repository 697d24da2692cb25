#include "extender/bind/bind.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <thread>

#include "tests/extender/cluster.h"

namespace nervex::extender {
namespace {

using testing::a_set;
using testing::Applied;
using testing::ask;
using testing::ExtenderCluster;
using testing::in_request;
using testing::kNs;

constexpr const char* kStatus = "/podgroups/a/status";

// Two nodes, one gang of two learners planned on them, its pods made.
struct Planned : ExtenderCluster {
  std::vector<std::string> names;
  Planned() {
    add_node("n1", 8);
    add_node("n2", 8);
    add_group("a", {a_set("learner", 2, ask(8))});
    see();
    planner.schedule_once();
    names = add_gang_pods("a");
    see();
    api.clear_writes();
  }
};

TEST_CASE("the first bind of a gang commits it, the others only bind", "[extender][bind]") {
  Planned c;
  CHECK(c.bind(c.names[0], "n1").empty());
  CHECK(c.planned_nodes("a") == "n1 n2!");
  CHECK(c.bind(c.names[1], "n2").empty());
  CHECK(c.bound_node(c.names[0]) == "n1");
  CHECK(c.bound_node(c.names[1]) == "n2");
  CHECK(c.api.writes("PATCH", kStatus).size() == 1);
  CHECK(c.api.writes().size() == 3);
}

TEST_CASE("many binds of one gang at once make one commit", "[extender][bind]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_group("a", {a_set("collector", 12, ask(0))});
  const auto names = c.plan_and_add_pods("a");
  c.api.clear_writes();
  std::vector<std::string> errors(names.size());
  {
    std::vector<std::jthread> calls;
    for (std::size_t i = 0; i < names.size(); ++i) {
      calls.emplace_back([&, i] { errors[i] = c.bind(names[i], "n1"); });
    }
  }
  for (const std::string& error : errors) CHECK(error.empty());
  CHECK(c.api.writes("PATCH", kStatus).size() == 1);
  for (const std::string& name : names) CHECK(c.bound_node(name) == "n1");
}

TEST_CASE("many binds of a gang that cannot start bind no pod", "[extender][bind]") {
  Planned c;
  c.add_plain_pod("intruder", ask(1), "n2");
  c.see();
  std::vector<std::string> errors(2);
  {
    std::jthread first([&] { errors[0] = c.bind(c.names[0], "n1"); });
    std::jthread second([&] { errors[1] = c.bind(c.names[1], "n2"); });
  }
  for (const std::string& error : errors) {
    CHECK(error ==
          "gang base cannot start now: learner/1: node n2 has 7 nvidia.com/gpu left and learner "
          "needs 8");
  }
  CHECK(c.planned_nodes("a") == "n1 n2");
  CHECK(c.bound_node(c.names[0]).empty());
  CHECK(c.api.writes().empty());
}

// No watch event reports a pod that was created, bound and deleted while the watch was down.
struct Unwatched : Planned {
  kube::ReflectorSink sink = pod_sink(pods, cache.updates, holds, planner);
  Unwatched() {
    for (const std::string& name : names) delete_pod(name);
    see_pods();
  }
  std::string create_pod() {
    const gang::PodGroup now = group("a");
    return add_gang_pod(now, now.status.gangs[0].placements[0]);
  }
  void delete_pod(const std::string& name) { api.remove(kube::kPods, kNs, name); }
  void bind_and_delete() {
    const std::string name = create_pod();
    CHECK(bind(name, "n1").empty());
    delete_pod(name);
  }
};

TEST_CASE("a pod that was created and deleted between two watches does not block its slot",
          "[extender][bind]") {
  Unwatched c;
  SECTION("while a list was under way") {
    c.sink.begin_list();
    c.bind_and_delete();
    c.sink.end_list(std::to_string(c.api.resource_version()));
  }
  SECTION("without any list") { c.bind_and_delete(); }
  const std::string next = c.create_pod();
  CHECK(c.bind(next, "n1").empty());
  CHECK(c.bound_node(next) == "n1");
}

TEST_CASE("a pod that the cache lacks but the API server has keeps its slot", "[extender][bind]") {
  Unwatched c;
  const std::string first = c.create_pod();
  Json second = c.api.get(kube::kPods, kNs, first);
  second["metadata"]["name"] = "second";
  second["metadata"].erase("uid");
  c.api.add(kube::kPods, kNs, second);
  CHECK(c.bind(first, "n1").empty());
  CHECK(c.bind("second", "n1") == "learner/0 is pod " + first + " already");
}

TEST_CASE("a list frees the capacity of an assumed pod that was deleted before it",
          "[extender][bind]") {
  Unwatched c;
  const auto has_capacity = [&] { return !c.filter("plain", {"n1"}).node_names.empty(); };
  c.add_daemon_pod("plain", ask(8), "n1");
  SECTION("the list began after the bind") {
    c.bind_and_delete();
    c.set_members("a", {});
    c.see_groups();
    c.planner.schedule_once();
    CHECK_FALSE(has_capacity());
    c.see_pods();
    CHECK(has_capacity());
  }
  SECTION("not if the list began before the bind: it may lack the pod") {
    c.sink.begin_list();
    c.bind_and_delete();
    c.set_members("a", {});
    c.see_groups();
    c.planner.schedule_once();
    c.sink.end_list("1");
    CHECK_FALSE(has_capacity());
  }
}

TEST_CASE("a gang is not committed when one of its nodes is not ready", "[extender][bind]") {
  Planned c;
  c.set_ready("n2", false);
  c.see_nodes();
  CHECK(c.bind(c.names[0], "n1") == "gang base cannot start now: learner/1: node n2 is not ready");
  CHECK(c.api.writes().empty());
}

TEST_CASE("plans of others count only once they are committed", "[extender][bind]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_group("a", {a_set("learner", 1, ask(8))});
  c.see();
  c.planner.schedule_once();
  // As if another planner had not seen it: both gangs are planned on n1.
  c.add_group("b", {a_set("learner", 1, ask(8))});
  c.api.change(kube::kPodGroups, kNs, "b", {{"status", gang::encode_status(c.group("a").status)}});
  const auto a = c.add_gang_pods("a");
  const auto b = c.add_gang_pods("b");
  c.see();
  CHECK(c.bind(b[0], "n1").empty());
  CHECK(c.bind(a[0], "n1") ==
        "gang base cannot start now: learner/0: node n1 has 0 nvidia.com/gpu left and learner "
        "needs 8");
  CHECK(c.planned_nodes("a") == "n1");
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == "waits");
  CHECK(c.planned_nodes("b") == "n1!");
}

TEST_CASE("a commit that meets a conflict reads the PodGroup and retries", "[extender][bind]") {
  Planned c;
  SECTION("the plan is as it was") {
    c.api.change(kube::kPodGroups, kNs, "a", {{"metadata", {{"labels", {{"x", "y"}}}}}});
    CHECK(c.bind(c.names[0], "n1").empty());
    CHECK(c.planned_nodes("a") == "n1 n2!");
    CHECK(c.api.writes("PATCH", kStatus).size() == 2);
  }
  SECTION("another writer committed it") {
    auto status = c.group("a").status;
    status.gangs[0].committed = true;
    c.api.change(kube::kPodGroups, kNs, "a", {{"status", gang::encode_status(status)}});
    CHECK(c.bind(c.names[0], "n1").empty());
    CHECK(c.api.writes("PATCH", kStatus).size() == 1);
  }
  SECTION("the plan was dropped") {
    auto status = c.group("a").status;
    status.gangs[0].planned = false;
    status.gangs[0].placements.clear();
    c.api.change(kube::kPodGroups, kNs, "a", {{"status", gang::encode_status(status)}});
    CHECK(c.bind(c.names[0], "n1") == "gang base cannot start now: gang base has no plan");
    CHECK(c.bound_node(c.names[0]).empty());
  }
  SECTION("the PodGroup was deleted") {
    c.api.remove(kube::kPodGroups, kNs, "a");
    CHECK_FALSE(c.bind(c.names[0], "n1").empty());
    CHECK(c.bound_node(c.names[0]).empty());
  }
  SECTION("it keeps changing") {
    c.api.fail_next("PATCH", kStatus, {Code::kConflict, "changed"}, Applied::kNo, 100);
    CHECK(c.bind(c.names[0], "n1") == "gang base cannot start now: its PodGroup keeps changing");
    CHECK(c.api.writes("PATCH", kStatus).size() == 5);
  }
}

TEST_CASE("a commit whose reply was lost is found or repeated", "[extender][bind]") {
  const auto applied = GENERATE(Applied::kNo, Applied::kYes);
  const bool also_lost = GENERATE(false, true);  // the read after it
  Planned c;
  c.api.fail_next("PATCH", kStatus, {Code::kTransient, "timeout"}, applied);
  if (also_lost) c.api.fail_next("GET", "/podgroups/a", {Code::kTransient, "timeout"});
  const std::string first = c.bind(c.names[0], "n1");
  CHECK(first.empty() == (applied == Applied::kYes && !also_lost));
  if (!first.empty()) {
    // Its capacity stays reserved until the outcome is known.
    c.add_group("b", {a_set("learner", 1, ask(8))}, 0, 9);
    c.api.change(kube::kPodGroups, kNs, "b",
                 {{"status", gang::encode_status(c.group("a").status)}});
    const auto reserved = c.cache.binds.reserved_nodes({"n1", "n2"});
    CHECK(reserved.size() == 2);
    CHECK(c.bind(c.names[0], "n1").empty());
  }
  CHECK(c.planned_nodes("a") == "n1 n2!");
  CHECK(c.bound_node(c.names[0]) == "n1");
}

TEST_CASE("a bind of a stale or foreign pod is an error", "[extender][bind]") {
  Planned c;
  SECTION("its placement moved to another node") {
    c.set_ready("n1", false);
    c.add_node("n3", 8);
    c.see();
    c.planner.schedule_once();
    CHECK(c.bind(c.names[0], "n1") == "placement 1 of learner/0 was superseded");
  }
  SECTION("the scheduler chose another node than planned") {
    CHECK(c.bind(c.names[0], "n2") == "learner/0 is planned on node n1");
  }
  SECTION("the pod was deleted and created again") {
    CHECK(c.binder.bind({c.names[0], kNs, "another-uid", "n1"}, [] { return false; })
              .error()
              .message == "the pod was deleted and created again since");
  }
  SECTION("its PodGroup was not seen") {
    c.add_group("b", {a_set("learner", 1, ask(1))});
    c.add_gang_pod(c.group("b"), {"learner", {0, 0}, "n1", 1});
    CHECK(c.bind("b-learner-0-0", "n1") == "the pod's PodGroup was not seen yet");
  }
  CHECK(c.api.writes("POST", "/binding").empty());
}

TEST_CASE("a pod that the cache lacks is read from the API server", "[extender][bind]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_group("a", {a_set("learner", 1, ask(8))});
  c.see();
  c.planner.schedule_once();
  const auto names = c.add_gang_pods("a");  // not seen
  CHECK(c.bind(names[0], "n1").empty());
  CHECK(c.planned_nodes("a") == "n1!");
}

TEST_CASE("already bound to the node is success, to another one is not", "[extender][bind]") {
  Planned c;
  REQUIRE(c.bind(c.names[0], "n1").empty());
  CHECK(c.bind(c.names[0], "n1").empty());
  c.add_plain_pod("plain", ask(0), "n2");
  CHECK(c.bind("plain", "n2").empty());
  CHECK_FALSE(c.bind("plain", "n1").empty());
}

TEST_CASE("a binding whose reply was lost is read from the pod", "[extender][bind]") {
  Planned c;
  c.api.fail_next("POST", "/binding", {Code::kTransient, "timeout"}, Applied::kYes);
  CHECK(c.bind(c.names[0], "n1").empty());
  c.api.fail_next("POST", "/binding", {Code::kTransient, "timeout"}, Applied::kNo);
  CHECK_FALSE(c.bind(c.names[1], "n2").empty());
  CHECK(c.bind(c.names[1], "n2").empty());
}

TEST_CASE("only one of two pods for the same slot is bound", "[extender][bind]") {
  Planned c;
  gang::PodGroup renamed = c.group("a");
  const auto placement = renamed.status.gangs[0].placements[0];
  renamed.meta.name = "copy";
  const std::string twin = c.add_gang_pod(renamed, placement);
  CHECK(c.bind(c.names[0], "n1").empty());
  CHECK(c.bind(twin, "n1") == "learner/0 is pod a-learner-0-0 already");  // before any watch
  c.see();
  CHECK(c.bind(twin, "n1") == "learner/0 is pod a-learner-0-0 already");
  CHECK(c.bound_node(twin).empty());
}

TEST_CASE("a pod of no gang is bound by one write", "[extender][bind]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_plain_pod("plain", ask(1));
  c.see();
  CHECK(c.bind("plain", "n1").empty());
  CHECK(c.bound_node("plain") == "n1");
  const auto writes = c.api.writes();
  REQUIRE(writes.size() == 1);
  CHECK(writes[0].body["metadata"]["uid"] == c.pod("plain").meta.uid);
}

TEST_CASE("each gang of a PodGroup is committed by itself", "[extender][bind]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  auto more = in_request(a_set("learner", 1, ask(1)), 1);
  more.slots = {{4096, 0}};
  c.add_group("a", {a_set("learner", 1, ask(1)), more});
  c.see();
  c.planner.schedule_once();
  c.add_gang_pods("a");
  const auto names = c.add_gang_pods("a", "request-1");
  c.see();
  CHECK(c.bind(names[0], "n1").empty());
  CHECK(c.planned_nodes("a") == "n1");
  CHECK(c.planned_nodes("a", "request-1") == "n1!");
}

}  // namespace
}  // namespace nervex::extender
