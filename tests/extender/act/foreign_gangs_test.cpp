// Gangs of other operators: planned by nomination, started whole by held binds.
#include "extender/observe/parts/foreign_gangs.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <future>
#include <map>
#include <thread>

#include "tests/extender/cluster.h"

namespace nervex::extender {
namespace {

using namespace std::chrono_literals;
using testing::a_set;
using testing::ask;
using testing::ExtenderCluster;
using testing::kNs;

const std::string kLabel(kube::kForeignGroupLabel);

Json foreign_pod(const std::string& name, const std::string& group, int gpus) {
  return Json{
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata", {{"name", name}, {"namespace", kNs}, {"labels", {{kLabel, group}}}}},
      {"spec",
       {{"schedulerName", "nervex-scheduler"},
        {"containers",
         Json::array(
             {{{"name", "main"},
               {"resources",
                {{"requests", {{"cpu", "1"}, {"nvidia.com/gpu", std::to_string(gpus)}}}}}}})}}}};
}

struct Foreign : ExtenderCluster {
  kube::Store<kube::ForeignPodGroup> foreign_groups;

  explicit Foreign(const HoldOptions& options = {}, bool by_real_clock = true)
      : ExtenderCluster(options, by_real_clock) {}

  void add_foreign_group(const std::string& name, int min_member, Json more = Json::object()) {
    more["minMember"] = min_member;
    api.add(kube::kForeignPodGroups, kNs,
            {{"apiVersion", "scheduling.x-k8s.io/v1alpha1"},
             {"kind", "PodGroup"},
             {"metadata", {{"name", name}, {"namespace", kNs}}},
             {"spec", more}});
  }
  // Named <group>-0 and so on.
  void add_pods(const std::string& group, int count, int gpus, int first = 0) {
    for (int i = first; i < first + count; ++i) {
      api.add(kube::kPods, kNs, foreign_pod(group + "-" + std::to_string(i), group, gpus));
    }
  }
  void see_foreign() {
    const auto sink = foreign_group_sink(foreign_groups, cache.updates, holds, planner);
    sink.begin_list();
    for (const Json& one : api.list(kube::kForeignPodGroups)) (void)sink.upsert(kube::to_text(one));
    sink.end_list(std::to_string(api.resource_version()));
  }
  void see_all() {
    see();
    see_foreign();
  }
  // Sees what is there, plans, and sees what that wrote.
  void plan() {
    see_all();
    planner.schedule_once();
    see_all();
  }
  // "n1 - n2": of the pods that are not bound, by name.
  std::string nominated(const std::string& group) const {
    std::string text;
    for (const Json& one : api.list(kube::kPods)) {
      const kube::Pod live = *kube::decode_pod(kube::to_text(one), pod_filter());
      if (kube::foreign_group_name(live.meta) != group || !live.node.empty()) continue;
      text += (text.empty() ? "" : " ") +
              (live.nominated_node.empty() ? "-" : live.nominated_node.str());
    }
    return text;
  }
  int bound(const std::string& group) const {
    int count = 0;
    for (const Json& one : api.list(kube::kPods)) {
      const kube::Pod live = *kube::decode_pod(kube::to_text(one), pod_filter());
      if (kube::foreign_group_name(live.meta) == group && !live.node.empty()) ++count;
    }
    return count;
  }
  // As kube-scheduler does when an attempt fails.
  void fail_attempt(const std::string& name, const std::string& reason,
                    const std::string& message) {
    api.change(kube::kPods, kNs, name,
               {{"status",
                 {{"nominatedNodeName", nullptr},
                  {"conditions", Json::array({{{"type", "PodScheduled"},
                                               {"status", "False"},
                                               {"reason", reason},
                                               {"message", message}}})}}}});
  }
  std::future<std::string> begin(const std::string& name) {
    return begin(name, pod(name).nominated_node);
  }
  std::future<std::string> begin(const std::string& name, const std::string& node) {
    return std::async(std::launch::async, [this, name, node] { return bind(name, node); });
  }
  void wait_for(std::size_t calls) const {
    while (holds.size() != calls) std::this_thread::yield();
  }
  std::string why(const std::string& name, const std::vector<std::string>& names) const {
    const auto result = filter(name, names);
    if (!result.error.empty()) return "error: " + result.error;
    if (!result.node_names.empty()) return result.node_names.front();
    return result.failed_and_unresolvable.front().second;
  }
  std::string phase(const std::string& group) const {
    return kube::string_at(api.get(kube::kForeignPodGroups, kNs, group), {"status", "phase"});
  }
};

TEST_CASE("a foreign gang is nominated as a whole, or not at all", "[extender][foreign]") {
  Foreign c;
  c.add_node("n1", 8);
  c.add_node("n2", 8);
  c.add_foreign_group("a", 3);
  c.add_pods("a", 3, 4);
  c.add_foreign_group("b", 2);
  c.add_pods("b", 2, 4);
  c.plan();
  CHECK(c.nominated("a") == "n1 n1 n2");
  CHECK(c.nominated("b") == "- -");
  CHECK(c.why("a-0", {"n1", "n2"}) == "n1");
  CHECK(c.why("b-0", {"n1", "n2"}) ==
        "podgroup b waits: pods: 1 of 2 does not fit: each needs nvidia.com/gpu 4; 1 node has it "
        "free, 1 more is full");
}

TEST_CASE("a plan of a foreign gang is not made or written again while it holds",
          "[extender][foreign]") {
  Foreign c;
  c.add_node("n1", 8);
  c.add_foreign_group("a", 2);
  c.add_pods("a", 2, 4);
  c.plan();
  c.api.clear_writes();
  c.planner.schedule_once();
  c.plan();
  CHECK(c.api.writes().empty());
}

TEST_CASE("a new leader keeps the nominations that it finds", "[extender][foreign]") {
  Foreign c;
  c.add_node("n1", 8);
  c.add_node("n2", 8);
  c.add_foreign_group("a", 2);
  c.add_pods("a", 2, 8);
  c.plan();
  CHECK(c.nominated("a") == "n1 n2");
  Planner other(c.api, c.cache.planner, c.clock);
  c.api.clear_writes();
  other.schedule_once();
  CHECK(c.api.writes("PATCH", "/pods/").empty());
}

TEST_CASE("a foreign gang waits until minMember of its pods exist", "[extender][foreign]") {
  Foreign c;
  c.add_node("n1", 8);
  c.add_foreign_group("a", 3);
  c.add_pods("a", 2, 1);
  c.plan();
  CHECK(c.nominated("a") == "- -");
  CHECK(c.why("a-0", {"n1"}) == "podgroup a waits until 3 of its pods exist and fit");
  SECTION("and says so when they do not come") {
    c.clock.advance(2001ms);
    c.plan();
    CHECK(c.why("a-0", {"n1"}) == "podgroup a waits: 2 of its 3 pods exist");
  }
  SECTION("a pod with a scheduling gate does not exist yet") {
    Json gated = foreign_pod("a-2", "a", 1);
    gated["spec"]["schedulingGates"] = Json::array({{{"name", "later"}}});
    c.api.add(kube::kPods, kNs, gated);
    c.plan();
    CHECK(c.nominated("a") == "- - -");
    c.api.change(kube::kPods, kNs, "a-2", {{"spec", {{"schedulingGates", nullptr}}}});
    c.plan();
    CHECK(c.nominated("a") == "n1 n1 n1");
  }
  SECTION("neither does one that has finished, or is being deleted") {
    c.add_pods("a", 2, 1, 2);
    c.api.change(kube::kPods, kNs, "a-0", {{"status", {{"phase", "Failed"}}}});
    c.api.change(kube::kPods, kNs, "a-1",
                 {{"metadata", {{"deletionTimestamp", "2026-01-01T00:00:00Z"}}}});
    c.plan();
    CHECK(c.nominated("a") == "- - - -");
  }
}

TEST_CASE("pods whose PodGroup or its kind is not there wait", "[extender][foreign]") {
  Foreign c;
  c.add_node("n1", 8);
  c.add_pods("a", 1, 1);
  c.plan();
  CHECK(c.why("a-0", {"n1"}) == "podgroup a waits: it was not found");
  c.cache.updates.set_foreign_kind_missing(true);
  CHECK(c.why("a-0", {"n1"}) ==
        "podgroup a waits: this cluster has no PodGroups of scheduling.x-k8s.io");
  c.cache.updates.set_foreign_kind_missing(false);
  c.add_foreign_group("a", 1);
  c.plan();
  CHECK(c.why("a-0", {"n1"}) == "n1");
  CHECK(c.bind("a-0", "n1").empty());
}

TEST_CASE("pods of other schedulers and of no PodGroup are left alone", "[extender][foreign]") {
  Foreign c;
  c.add_node("n1", 8);
  c.add_foreign_group("a", 1);
  Json other = foreign_pod("other", "a", 1);
  other["spec"]["schedulerName"] = "default-scheduler";
  c.api.add(kube::kPods, kNs, other);
  c.plan();
  CHECK(c.nominated("a") == "-");
  CHECK(c.why("other", {"n1"}) == "n1");
  CHECK(c.phase("a").empty());
}

TEST_CASE("where not all pods fit as many as minMember do, and then each one more",
          "[extender][foreign]") {
  Foreign c;
  c.add_node("n1", 8);
  c.add_node("n2", 8);
  c.add_foreign_group("a", 2);
  c.add_pods("a", 5, 5);
  c.plan();
  CHECK(c.nominated("a") == "n1 n2 - - -");
  c.add_node("n3", 8);
  c.plan();
  CHECK(c.nominated("a") == "n1 n2 n3 - -");
}

TEST_CASE("minMember of 0 and 1 mean that each pod goes for itself", "[extender][foreign]") {
  const int min_member = GENERATE(0, 1);
  Foreign c;
  c.add_node("n1", 8);
  c.add_foreign_group("a", min_member);
  c.add_pods("a", 3, 4);
  c.plan();
  CHECK(c.nominated("a") == "n1 n1 -");
  CHECK(c.bind("a-0", "n1").empty());
  CHECK(c.bind("a-1", "n1").empty());
}

TEST_CASE("minResources that are not free keep the gang waiting", "[extender][foreign]") {
  Foreign c;
  c.add_node("n1", 8);
  c.add_foreign_group("a", 2, {{"minResources", {{"nvidia.com/gpu", "9"}}}});
  c.add_pods("a", 2, 1);
  c.plan();
  CHECK(c.nominated("a") == "- -");
  CHECK(c.why("a-0", {"n1"}) ==
        "podgroup a waits: minResources asks for nvidia.com/gpu 9 and 8 are free");
  c.add_node("n2", 8);
  c.plan();
  CHECK(c.nominated("a") == "n1 n1");
}

TEST_CASE("foreign gangs stand in one queue with the suite's own", "[extender][foreign]") {
  Foreign c;
  c.add_node("n1", 8);
  c.add_group("own", {a_set("learner", 1, ask(8))}, 0, 5);
  c.add_foreign_group("a", 2);
  for (int i = 0; i < 2; ++i) {
    Json pod = foreign_pod("a-" + std::to_string(i), "a", 4);
    pod["spec"]["priority"] = 10;
    c.api.add(kube::kPods, kNs, pod);
  }
  c.plan();
  CHECK(c.nominated("a") == "n1 n1");
  CHECK(c.planned_nodes("own") == "waits");
  SECTION("and one of the suite's with a higher priority takes a plan that has not started") {
    c.add_group("urgent", {a_set("learner", 1, ask(8))}, 0, 20);
    c.plan();
    // A plan that is there is kept: nothing is preempted.
    CHECK(c.nominated("a") == "n1 n1");
  }
}

TEST_CASE("a foreign gang that waits has no other gang planned again", "[extender][foreign]") {
  Foreign c;
  c.add_node("n1", 8);
  c.add_node("n2", 8);
  c.add_plain_pod("all", ask(8), "n1");
  c.add_plain_pod("half", ask(4), "n2");
  c.add_plain_pod("rest", ask(4), "n2");
  for (int i = 0; i < 200; ++i) {
    c.add_group("waits-" + std::to_string(i), {a_set("learner", 2, ask(8))});
  }
  c.add_foreign_group("foreign", 3);
  c.add_pods("foreign", 3, 8);
  c.plan();
  c.plan();
  REQUIRE(c.nominated("foreign") == "- - -");
  const auto planned_by = [&c](const std::string& deleted) {
    const auto before = c.planner.gangs_planned();
    c.api.remove(kube::kPods, kNs, deleted);
    c.see_all();
    c.planner.schedule_at_capacity();
    c.see_all();
    return c.planner.gangs_planned() - before;
  };
  CHECK(planned_by("half") == 0);  // of no use to them
  CHECK(planned_by("all") == 0);   // one pod of each would fit
  const auto planned = planned_by("rest");
  CHECK(planned >= 1);  // one starts, and leaves too little for the others
  CHECK(planned <= 4);
  CHECK(c.planned_nodes("waits-0") == "n1 n2");
}

TEST_CASE("what a foreign gang gives up is for gangs that waited for it", "[extender][foreign]") {
  Foreign c;
  c.add_node("n1", 8);
  c.add_foreign_group("foreign", 1);
  c.add_pods("foreign", 1, 8);
  c.see_all();
  SECTION("before its pods are seen to be nominated") {
    c.planner.schedule_once();
    c.add_group("a", {a_set("learner", 1, ask(8))});
    c.see_groups();
    c.planner.schedule_once();
  }
  SECTION("after that") {
    c.plan();
    c.add_group("a", {a_set("learner", 1, ask(8))});
    c.plan();
  }
  REQUIRE(c.planned_nodes("a") == "waits");
  c.api.remove(kube::kPods, kNs, "foreign-0");
  c.see_all();
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == "n1");
}

TEST_CASE("a foreign gang that has lost pods gets what it lacks before a gang starts",
          "[extender][foreign]") {
  Foreign c;
  c.add_node("n1", 8);
  c.add_node("n2", 8);
  c.add_foreign_group("foreign", 2);
  c.add_pods("foreign", 2, 8);
  c.api.change(kube::kPods, kNs, "foreign-0", {{"spec", {{"nodeName", "n1"}}}});
  c.api.change(kube::kPods, kNs, "foreign-1", {{"spec", {{"nodeName", "n2"}}}});
  for (const char* pod : {"foreign-0", "foreign-1"}) c.run_pod(pod);
  c.add_group("high", {a_set("learner", 1, ask(8))}, 0, 9);
  c.plan();
  REQUIRE(c.planned_nodes("high") == "waits");
  c.api.remove(kube::kPods, kNs, "foreign-1");
  c.add_pods("foreign", 1, 8, 2);
  c.plan();
  CHECK(c.nominated("foreign") == "n2");
  CHECK(c.planned_nodes("high") == "waits");
}

TEST_CASE("a leader that has watched a foreign gang before it led heals it",
          "[extender][foreign]") {
  Foreign c;
  c.add_node("n1", 8);
  c.add_node("n2", 8);
  c.add_foreign_group("foreign", 2);
  c.add_pods("foreign", 2, 8);
  c.api.change(kube::kPods, kNs, "foreign-0", {{"spec", {{"nodeName", "n1"}}}});
  c.api.change(kube::kPods, kNs, "foreign-1", {{"spec", {{"nodeName", "n2"}}}});
  for (const char* pod : {"foreign-0", "foreign-1"}) c.run_pod(pod);
  const bool has_watched = GENERATE(true, false);
  if (has_watched) c.see_all();
  c.api.remove(kube::kPods, kNs, "foreign-1");
  c.add_pods("foreign", 1, 8, 2);
  c.add_group("high", {a_set("learner", 1, ask(8))}, 0, 9);
  c.plan();
  CHECK(c.nominated("foreign") == (has_watched ? "n2" : "-"));
  CHECK(c.planned_nodes("high") == (has_watched ? "waits" : "n2"));
}

TEST_CASE("a pod that leaves its foreign gang by a new label is not lost",
          "[extender][foreign][marks]") {
  Foreign c;
  c.add_node("n1", 8);
  c.add_node("n2", 8);
  c.add_node("n3", 8);
  c.add_foreign_group("foreign", 2);
  c.add_pods("foreign", 2, 8);
  c.api.change(kube::kPods, kNs, "foreign-0", {{"spec", {{"nodeName", "n1"}}}});
  c.api.change(kube::kPods, kNs, "foreign-1", {{"spec", {{"nodeName", "n2"}}}});
  for (const char* pod : {"foreign-0", "foreign-1"}) c.run_pod(pod);
  c.plan();
  const std::string label(kube::kForeignGroupLabel);
  const Json other = GENERATE(Json(nullptr), Json("other"));
  c.api.change(kube::kPods, kNs, "foreign-1", {{"metadata", {{"labels", {{label, other}}}}}});
  c.add_pods("foreign", 1, 8, 2);
  c.add_group("high", {a_set("learner", 1, ask(8))}, 0, 9);
  c.plan();
  CHECK(c.nominated("foreign") == "-");
  CHECK(c.planned_nodes("high") == "n3");
}

TEST_CASE("pods that no kubelet has admitted do not make a foreign gang whole",
          "[extender][foreign][marks]") {
  Foreign c;
  c.add_node("n1", 8);
  c.add_node("n2", 8);
  c.add_foreign_group("foreign", 2);
  c.add_pods("foreign", 2, 8);
  c.api.change(kube::kPods, kNs, "foreign-0", {{"spec", {{"nodeName", "n1"}}}});
  c.api.change(kube::kPods, kNs, "foreign-1", {{"spec", {{"nodeName", "n2"}}}});
  c.run_pod("foreign-0");
  c.see_all();
  c.reject_pod("foreign-1");  // its author has named the node
  c.see_all();
  c.add_pods("foreign", 1, 8, 2);
  c.add_group("high", {a_set("learner", 1, ask(8))}, 0, 9);
  c.plan();
  CHECK(c.nominated("foreign") == "-");
  CHECK(c.planned_nodes("high") == "n2");
}

TEST_CASE("a foreign gang whose minMember was raised waits for its turn",
          "[extender][foreign][marks]") {
  Foreign c;
  c.add_node("n1", 8);
  c.add_node("n2", 8);
  c.add_foreign_group("foreign", 1);
  c.add_pods("foreign", 1, 8);
  c.api.change(kube::kPods, kNs, "foreign-0", {{"spec", {{"nodeName", "n1"}}}});
  c.plan();
  c.api.change(kube::kForeignPodGroups, kNs, "foreign", {{"spec", {{"minMember", 2}}}});
  c.add_pods("foreign", 1, 8, 1);
  c.add_group("high", {a_set("learner", 1, ask(8))}, 0, 9);
  c.plan();
  CHECK(c.nominated("foreign") == "-");
  CHECK(c.planned_nodes("high") == "n2");
}

TEST_CASE("nominated pods take capacity from pods that no gang plans", "[extender][foreign]") {
  Foreign c;
  c.add_node("n1", 8);
  c.add_foreign_group("a", 2);
  c.add_pods("a", 2, 4);
  c.add_daemon_pod("daemon", ask(1), "n1");
  c.plan();
  CHECK(c.why("daemon", {"n1"}) == "capacity is reserved for gangs");
}

TEST_CASE("a plain pod that is nominated takes capacity from gangs, not from itself",
          "[extender][foreign]") {
  Foreign c;
  c.add_node("n1", 8);
  c.add_plain_pod("plain", ask(8));
  c.api.change(kube::kPods, kNs, "plain", {{"status", {{"nominatedNodeName", "n1"}}}});
  c.add_foreign_group("a", 2);
  c.add_pods("a", 2, 4);
  c.add_group("own", {a_set("learner", 1, ask(1))});
  c.plan();
  CHECK(c.nominated("a") == "- -");
  CHECK(c.planned_nodes("own") == "waits");
  CHECK(c.why("plain", {"n1"}) == "n1");
}

TEST_CASE("a node that kube-scheduler refuses is avoided, the others keep theirs",
          "[extender][foreign]") {
  Foreign c;
  for (const char* node : {"n1", "n2", "n3"}) c.add_node(node, 8);
  c.add_foreign_group("a", 2);
  c.add_pods("a", 2, 8);
  c.plan();
  CHECK(c.nominated("a") == "n1 n2");
  c.api.change(kube::kPods, kNs, "a-1", {{"status", {{"nominatedNodeName", "n2"}}}});
  const std::string text = c.why("a-1", {"n1"});
  CHECK(text == "podgroup a: planned on node n2, which the scheduler's own checks refused");
  c.fail_attempt("a-1", "Unschedulable", "0/3 nodes are available: 1 " + text);
  c.plan();
  CHECK(c.nominated("a") == "n1 n3");
}

TEST_CASE("an attempt that began before the nomination says nothing about the node",
          "[extender][foreign]") {
  Foreign c;
  c.add_node("n1", 8);
  c.add_foreign_group("a", 2);
  c.add_pods("a", 2, 4);
  c.plan();
  for (int i = 0; i < 3; ++i) {
    c.fail_attempt("a-0", "Unschedulable",
                   "0/1 nodes are available: 1 podgroup a waits for capacity." + std::to_string(i));
    c.plan();
    CHECK(c.nominated("a") == "n1 n1");
  }
}

TEST_CASE("a gang of which a pod finds no node loses the nominations of all",
          "[extender][foreign]") {
  Foreign c;
  c.add_node("n1", 8);
  c.add_node("n2", 8);
  c.add_foreign_group("a", 2);
  c.add_pods("a", 2, 8);
  c.plan();
  // Twice, as the message does not name the node.
  for (int i = 0; i < 2; ++i) {
    c.fail_attempt("a-1", "Unschedulable",
                   "0/2 nodes are available: 2 anti-affinity." + std::to_string(i));
    c.plan();
  }
  CHECK(c.nominated("a") == "- -");
  const std::string why = c.why("a-0", {"n1"});
  CHECK(why.find("1 is avoided after a pod was refused there") != std::string::npos);
  CHECK(why.find("kube-scheduler refused a-1 on node n2: 0/2 nodes") != std::string::npos);
  c.clock.advance(61s);
  c.plan();
  CHECK(c.nominated("a") == "n1 n2");
}

TEST_CASE(
    "a nomination that the scheduler takes away for other reasons is asserted again, later "
    "and later",
    "[extender][foreign]") {
  Foreign c;
  c.add_node("n1", 8);
  c.add_foreign_group("a", 2);
  c.add_pods("a", 2, 4);
  c.plan();
  c.fail_attempt("a-0", "SchedulerError", "bind failed");
  c.plan();
  CHECK(c.nominated("a") == "n1 n1");
  c.fail_attempt("a-0", "SchedulerError", "bind failed again");
  c.plan();
  CHECK(c.nominated("a") == "- n1");
  c.clock.advance(1001ms);
  c.plan();
  CHECK(c.nominated("a") == "n1 n1");
  SECTION("and for a while others get the capacity") {
    c.fail_attempt("a-0", "SchedulerError", "bind failed once more");
    c.add_foreign_group("b", 2);
    c.add_pods("b", 2, 4);
    c.plan();
    CHECK(c.nominated("a") == "- -");
    CHECK(c.nominated("b") == "n1 n1");
    CHECK(c.why("a-0", {"n1"}).find("its start has failed 3 times") != std::string::npos);
  }
}

TEST_CASE("a pod that kube-scheduler refuses in silence is known when the binds of the others fail",
          "[extender][foreign]") {
  Foreign c;
  c.add_node("n1", 8);
  c.add_node("n2", 8);
  c.add_node("n3", 8);
  c.add_foreign_group("a", 2);
  c.add_pods("a", 2, 8);
  c.see_all();
  // It was tried before it was nominated, and nothing wakes it.
  c.fail_attempt("a-1", "Unschedulable", "0/3 nodes are available: 3 anti-affinity.");
  c.plan();
  CHECK(c.nominated("a") == "n1 n2");
  c.clock.advance(10s);
  c.fail_attempt("a-0", "SchedulerError", "podgroup rl/a cannot start");
  c.plan();
  CHECK(c.nominated("a") == "n1 n2");
  c.clock.advance(1s);
  c.plan();
  CHECK(c.nominated("a") == "n1 n3");
}

TEST_CASE("a node that refuses several pods of a start is avoided for a minute",
          "[extender][foreign]") {
  Foreign c;
  c.add_node("n1", 8);
  c.add_node("n2", 8);
  c.add_foreign_group("a", 3);
  c.add_pods("a", 3, 4);
  c.see_all();
  for (const char* name : {"a-0", "a-1"}) {
    c.fail_attempt(name, "Unschedulable", "0/2 nodes are available: 2 anti-affinity.");
  }
  c.plan();
  CHECK(c.nominated("a") == "n1 n1 n2");
  c.clock.advance(10s);
  c.fail_attempt("a-2", "SchedulerError", "podgroup rl/a cannot start");
  c.plan();
  c.clock.advance(1s);
  c.plan();
  CHECK(c.nominated("a") == "- - -");
  c.clock.advance(60s);
  c.plan();
  CHECK(c.nominated("a") == "n1 n1 n2");
}

TEST_CASE("a plan whose node was lost is made again", "[extender][foreign]") {
  Foreign c;
  c.add_node("n1", 8);
  c.add_node("n2", 8);
  c.add_foreign_group("a", 2);
  c.add_pods("a", 2, 4);
  c.plan();
  CHECK(c.nominated("a") == "n1 n1");
  c.set_ready("n1", false);
  c.plan();
  CHECK(c.nominated("a") == "n2 n2");
}

TEST_CASE("a nomination is not lost by a write that failed", "[extender][foreign]") {
  Foreign c;
  c.add_node("n1", 8);
  c.add_foreign_group("a", 2);
  c.add_pods("a", 2, 4);
  const auto applied = GENERATE(testing::Applied::kNo, testing::Applied::kYes);
  c.see_all();
  c.api.fail_next("PATCH", "/pods/a-0/status", {Code::kTransient, "timeout"}, applied);
  c.planner.schedule_once();
  c.plan();
  CHECK(c.nominated("a") == "n1 n1");
}

// ---- bind

struct PlannedForeign : Foreign {
  explicit PlannedForeign(int min_member = 2, int count = 2, const HoldOptions& options = {},
                          bool by_real_clock = true)
      : Foreign(options, by_real_clock) {
    add_node("n1", 8);
    add_node("n2", 8);
    add_foreign_group("a", min_member);
    add_pods("a", count, 4);
    plan();
    api.clear_writes();
  }
};

TEST_CASE("binds of a foreign gang are held until all of it are there", "[extender][foreign]") {
  PlannedForeign c(2, 3);
  auto first = c.begin("a-0");
  c.wait_for(1);
  auto second = c.begin("a-1");
  c.wait_for(2);  // minMember, but the third is nominated, too
  CHECK(c.bound("a") == 0);
  auto third = c.begin("a-2");
  CHECK(first.get().empty());
  CHECK(second.get().empty());
  CHECK(third.get().empty());
  CHECK(c.bound("a") == 3);
}

TEST_CASE("minMember is enough when no other pod came for a while", "[extender][foreign]") {
  HoldOptions options;
  options.arrival_timeout = 500ms;
  PlannedForeign c(2, 3, options);
  auto first = c.begin("a-0");
  auto second = c.begin("a-1");
  CHECK(first.get().empty());
  CHECK(second.get().empty());
  CHECK(c.bound("a") == 2);
  c.see_all();
  CHECK(c.bind("a-2", c.pod("a-2").nominated_node).empty());  // for itself
}

TEST_CASE("fewer than minMember are never bound", "[extender][foreign]") {
  HoldOptions options;
  options.arrival_timeout = 500ms;
  PlannedForeign c(3, 3, options);
  auto first = c.begin("a-0");
  auto second = c.begin("a-1");
  const std::string why = first.get();
  CHECK(why.find("podgroup rl/a cannot start: 2 of the 3 pods that it needs came") == 0);
  CHECK(second.get() == why);
  CHECK(c.bound("a") == 0);
}

TEST_CASE("scheduleTimeoutSeconds is the longest that binds are held", "[extender][foreign]") {
  Foreign c;
  c.add_node("n1", 8);
  c.add_foreign_group("a", 2, {{"scheduleTimeoutSeconds", 1}});
  c.add_pods("a", 2, 4);
  c.plan();
  CHECK_FALSE(c.begin("a-0").get().empty());  // the default is 10 s
  CHECK(c.bound("a") == 0);
}

TEST_CASE("all pods of a foreign gang are checked at once, and none is bound if one does not fit",
          "[extender][foreign]") {
  PlannedForeign c;
  c.add_plain_pod("intruder", ask(8), "n1");
  c.see_pods();
  auto first = c.begin("a-0");
  c.wait_for(1);
  const std::string second = c.bind("a-1", c.pod("a-1").nominated_node);
  CHECK(second ==
        "podgroup rl/a cannot start now: node n1 has too little nvidia.com/gpu left for "
        "pod a-0, which needs 4");
  CHECK(first.get() == second);
  CHECK(c.bound("a") == 0);
}

TEST_CASE("of two foreign gangs that were nominated for one place one starts, whole",
          "[extender][foreign]") {
  PlannedForeign c;
  c.add_foreign_group("b", 2);
  c.add_pods("b", 2, 4);
  for (const char* name : {"b-0", "b-1"}) {  // by another client
    c.api.change(kube::kPods, kNs, name, {{"status", {{"nominatedNodeName", "n1"}}}});
  }
  c.see_all();
  std::vector<std::future<std::string>> calls;
  for (const char* name : {"a-0", "b-0", "a-1", "b-1"}) calls.push_back(c.begin(name));
  std::vector<std::string> errors;
  for (auto& call : calls) errors.push_back(call.get());
  CHECK(errors[0].empty() == errors[2].empty());
  CHECK(errors[1].empty() == errors[3].empty());
  CHECK(errors[0].empty() != errors[1].empty());
  CHECK(c.bound("a") + c.bound("b") == 2);
}

TEST_CASE("what a foreign gang is being bound to counts for gangs of the suite",
          "[extender][foreign]") {
  PlannedForeign c;
  c.add_group("own", {a_set("learner", 2, ask(8))});
  c.plan();
  CHECK(c.planned_nodes("own") == "waits");
  // The binding's reply is lost: the pod stays assumed.
  c.api.fail_next("POST", "/a-0/binding", {Code::kTransient, "timeout"}, testing::Applied::kNo);
  auto first = c.begin("a-0");
  c.wait_for(1);
  CHECK(c.bind("a-1", "n1").empty());
  CHECK_FALSE(first.get().empty());
  c.plan();
  CHECK(c.planned_nodes("own") == "waits");
  CHECK(c.bind("a-0", "n1").empty());  // as soon as it comes again, though it is alone
}

TEST_CASE("a gang whose start was cut off goes on pod by pod", "[extender][foreign]") {
  PlannedForeign c(3, 3);
  c.api.change(kube::kPods, kNs, "a-0", {{"spec", {{"nodeName", "n1"}}}});
  c.api.change(kube::kPods, kNs, "a-1", {{"spec", {{"nodeName", "n1"}}}});
  c.see_all();  // as a new process would
  CHECK(c.bind("a-2", "n2").empty());
}

TEST_CASE("a pod that is deleted ends its call, and the others wait for its successor",
          "[extender][foreign]") {
  PlannedForeign c;
  auto first = c.begin("a-0");
  c.wait_for(1);
  c.api.remove(kube::kPods, kNs, "a-0");
  c.see_pods();
  CHECK(first.get() == "the pod was deleted");
  auto second = c.begin("a-1");
  c.wait_for(1);
  c.add_pods("a", 1, 4);
  c.plan();
  auto successor = c.begin("a-0");
  CHECK(successor.get().empty());
  CHECK(second.get().empty());
}

TEST_CASE("a plan that is dropped, or moved, ends calls that are held", "[extender][foreign]") {
  PlannedForeign c;
  auto first = c.begin("a-0");
  c.wait_for(1);
  const Json node = GENERATE(Json(nullptr), Json("n2"));
  c.api.change(kube::kPods, kNs, "a-0", {{"status", {{"nominatedNodeName", node}}}});
  c.see_pods();
  const std::string why = first.get();
  CHECK(why == (node.is_null() ? "the plan of the gang was dropped"
                               : "the pod is planned on another node now"));
}

TEST_CASE("a PodGroup that is deleted, or the end of the program, ends calls that are held",
          "[extender][foreign]") {
  PlannedForeign c;
  auto first = c.begin("a-0");
  c.wait_for(1);
  if (GENERATE(true, false)) {
    c.api.remove(kube::kForeignPodGroups, kNs, "a");
    c.see_foreign();
    CHECK(first.get() == "its PodGroup was deleted");
  } else {
    c.holds.stop();
    CHECK(first.get() == "nervex-extender is stopping; another replica binds the pod");
  }
  CHECK(c.bound("a") == 0);
}

TEST_CASE("a foreign gang that is larger than --hold-binds-up-to is not held",
          "[extender][foreign]") {
  HoldOptions options;
  options.largest_gang = 1;
  PlannedForeign c(2, 2, options);
  CHECK(c.bind("a-0", "n1").empty());
}

// ---- status

TEST_CASE("the PodGroup's phase follows its pods", "[extender][foreign]") {
  Foreign c;
  c.add_node("n1", 8);
  c.add_foreign_group("a", 2);
  c.add_pods("a", 1, 1);
  c.plan();
  CHECK(c.phase("a") == "Pending");
  c.add_pods("a", 1, 1, 1);
  c.plan();
  CHECK(c.phase("a") == "Scheduling");
  const Json status = c.api.get(kube::kForeignPodGroups, kNs, "a").at("status");
  CHECK(status.contains("scheduleStartTime"));
  const auto set = [&c](const std::string& phase) {
    for (const char* name : {"a-0", "a-1"}) {
      c.api.change(kube::kPods, kNs, name,
                   {{"spec", {{"nodeName", "n1"}}}, {"status", {{"phase", phase}}}});
    }
    c.plan();
    return c.phase("a");
  };
  CHECK(set("Running") == "Running");
  CHECK(set("Succeeded") == "Finished");
  c.api.remove(kube::kPods, kNs, "a-0");
  c.api.remove(kube::kPods, kNs, "a-1");
  c.plan();
  CHECK(c.phase("a") == "Finished");
}

TEST_CASE("a pod that fails makes the PodGroup Failed", "[extender][foreign]") {
  Foreign c;
  c.add_node("n1", 8);
  c.add_foreign_group("a", 2);
  c.add_pods("a", 2, 1);
  c.plan();
  c.api.change(kube::kPods, kNs, "a-0",
               {{"spec", {{"nodeName", "n1"}}}, {"status", {{"phase", "Failed"}}}});
  c.api.change(kube::kPods, kNs, "a-1",
               {{"spec", {{"nodeName", "n1"}}}, {"status", {{"phase", "Running"}}}});
  c.plan();
  CHECK(c.phase("a") == "Failed");
  const Json status = c.api.get(kube::kForeignPodGroups, kNs, "a").at("status");
  CHECK(status.at("failed") == 1);
  CHECK(status.at("running") == 1);
}

}  // namespace
}  // namespace nervex::extender
