#include "extender/act/planner.h"

#include <limits>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/extender/cluster.h"

namespace nervex::extender {
namespace {

using testing::a_set;
using testing::Applied;
using testing::ask;
using testing::ExtenderCluster;
using testing::in_request;
using testing::list_members;
using testing::Member;

std::vector<Member> learners(int count) { return {a_set("learner", count, ask(8))}; }

TEST_CASE("the planner writes a plan once and does not rewrite it", "[extender][planner]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_node("n2", 8);
  c.add_group("a", learners(2));
  c.see();
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == "n1 n2");
  CHECK(c.group("a").status.observed_generation == 1);
  CHECK(c.group("a").status.next_placement == 3);
  c.planner.schedule_once();  // on what it wrote itself
  c.see();
  c.planner.schedule_once();  // on what the watch has read
  CHECK(c.api.writes().size() == 1);
}

TEST_CASE("a second gang does not get the capacity of the first before the watch has it",
          "[extender][planner]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_group("a", learners(1), 1);
  c.see();
  c.planner.schedule_once();
  c.add_group("b", learners(1), 2);
  c.see_groups();
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == "n1");
  CHECK(c.planned_nodes("b") == "waits");
}

TEST_CASE("two PodGroups compete for capacity: one gets all, the other waits and says why",
          "[extender][planner]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_node("n2", 8);
  c.add_group("a", learners(2), 20);
  c.add_group("b", learners(2), 10);
  c.see();
  c.planner.schedule_once();
  CHECK(c.planned_nodes("b") == "n1 n2");
  CHECK(c.planned_nodes("a") == "waits");
  const auto waiting = c.group("a").status;
  CHECK(waiting.gangs[0].message ==
        "learner: 2 of 2 do not fit: each needs nvidia.com/gpu 8; no node has it free, 2 are full");
  CHECK(waiting.observed_generation == 1);

  c.api.remove(kube::kPodGroups, testing::kNs, "b");  // the job ended
  c.see();
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == "n1 n2");
}

TEST_CASE("a waiting gang causes no writes while other pods start and end", "[extender][planner]") {
  ExtenderCluster c;
  for (const char* name : {"n1", "n2", "n3"}) c.add_node(name, 8);
  c.add_group("a", learners(4));
  c.see();
  c.planner.schedule_once();
  c.api.clear_writes();
  for (int i = 0; i < 30; ++i) {  // in one minute
    const std::string name = "p" + std::to_string(i);
    c.add_plain_pod(name, ask(8), i % 2 == 0 ? "n1" : "n2");
    c.see();
    c.planner.schedule_once();
    c.api.remove(kube::kPods, testing::kNs, name);
    c.see();
    c.planner.schedule_once();
    c.clock.advance(std::chrono::seconds(2));
  }
  CHECK(c.api.writes().size() <= 2);
}

TEST_CASE("a write that meets a conflict is decided again on the live object",
          "[extender][planner]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_node("n2", 8);
  c.add_group("a", learners(1));
  c.see();
  c.set_members("a", learners(2));  // not seen
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == "undecided");
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == "n1 n2");
  CHECK(c.group("a").status.observed_generation == 2);
}

TEST_CASE("capacity of a write whose reply was lost stays reserved until the outcome is known",
          "[extender][planner]") {
  const auto applied = GENERATE(Applied::kNo, Applied::kYes);
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_group("a", learners(1), 1);
  c.see();
  c.api.fail_next("PATCH", "/podgroups/a/status", {Code::kTransient, "timeout"}, applied);
  c.planner.schedule_once();
  REQUIRE(c.cache.planner.unconfirmed().size() == 1);

  c.add_group("b", learners(1), 0);  // before it in the queue
  c.see_groups();
  c.planner.schedule_once();
  if (applied == Applied::kYes) {
    CHECK(c.cache.planner.unconfirmed().empty());  // the watch has read it
  } else {
    CHECK(c.cache.planner.unconfirmed().size() ==
          1);  // and is not written again before the back-off
  }
  CHECK(c.planned_nodes("b") == "waits");

  c.clock.advance(std::chrono::seconds(1));
  c.planner.schedule_once();
  CHECK(c.cache.planner.unconfirmed().empty());
  CHECK(c.planned_nodes("a") == "n1");
  CHECK(c.planned_nodes("b") == "waits");
  CHECK(c.group("a").status.next_placement == 2);
}

TEST_CASE("a lost reply is resolved by repeating the write when no watch event comes",
          "[extender][planner]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_group("a", learners(1));
  c.see();
  c.api.fail_next("PATCH", "/podgroups/a/status", {Code::kTransient, "timeout"}, Applied::kYes);
  c.planner.schedule_once();
  c.clock.advance(std::chrono::seconds(1));
  c.planner.schedule_once();
  CHECK(c.cache.planner.unconfirmed().empty());
  CHECK(c.planned_nodes("a") == "n1");
  CHECK(
      c.cache.binds.slot_seen({c.group("a").meta.uid, "learner", {0, 0}, 1}).placement.has_value());
}

TEST_CASE("a forbidden write is tried again with back-off", "[extender][planner]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_group("a", learners(1), 1);
  c.add_group("b", learners(1), 2);
  c.see();
  c.api.fail_next("PATCH", "/podgroups/a/status", {Code::kForbidden, "forbidden"}, Applied::kNo, 2);
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == "undecided");
  CHECK(c.planned_nodes("b") == "waits");  // decided in the same cycle
  const auto requests = c.api.writes("PATCH", "/podgroups/a/status").size();
  c.planner.schedule_once();
  CHECK(c.api.writes("PATCH", "/podgroups/a/status").size() == requests);
  c.clock.advance(std::chrono::seconds(1));
  c.planner.schedule_once();
  c.clock.advance(std::chrono::seconds(10));
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == "n1");
}

// The API server stores no status of PodGroup a with more placements than `most`.
void limit_placements(ExtenderCluster& c, std::size_t most) {
  c.api.fail_next(
      [most](const kube::ApiRequest& request) {
        const bool is_status = request.path.find("/podgroups/a/status") != std::string::npos;
        if (request.method != "PATCH" || !is_status) return false;
        const auto body = kube::parse_json(request.body);
        const auto group =
            gang::decode_pod_group({{"metadata", {{"name", "a"}}}, {"status", (*body)["status"]}});
        std::size_t placements = 0;
        for (const gang::GangStatus& gang : group->status.gangs)
          placements += gang.placements.size();
        return placements > most;
      },
      {Code::kInvalid, "etcdserver: request is too large"}, Applied::kNo, 1000);
}

std::size_t tries(const ExtenderCluster& c) {
  return c.api.writes("PATCH", "/podgroups/a/status").size();
}

TEST_CASE("a plan that is too large to be stored reserves nothing and is reported",
          "[extender][planner]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_node("n2", 8);
  c.add_group("a", learners(2), 1);
  c.add_group("b", learners(2), 2);
  c.see();
  limit_placements(c, 1);
  c.planner.schedule_once();
  CHECK(c.cache.planner.unconfirmed().empty());
  CHECK(c.cache.binds.reserved_nodes({"n1", "n2"}).empty());
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == "waits");
  CHECK(c.planned_nodes("b") == "n1 n2");
  const gang::PodGroup reported = c.group("a");
  CHECK(reported.status.observed_generation == 1);
  CHECK(reported.status.next_placement == 1);
  CHECK(reported.status.gangs[0].reason == "PlanRefused");
  CHECK(reported.status.gangs[0].message ==
        "the API server does not store the plan of 2 pods: etcdserver: request is too large; ask "
        "for fewer pods");

  SECTION("it is not retried within five minutes") {
    REQUIRE(tries(c) == 2);
    for (int i = 0; i < 20; ++i) {
      c.clock.advance(std::chrono::seconds(10));
      c.see();
      c.planner.schedule_once();
    }
    CHECK(tries(c) == 2);
  }
  SECTION("it is retried after five minutes: the limit may have changed") {
    c.api.remove(kube::kPodGroups, testing::kNs, "b");
    c.clock.advance(std::chrono::minutes(5));
    c.see();
    c.planner.schedule_once();
    c.planner.schedule_once();
    CHECK(tries(c) == 3);
    CHECK(c.group("a").meta.resource_version == reported.meta.resource_version);
  }
  SECTION("a spec that asks for less is planned at once") {
    c.api.remove(kube::kPodGroups, testing::kNs, "b");
    c.set_members("a", learners(1));
    c.see();
    c.planner.schedule_once();
    CHECK(c.planned_nodes("a") == "n1");
  }
}

TEST_CASE("growth that is too large to be stored does not change committed gangs",
          "[extender][planner]") {
  ExtenderCluster c;
  for (const char* node : {"n1", "n2", "n3"}) c.add_node(node, 8);
  c.add_group("a", learners(1), 1);
  c.see();
  c.planner.schedule_once();
  REQUIRE(c.bind(c.add_gang_pods("a")[0], "n1").empty());
  c.see();
  auto members = learners(1);
  members.push_back(in_request(a_set("collector", 2, ask(1)), 1));
  limit_placements(c, 2);
  SECTION("the new gang waits") {
    c.set_members("a", members);
    c.see();
    c.planner.schedule_once();
    c.planner.schedule_once();
    CHECK(c.planned_nodes("a") == "n1!");
    CHECK(c.planned_nodes("a", "request-1") == "waits");
    CHECK(c.group("a").status.gangs[1].reason == "PlanRefused");
  }
  SECTION("a slot of the committed gang that needs another placement still gets it") {
    members[0].slots = {{0, 1}};
    c.set_members("a", members);
    c.see();
    c.planner.schedule_once();
    c.planner.schedule_once();
    CHECK(c.planned_nodes("a") == "n2!");
    CHECK(c.planned_nodes("a", "request-1") == "waits");
  }
  SECTION("further slots of the committed gang wait, the others keep their placements") {
    members = learners(1);
    members[0].slots = {{0, 0}, {1, 0}, {2, 0}};
    c.set_members("a", members);
    c.see();
    for (int i = 0; i < 4; ++i) c.planner.schedule_once();
    CHECK(c.planned_nodes("a") == "waits!");
    const gang::GangStatus gang = c.group("a").status.gangs[0];
    CHECK(gang.reason == "PlanRefused");
    REQUIRE(gang.placements.size() == 1);
    CHECK(gang.placements[0].node == "n1");
  }
}

TEST_CASE("a PodGroup whose status can never be stored takes no capacity from others",
          "[extender][planner]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_group("a", learners(1), 1);
  c.add_group("b", learners(1), 2);
  c.see();
  c.api.fail_next("PATCH", "/podgroups/a/status", {Code::kInvalid, "no"}, Applied::kNo, 1000);
  for (int i = 0; i < 20; ++i) c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == "undecided");
  CHECK(c.planned_nodes("b") == "n1");
  CHECK(tries(c) == 3);
}

TEST_CASE("a repeated write that is rejected for good is resolved", "[extender][planner]") {
  const bool is_down = GENERATE(false, true);
  INFO("the API server does not answer the read: " << is_down);
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_group("a", learners(1), 1);
  c.see();
  c.api.fail_next("PATCH", "/podgroups/a/status", {Code::kTransient, "timeout"}, Applied::kNo);
  c.planner.schedule_once();
  REQUIRE(c.cache.planner.unconfirmed().size() == 1);
  c.api.fail_next("PATCH", "/podgroups/a/status", {Code::kInvalid, "no"}, Applied::kNo, 1);
  if (is_down) c.api.fail_next("GET", "/podgroups/a", {Code::kTransient, "timeout"});
  c.clock.advance(std::chrono::seconds(1));
  c.planner.schedule_once();
  // Only a read shows whether the first write was stored.
  CHECK(c.cache.planner.unconfirmed().size() == (is_down ? 1U : 0U));
  c.clock.advance(std::chrono::seconds(1));
  c.planner.schedule_once();
  c.planner.schedule_once();
  CHECK(c.cache.planner.unconfirmed().empty());
  CHECK(c.planned_nodes("a") == (is_down ? "n1" : "waits"));
}

TEST_CASE("free capacity goes to the higher priority, then to the older PodGroup",
          "[extender][planner]") {
  ExtenderCluster c;
  c.add_group("low", learners(1), 1, -5);
  c.add_group("default", learners(1), 2);
  c.add_group("young", learners(1), 9, 7);
  c.add_group("old", learners(1), 8, 7);
  for (const std::string node : {"n1", "n2", "n3"}) {
    c.add_node(node, 8);
    c.see();
    c.planner.schedule_once();
  }
  CHECK(c.planned_nodes("old") == "n1");
  CHECK(c.planned_nodes("young") == "n2");
  CHECK(c.planned_nodes("default") == "n3");
  CHECK(c.planned_nodes("low") == "waits");
}

TEST_CASE("a PodGroup that was deleted before its status is written is forgotten",
          "[extender][planner]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_group("a", learners(1));
  c.see();
  c.api.remove(kube::kPodGroups, testing::kNs, "a");
  c.planner.schedule_once();
  CHECK(c.cache.planner.unconfirmed().empty());
  c.add_group("a", learners(1));  // another one of the same name
  c.planner.schedule_once();      // still on the old one
  CHECK(c.planned_nodes("a") == "undecided");
  c.see();
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == "n1");
}

TEST_CASE("a plan that is not committed moves when its node is lost or taken",
          "[extender][planner]") {
  const std::string when = GENERATE("not ready", "cordoned", "deleted", "taken by another pod");
  INFO("the node is " << when);
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_node("n2", 8);
  c.add_group("a", learners(1));
  c.see();
  c.planner.schedule_once();
  REQUIRE(c.planned_nodes("a") == "n1");
  if (when == "not ready") c.set_ready("n1", false);
  if (when == "cordoned") {
    c.api.change(kube::kNodes, "", "n1", {{"spec", {{"unschedulable", true}}}});
  }
  if (when == "deleted") c.api.remove(kube::kNodes, "", "n1");
  if (when == "taken by another pod") c.add_plain_pod("intruder", ask(1), "n1");
  c.see();
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == "n2");
  CHECK(c.group("a").status.gangs[0].placements[0].number == 2);
}

TEST_CASE("an unconfirmed commit does not keep a gang on a lost node", "[extender][planner]") {
  const auto applied = GENERATE(Applied::kNo, Applied::kYes);
  const bool stays_down = GENERATE(false, true);  // the API server, for one more read
  INFO("the commit was stored: " << (applied == Applied::kYes) << ", longer down: " << stays_down);
  ExtenderCluster c;
  for (const char* node : {"n1", "n2", "n3"}) c.add_node(node, 8);
  c.add_group("a", learners(2));
  const auto names = c.plan_and_add_pods("a");
  c.api.fail_next("PATCH", "/podgroups/a/status", {Code::kTransient, "timeout"}, applied);
  c.api.fail_next("GET", "/podgroups/a", {Code::kTransient, "timeout"}, Applied::kNo,
                  stays_down ? 2 : 1);
  REQUIRE_FALSE(c.bind(names[0], "n1").empty());

  c.set_ready("n1", false);
  c.see_nodes();
  c.planner.schedule_once();
  if (stays_down) {
    CHECK(c.planned_nodes("a") == (applied == Applied::kYes ? "n1 n2!" : "n1 n2"));
    c.clock.advance(std::chrono::seconds(1));
    c.planner.schedule_once();
  }
  CHECK(c.cache.planner.open_commits().unconfirmed.empty());
  // Committed or not, no pod of it is bound: the slot moves.
  CHECK(c.planned_nodes("a") == (applied == Applied::kYes ? "n3 n2!" : "n3 n2"));
}

TEST_CASE("a bind without an answer does not keep a slot on a lost node", "[extender][planner]") {
  const auto applied = GENERATE(Applied::kNo, Applied::kYes);
  INFO("the bind was stored: " << (applied == Applied::kYes));
  ExtenderCluster c;
  for (const char* node : {"n1", "n2", "n3"}) c.add_node(node, 8);
  c.add_group("a", learners(2));
  const auto names = c.plan_and_add_pods("a");
  REQUIRE(c.bind(names[1], "n2").empty());
  c.api.fail_next("POST", "/binding", {Code::kTransient, "timeout"}, applied);
  c.api.fail_next("GET", "/pods/" + names[0], {Code::kTransient, "timeout"}, Applied::kNo);
  REQUIRE_FALSE(c.bind(names[0], "n1").empty());

  c.set_ready("n1", false);
  c.see_nodes();
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == "n1 n2!");  // the bind may still be stored

  c.clock.advance(std::chrono::seconds(61));
  SECTION("it is read once every request has ended") {
    c.planner.schedule_once();
    CHECK(c.planned_nodes("a") == (applied == Applied::kYes ? "n1 n2!" : "n3 n2!"));
  }
  SECTION("a read that fails is repeated") {
    c.api.fail_next("GET", "/pods/" + names[0], {Code::kTransient, "timeout"}, Applied::kNo);
    c.planner.schedule_once();
    CHECK(c.planned_nodes("a") == "n1 n2!");
    c.planner.schedule_once();
    CHECK(c.planned_nodes("a") == (applied == Applied::kYes ? "n1 n2!" : "n3 n2!"));
  }
  SECTION("a bind that has begun anew is waited for") {
    c.api.fail_next("POST", "/binding", {Code::kTransient, "timeout"}, Applied::kNo);
    c.api.fail_next("GET", "/pods/" + names[0], {Code::kTransient, "timeout"}, Applied::kNo);
    (void)c.bind(names[0], "n1");
    c.planner.schedule_once();
    CHECK(c.planned_nodes("a") == "n1 n2!");
  }
}

TEST_CASE("pods of an older placement are not those of a plan that is never bound",
          "[extender][planner]") {
  ExtenderCluster c;
  for (const char* node : {"n1", "n2", "n3"}) c.add_node(node, 8);
  c.add_group("a", learners(2));
  const auto names = c.plan_and_add_pods("a");
  c.set_ready("n1", false);
  c.see_nodes();
  c.planner.schedule_once();
  REQUIRE(c.planned_nodes("a") == "n3 n2");
  c.clock.advance(std::chrono::seconds(119));
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == "n3 n2");  // the controller has not made the new pod yet

  c.api.remove(kube::kPods, testing::kNs, names[0]);
  c.add_gang_pod(c.group("a"), c.group("a").status.gangs[0].placements[0]);
  c.see();
  c.clock.advance(std::chrono::seconds(119));
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == "n3 n2");
  c.clock.advance(std::chrono::seconds(1));
  c.planner.schedule_once();
  CHECK(c.group("a").status.gangs[0].refusals.count == 1);  // the plan was dropped
}

TEST_CASE("growth is planned as a gang of its own", "[extender][planner]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_node("n2", 8);
  c.add_group("a", learners(1));
  c.see();
  c.planner.schedule_once();
  auto members = learners(1);
  auto more = in_request(a_set("collector", 2, ask(0)), 1);
  members.push_back(more);
  auto too_many = in_request(a_set("learner", 2, ask(8)), 2);
  too_many.slots = {{4096, 0}, {4097, 0}};
  members.push_back(too_many);
  c.set_members("a", members);
  c.see();
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == "n1");
  CHECK(c.planned_nodes("a", "request-1") == "n1 n1");
  CHECK(c.planned_nodes("a", "request-2") == "waits");
  CHECK(c.group("a").status.observed_generation == 2);
}

// As a LimitRange makes it of a pod that was created for a plan.
void enlarge(ExtenderCluster& c, const std::string& pod, const std::string& memory) {
  Json spec = c.api.get(kube::kPods, testing::kNs, pod)["spec"];
  spec["containers"][0]["resources"]["requests"]["memory"] = memory;
  c.api.change(kube::kPods, testing::kNs, pod, {{"spec", {{"containers", spec["containers"]}}}});
}

TEST_CASE("a gang whose pods were enlarged is planned with what they ask for",
          "[extender][planner]") {
  ExtenderCluster c;
  c.add_node("n1", 8);  // each with 256 Gi
  c.add_node("n2", 8);
  c.add_group("a", {a_set("learner", 2, ask(2))});
  c.see();
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == "n1 n1");
  const auto pods = c.add_gang_pods("a");
  for (const auto& pod : pods) enlarge(c, pod, "200Gi");
  CHECK_FALSE(c.filter(pods[0], {"n1"}).error.empty());  // our cache does not have the pod yet
  c.see_pods();
  CHECK(c.filter(pods[0], {"n1"}).node_names == std::vector<std::string>{"n1"});
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == "n1 n2");
  const auto placements = c.group("a").status.gangs.at(0).placements;
  CHECK(placements[0].number == 1);  // its pod stays
  CHECK(placements[1].number == 3);
  CHECK(c.group("a").status.enlarged ==
        std::vector<gang::EnlargedSet>{
            {"learner",
             {{"cpu", 1000}, {"memory", 200 * testing::kGi}, {"nvidia.com/gpu", 2}, {"pods", 1}},
             1,
             c.clock.now() + std::chrono::minutes(10),
             0}});
  c.see();
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == "n1 n2");
}

TEST_CASE("what was learned of enlarged pods outlives them and a restart", "[extender][planner]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_group("a", {a_set("learner", 2, ask(2))});
  c.see();
  c.planner.schedule_once();
  for (const auto& pod : c.add_gang_pods("a")) enlarge(c, pod, "200Gi");
  c.see_pods();
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == "waits");
  CHECK(
      c.group("a").status.gangs[0].message ==
      "learner: 1 of 2 can never fit: each needs memory 200Gi; the nodes have capacity for 1 even "
      "when empty; a LimitRange or a webhook raises the pods' requests above the template's");
  for (const char* pod : {"a-learner-0-0", "a-learner-1-0"}) {
    c.api.remove(kube::kPods, testing::kNs, pod);
  }
  c.see();
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == "waits");

  ExtenderCluster after;  // another process, with what the API server has
  after.add_node("n1", 8);
  after.api.add(kube::kPodGroups, testing::kNs, c.api.get(kube::kPodGroups, testing::kNs, "a"));
  after.see();
  after.planner.schedule_once();
  CHECK(after.planned_nodes("a") == "waits");
  after.add_node("n2", 8);
  after.see();
  after.planner.schedule_once();
  CHECK(after.planned_nodes("a") == "n1 n2");
}

// Two learners that fit one node by their template and were enlarged beyond it; without pods.
struct Enlarged : ExtenderCluster {
  Enlarged() {
    add_node("n1", 8);
    add_group("a", {a_set("learner", 2, ask(2))});
    learn();
  }
  void cycle() {
    see();
    planner.schedule_once();
  }
  void pass(std::chrono::minutes time) {
    clock.advance(time);
    cycle();
    cycle();  // the status first, then the plan
  }
  // The plan's pods are made, larger than it says, and go with it.
  void learn() {
    cycle();
    REQUIRE(planned_nodes("a") == "n1 n1");
    const auto names = add_gang_pods("a");
    for (const auto& pod : names) enlarge(*this, pod, "200Gi");
    cycle();
    REQUIRE(planned_nodes("a") == "waits");
    for (const auto& pod : names) api.remove(kube::kPods, testing::kNs, pod);
    cycle();
    REQUIRE(planned_nodes("a") == "waits");
  }
};

TEST_CASE("what was learned of enlarged pods is tried without it after a time that doubles",
          "[extender][planner]") {
  using std::chrono::minutes;
  Enlarged c;
  c.pass(minutes(9));
  CHECK(c.planned_nodes("a") == "waits");
  c.pass(minutes(1));
  CHECK(c.planned_nodes("a") == "n1 n1");
  SECTION("the cause has gone") {
    for (const auto& pod : c.add_gang_pods("a")) REQUIRE(c.bind(pod, "n1").empty());
    c.cycle();
    CHECK(c.planned_nodes("a") == "n1 n1!");
  }
  SECTION("it is still there") {
    c.learn();
    CHECK(c.group("a").status.enlarged.at(0).times == 2);
    c.pass(minutes(19));
    CHECK(c.planned_nodes("a") == "waits");
    c.pass(minutes(1));
    CHECK(c.planned_nodes("a") == "n1 n1");
  }
}

TEST_CASE("what was learned of enlarged pods ends with a later answer to a dry run",
          "[extender][planner]") {
  Enlarged c;
  auto members = list_members(c.group("a"));
  members[0].admitted = {1, {}};
  c.set_members("a", members);
  c.cycle();
  CHECK(c.planned_nodes("a") == "n1 n1");
  CHECK(c.group("a").status.enlarged.empty());
  SECTION("pods that are enlarged nevertheless are right") {
    c.learn();
    CHECK(c.group("a").status.enlarged.at(0).answer == 1);
  }
  SECTION("and it says how large they would be before there are any") {
    members[0].admitted = {2, {{"memory", 200 * testing::kGi}}};
    c.set_members("a", members);
    c.cycle();
    CHECK(c.planned_nodes("a") == "waits");
    CHECK(c.group("a").status.gangs[0].message.find("a LimitRange or a webhook") !=
          std::string::npos);
  }
}

// A plan whose pod kube-scheduler has refused for a claim that is not there.
struct Claimed : ExtenderCluster {
  Claimed() {
    add_node("n1", 8);
    auto set = a_set("learner", 1, ask(2));
    set.shape.claims = {"data"};
    add_group("a", {set});
    cycle();
    const auto names = add_gang_pods("a");
    refuse(names[0], "0/1 nodes are available: persistentvolumeclaim \"data\" not found.");
    cycle();
    clock.advance(std::chrono::seconds(30));
    cycle();
    api.remove(kube::kPods, testing::kNs, names[0]);
    cycle();
  }
  void cycle() {
    see();
    planner.schedule_once();
  }
  void refuse(const std::string& pod, const std::string& message) {
    const Json condition{{"type", "PodScheduled"},
                         {"status", "False"},
                         {"reason", "Unschedulable"},
                         {"message", message}};
    api.change(kube::kPods, testing::kNs, pod,
               {{"status", {{"conditions", Json::array({condition})}}}});
  }
  void add_claim(const std::string& volume, const std::string& phase) {
    Json spec = Json::object();
    if (!volume.empty()) spec["volumeName"] = volume;
    api.add(kube::kPersistentVolumeClaims, testing::kNs,
            {{"apiVersion", "v1"},
             {"kind", "PersistentVolumeClaim"},
             {"metadata", {{"name", "data"}, {"namespace", testing::kNs}}},
             {"spec", spec},
             {"status", {{"phase", phase}}}});
  }
};

TEST_CASE("a gang that was refused for a claim is planned when that changes, and avoids no node",
          "[extender][planner]") {
  Claimed c;
  const auto refused = c.group("a").status;
  CHECK(refused.avoid.empty());
  CHECK(refused.gangs[0].refusals.waits_for == std::vector<std::string>{"data=missing"});
  CHECK(c.planned_nodes("a") == "waits");
  c.clock.advance(std::chrono::seconds(11));
  c.cycle();
  CHECK(c.planned_nodes("a") == "waits");
  SECTION("it was made and bound") { c.add_claim("v", "Bound"); }
  SECTION("it was made, and waits for its first pod, maybe") { c.add_claim("", "Pending"); }
  SECTION("it does not come: a look now and then") { c.clock.advance(std::chrono::seconds(49)); }
  c.cycle();
  CHECK(c.planned_nodes("a") == "n1");
}

Json a_quota(const std::string& hard, const std::string& used) {
  return {{"apiVersion", "v1"},
          {"kind", "ResourceQuota"},
          {"metadata", {{"name", "team"}, {"namespace", testing::kNs}}},
          {"status",
           {{"hard", {{"requests.nvidia.com/gpu", hard}}},
            {"used", {{"requests.nvidia.com/gpu", used}}}}}};
}

TEST_CASE("a gang over quota waits and says so until the quota or its use changes",
          "[extender][planner]") {
  ExtenderCluster c;
  for (const char* node : {"n1", "n2", "n3", "n4"}) c.add_node(node, 8);
  c.api.add(kube::kResourceQuotas, testing::kNs, a_quota("24", "4"));
  c.add_group("a", learners(2), 1);
  c.add_group("b", learners(1), 2);
  c.see();
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == "n1 n2");
  CHECK(c.planned_nodes("b") == "waits");  // for what "a" was promised
  const auto status = [&] { return c.group("b").status.gangs.at(0); };
  CHECK(status().reason == "OverQuota");
  CHECK(status().message ==
        "over quota by requests.nvidia.com/gpu 4: resourcequota team allows 24, 4 are used, 16 "
        "more are planned, the gang needs 8");

  c.add_gang_pods("a");  // pods that exist are in what is used
  c.api.change(kube::kResourceQuotas, testing::kNs, "team", a_quota("24", "20"));
  c.see();
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == "n1 n2");
  CHECK(c.planned_nodes("b") == "waits");

  c.api.change(kube::kResourceQuotas, testing::kNs, "team", a_quota("24", "16"));
  c.see_quotas();
  c.planner.schedule_once();
  CHECK(c.planned_nodes("b") == "n3");

  c.api.change(kube::kResourceQuotas, testing::kNs, "team", a_quota("1", "24"));
  c.see_quotas();
  c.planner.schedule_once();
  CHECK(c.planned_nodes("b") == "n3");  // its pods may have been created: the plan stays
}

TEST_CASE("reserved capacity counts as used in a quota", "[extender][planner]") {
  ExtenderCluster c;
  for (const char* node : {"n1", "n2", "n3", "n4"}) c.add_node(node, 8);
  auto collectors = a_set("collector", 0, ask(8));
  collectors.reserved_pods = 2;
  const std::string hard = GENERATE("0", "15", "24");
  c.api.add(kube::kResourceQuotas, testing::kNs, a_quota(hard, "0"));
  c.add_group("a", {a_set("coordinator", 1, ask(0)), collectors}, 1);
  c.add_group("b", learners(2), 2);
  c.see();
  c.planner.schedule_once();
  const auto status = [&](const char* name) { return c.group(name).status.gangs.at(0); };
  if (hard != "24") {
    CHECK(status("a").reason == "OverQuota");
    CHECK(status("a").message.find("the gang needs 16") != std::string::npos);
    return;
  }
  CHECK(c.planned_nodes("a") != "waits");
  CHECK(status("b").reason == "OverQuota");  // 8 are left
  // Nor by a planner that begins later, when the gang runs.
  c.add_gang_pods("a");
  c.see();
  c.planner.schedule_once();
  CHECK(status("b").reason == "OverQuota");
  CHECK(status("b").message ==
        "over quota by requests.nvidia.com/gpu 8: resourcequota team allows 24, 0 are used, 16 "
        "more are planned, the gang needs 16");
}

TEST_CASE("a gang that asks for more than can be counted is over any quota",
          "[extender][planner]") {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.api.add(kube::kResourceQuotas, testing::kNs, a_quota("24", std::to_string(kMost)));
  c.add_group("a", {a_set("learner", 3, ask(kMost))}, 1);
  c.see();
  c.planner.schedule_once();
  CHECK(c.group("a").status.gangs.at(0).reason == "OverQuota");
}

TEST_CASE("a quota counts for its own namespace alone, and only what is asked for",
          "[extender][planner]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  Json elsewhere = a_quota("0", "0");
  elsewhere["metadata"]["namespace"] = "other";
  c.api.add(kube::kResourceQuotas, "other", elsewhere);
  c.add_group("a", learners(1), 1);
  c.see();
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == "n1");
  c.api.add(kube::kResourceQuotas, testing::kNs, a_quota("0", "8"));
  c.add_group("b", {a_set("collector", 1, ask(0))}, 2);
  c.see();
  c.planner.schedule_once();
  CHECK(c.planned_nodes("b") == "n1");  // no GPU
}

// As a storage driver makes it: bound to the claim, usable on n2.
Json volume_on_n2() {
  return {{"apiVersion", "v1"},
          {"kind", "PersistentVolume"},
          {"metadata", {{"name", "pv"}}},
          {"spec",
           {{"nodeAffinity",
             {{"required",
               {{"nodeSelectorTerms",
                 Json::array({{{"matchFields", Json::array({{{"key", "metadata.name"},
                                                             {"operator", "In"},
                                                             {"values", {"n2"}}}})}}})}}}}}}}};
}

TEST_CASE("a gang is planned where its volume can be used, also if it is bound later",
          "[extender][planner]") {
  ExtenderCluster c;
  c.add_node("n1", 8);
  c.add_node("n2", 8);
  auto members = learners(1);
  members[0].shape.claims = {"data"};
  c.add_group("a", members);
  c.see();
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == "n1");  // there is no claim: left to kube-scheduler

  c.api.add(kube::kPersistentVolumes, "", volume_on_n2());
  c.api.add(kube::kPersistentVolumeClaims, testing::kNs,
            {{"apiVersion", "v1"},
             {"kind", "PersistentVolumeClaim"},
             {"metadata", {{"name", "data"}, {"namespace", testing::kNs}}},
             {"spec", {{"volumeName", "pv"}}}});
  c.see_volumes();
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == "n2");
  CHECK(c.group("a").spec.gangs[0].members[0].shape.constraints.empty());  // not written

  c.set_ready("n2", false);
  c.see_nodes();
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == "waits");
  CHECK(c.group("a").status.gangs[0].message ==
        "learner: no node is allowed: 1 cannot reach its volume, 1 is not ready");
}

TEST_CASE("only changes that can make a difference wake the planner", "[extender][planner]") {
  const auto node = [](auto change) {
    kube::Node n = testing::a_node("n1", 8);
    change(n);
    return std::make_shared<const kube::Node>(n);
  };
  const auto base = node([](kube::Node&) {});
  CHECK(planner::matters(kube::NodePtr(), base));
  CHECK(planner::matters(base, kube::NodePtr()));
  CHECK_FALSE(planner::matters(base, node([](kube::Node& n) { n.resource_version = "9"; })));
  CHECK(planner::matters(base, node([](kube::Node& n) { n.ready = false; })));
  CHECK(planner::matters(base, node([](kube::Node& n) { n.unschedulable = true; })));
  CHECK(planner::matters(base, node([](kube::Node& n) {
                           n.taints.push_back({"a", "", "NoSchedule"});
                         })));
  CHECK(planner::matters(base, node([](kube::Node& n) { n.labels["zone"] = "b"; })));
  CHECK(planner::matters(base, node([](kube::Node& n) { n.allocatable.set("cpu", 1); })));

  const auto pod = [](const char* on, kube::PodPhase phase) {
    kube::Pod p;
    p.node = on;
    p.phase = phase;
    return std::make_shared<const kube::Pod>(p);
  };
  const auto pending = pod("", kube::PodPhase::kPending);
  const auto bound = pod("n1", kube::PodPhase::kPending);
  const auto running = pod("n1", kube::PodPhase::kRunning);
  const auto finished = pod("n1", kube::PodPhase::kSucceeded);
  CHECK_FALSE(matters(kube::PodPtr(), pending));
  CHECK(matters(pending, bound));
  CHECK_FALSE(matters(bound, running));
  CHECK(matters(running, finished));
  CHECK_FALSE(matters(finished, kube::PodPtr()));
  CHECK(matters(running, kube::PodPtr()));
}

}  // namespace
}  // namespace nervex::extender
