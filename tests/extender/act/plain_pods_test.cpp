// A pod of our scheduler that no gang has is a gang of one: it waits for its turn, and counts.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "extender/observe/parts/foreign_gangs.h"
#include "gang/slot.h"
#include "tests/extender/limited_cluster.h"

namespace nervex::extender::plain_pods_test {
namespace {

using testing::a_queue;
using testing::a_set;
using testing::ask;
using testing::kNs;
using testing::with_limit;

// Node n1 has 8 GPUs, and the namespace's queue has a limit of 4.
struct Plain : testing::LimitedCluster {
  void plan() {
    see();
    planner.schedule_once();
    see();
  }
  std::string nominated(const std::string& name) const { return pod(name).nominated_node; }
  // Its only node, or why it gets none.
  std::string ask_filter(const std::string& name) const {
    const auto result = filter(name, {"n1", "n2"});
    if (!result.error.empty()) return "error: " + result.error;
    if (!result.node_names.empty()) return result.node_names.front();
    return result.failed_and_unresolvable.front().second;
  }
  void change_pod(const std::string& name, const Json& change) {
    api.change(kube::kPods, kNs, name, change);
  }
  void own(const std::string& name, const std::string& version, const std::string& kind) {
    change_pod(name, {{"metadata",
                       {{"ownerReferences",
                         Json::array({kube::encode_controller_ref({version, kind, "o", "u"})})}}}});
  }
  // Workloads of pods without a gang; their requests.
  std::vector<kube::Resources> used() {
    std::vector<kube::Resources> used;
    for (const auto& workload : snapshot().facts.orphaned) used.push_back(workload.requests);
    return used;
  }
};

TEST_CASE("a plain pod within the limit of its queue starts, and the next one waits",
          "[extender][foreign][plain]") {
  Plain c;
  c.add_plain_pod("a", ask(4));
  c.see();
  CHECK(c.ask_filter("a") == "pod a waits for capacity");
  c.plan();
  REQUIRE(c.nominated("a") == "n1");
  CHECK(c.ask_filter("a") == "n1");
  c.add_plain_pod("b", ask(1));
  c.plan();
  CHECK(c.nominated("b").empty());
  const std::string why =
      "pod b waits: the limit of queue team is nvidia.com/gpu 4: 4 are used, 1 are needed";
  CHECK(c.ask_filter("b") == why);
  REQUIRE(c.bind("a", "n1").empty());
  c.planner.schedule_once();  // the bind was not seen yet
  CHECK(c.ask_filter("b") == why);
  c.plan();
  CHECK(c.ask_filter("b") == why);
  SECTION("it has ended") { c.end_pod("a", true); }
  SECTION("it is gone") { c.api.remove(kube::kPods, kNs, "a"); }
  c.plan();
  CHECK(c.nominated("b") == "n1");
}

TEST_CASE("a plain pod waits behind an older gang, and before a younger one",
          "[extender][foreign][plain]") {
  Plain c;
  c.set_queue(nullptr, a_queue("team"));
  const bool is_older = GENERATE(true, false);
  c.add_plain_pod("plain", ask(8));
  c.add_group("own", {a_set("learner", 1, ask(8))}, is_older ? 2'000'000'000 : 0);
  c.plan();
  CHECK((c.nominated("plain") == "n1") == is_older);
  CHECK((c.planned_nodes("own") == "waits") == is_older);
}

TEST_CASE("a queue that is stopped starts no plain pod", "[extender][foreign][plain]") {
  Plain c;
  auto team = a_queue("team");
  team.stop = queue::Queue::Stop::kHold;
  c.set_queue(nullptr, team);
  c.add_plain_pod("plain", ask(1));
  c.plan();
  CHECK(c.nominated("plain").empty());
  CHECK(c.ask_filter("plain") == "pod plain waits: queue team is stopped");
}

TEST_CASE("a bound plain pod counts in the queue of its namespace until it is finished or gone",
          "[extender][foreign][plain]") {
  Plain c;
  c.add_plain_pod("before", ask(4), "n1");  // before this process started
  SECTION("of no owner") {}
  SECTION("of a DaemonSet") { c.own("before", "apps/v1", "DaemonSet"); }
  SECTION("of a job, without its annotations") {
    c.own("before", "nervex.sensetime.com/v1alpha1", "NerveXJob");
  }
  SECTION("it is being deleted") {
    c.change_pod("before", {{"metadata", {{"deletionTimestamp", "2026-11-26T10:00:00Z"}}}});
  }
  REQUIRE(c.reason_of_next(1) == "LimitExceeded");
  c.end_pod("before", true);
  CHECK(c.reason_of_next(1) == "Planned");
}

TEST_CASE("pods of other schedulers count in no queue", "[extender][foreign][plain]") {
  Plain c;
  c.add_pod({.name = "other", .requests = ask(4), .node = "n1", .scheduler = "default-scheduler"});
  CHECK(c.reason_of_next() == "Planned");
}

TEST_CASE("what bound plain pods of a namespace use is one workload",
          "[extender][foreign][plain]") {
  Plain c;
  c.add_node("n2", 8);
  for (int i = 0; i < 3; ++i) c.add_plain_pod("a" + std::to_string(i), ask(1), "n1");
  c.add_plain_pod("b", ask(2), "n2");
  c.see();
  REQUIRE(c.used().size() == 1);
  CHECK(c.used()[0].get("nvidia.com/gpu") == 5);
  CHECK(c.snapshot().facts.orphaned[0].queue == "team");
  CHECK(c.snapshot().foreign.empty());
  c.add_plain_pod("invented", ask(1'000'000), "n2");
  c.see();
  CHECK(c.used()[0].get("nvidia.com/gpu") == 3 + 8);
  for (const Json& one : c.api.list(kube::kPods)) {
    c.api.remove(kube::kPods, kNs, kube::string_at(one, {"metadata", "name"}));
  }
  c.see();
  CHECK(c.used().empty());
}

TEST_CASE("a pod that requests any amount takes no other pod out of the count",
          "[extender][foreign][plain]") {
  Plain c;
  c.add_node("n2", 8);
  c.add_plain_pod("real", ask(4), "n1");
  c.add_plain_pod("invented", ask(1), "n2");
  c.change_pod(
      "invented",
      {{"spec",
        {{"containers",
          Json::array(
              {{{"name", "c"},
                {"resources", {{"requests", {{"nvidia.com/gpu", "9223372036854775807"}}}}}}})}}}});
  c.see();
  REQUIRE(c.used().size() == 1);
  CHECK(c.used()[0].get("nvidia.com/gpu") == 4 + 8);
  c.end_pod("invented", false);
  c.see();
  CHECK(c.used()[0].get("nvidia.com/gpu") == 4);
  CHECK(c.reason_of_next(1) == "LimitExceeded");
}

TEST_CASE("a plain pod that has only a plan does not start in a drained queue",
          "[extender][foreign][plain]") {
  Plain c;
  c.add_plain_pod("plain", ask(1));
  c.plan();
  REQUIRE(c.nominated("plain") == "n1");
  auto team = with_limit(a_queue("team"), 4);
  team.stop = queue::Queue::Stop::kHoldAndDrain;
  c.set_queue(nullptr, team);
  c.plan();
  CHECK(c.nominated("plain").empty());
  CHECK(c.ask_filter("plain").find("queue team is") != std::string::npos);
}

TEST_CASE("a pod of a DaemonSet starts at once, and counts", "[extender][foreign][plain]") {
  Plain c;
  c.add_plain_pod("first", ask(4), "n1");
  c.add_daemon_pod("daemon", ask(1), "n1");
  c.plan();
  CHECK(c.nominated("daemon").empty());
  CHECK(c.ask_filter("daemon") == "n1");
  REQUIRE(c.bind("daemon", "n1").empty());
  c.see();
  REQUIRE(c.used().size() == 1);
  CHECK(c.used()[0].get("nvidia.com/gpu") == 5);
}

TEST_CASE("a pod that only names a DaemonSet as its owner waits", "[extender][foreign][plain]") {
  Plain c;
  c.add_plain_pod("first", ask(4), "n1");
  c.add_plain_pod("other", ask(1));
  c.own("other", "apps/v1", "DaemonSet");  // which pins its pods to their nodes
  c.plan();
  CHECK(c.ask_filter("other").find("pod other waits: the limit") == 0);
}

TEST_CASE("a plain pod with scheduling gates is planned when they are gone",
          "[extender][foreign][plain]") {
  Plain c;
  c.add_plain_pod("gated", ask(1));
  c.change_pod("gated", {{"spec", {{"schedulingGates", Json::array({{{"name", "quota"}}})}}}});
  c.plan();
  CHECK(c.nominated("gated").empty());
  CHECK(c.snapshot().foreign.empty());
  c.change_pod("gated", {{"spec", {{"schedulingGates", nullptr}}}});
  c.plan();
  CHECK(c.nominated("gated") == "n1");
}

TEST_CASE("a pod that names a PodGroup waits for that one", "[extender][foreign][plain]") {
  Plain c;
  c.add_plain_pod("labelled", ask(1));
  c.change_pod("labelled", {{"metadata", {{"labels", {{kube::kForeignGroupLabel, "train"}}}}}});
  c.see_foreign_groups();
  c.plan();
  CHECK(c.nominated("labelled").empty());
  CHECK(c.ask_filter("labelled") == "podgroup train waits: it was not found");
}

TEST_CASE("an unbound pod of a job without its annotations is no plain pod",
          "[extender][foreign][plain]") {
  Plain c;
  c.add_plain_pod("stray", ask(1));
  c.own("stray", "nervex.sensetime.com/v1alpha1", "NerveXJob");
  c.plan();
  CHECK(c.nominated("stray").empty());
  CHECK(c.ask_filter("stray") == "the pod's gang annotations are damaged");
  CHECK(c.bind("stray", "n1") == "the pod's gang annotations are damaged");
}

TEST_CASE("a PodGroup with the name of a pod or of its UID is another gang",
          "[extender][foreign][plain]") {
  Plain c;
  c.add_plain_pod("train", ask(1));
  const std::string uid = c.pod("train").meta.uid;
  for (const std::string& name : {std::string("train"), uid}) {
    c.api.add(kube::kForeignPodGroups, kNs,
              {{"apiVersion", "scheduling.x-k8s.io/v1alpha1"},
               {"kind", "PodGroup"},
               {"metadata", {{"name", name}, {"namespace", kNs}}},
               {"spec", {{"minMember", 5}}}});
  }
  c.see_foreign_groups();
  c.plan();
  CHECK(c.nominated("train") == "n1");
}

TEST_CASE("plain pods that are alike are refused alike, and others have their turn",
          "[extender][foreign][plain]") {
  Plain c;
  c.set_queue(nullptr, a_queue("team"));
  c.add_plain_pod("a", ask(9));
  c.add_plain_pod("b", ask(9));
  c.add_plain_pod("c", ask(10));
  c.add_plain_pod("d", ask(8));
  c.add_plain_pod("e", ask(8));
  c.plan();
  const auto why = [](int gpus) {
    return "pod: can never fit: it needs nvidia.com/gpu " + std::to_string(gpus) +
           "; the largest node has 8 even when empty";
  };
  CHECK(c.ask_filter("a") == "pod a waits: " + why(9));
  CHECK(c.ask_filter("b") == "pod b waits: " + why(9));
  CHECK(c.ask_filter("c") == "pod c waits: " + why(10));
  CHECK(c.nominated("d") == "n1");
  CHECK(
      c.ask_filter("e") ==
      "pod e waits: pod: does not fit: it needs nvidia.com/gpu 8; no node has it free, 1 is full");
}

// docs/reference/marks.md: after `delete --cascade=orphan` users who may edit the pods can also
// remove what says where they count.
TEST_CASE("pods of a deleted job count in the queue of their namespace without their annotations",
          "[extender][orphaned][marks]") {
  Plain c;
  const std::string pod = c.run("done", 4);
  c.api.remove(kube::kPodGroups, kNs, "done");
  REQUIRE(c.reason_of_next() == "LimitExceeded");
  Json annotations;
  for (const auto& key : gang::slot_annotation_keys()) annotations[key] = nullptr;
  c.change_pod(pod, {{"metadata", {{"annotations", annotations}}}});
  REQUIRE_FALSE(gang::pod_slot(c.pod(pod)));
  CHECK(c.reason_of_next() == "LimitExceeded");
  c.api.remove(kube::kPods, kNs, pod);
  CHECK(c.reason_of_next() == "Planned");
}

}  // namespace
}  // namespace nervex::extender::plain_pods_test
