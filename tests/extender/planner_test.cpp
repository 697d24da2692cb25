#include "extender/planner.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/extender/cluster.h"

namespace nervex::extender {
namespace {

using testing::a_set;
using testing::Applied;
using testing::ask;
using testing::Cluster;
using testing::in_gang;

std::vector<gang::MemberSet> learners(int count) { return {a_set("learner", count, ask(8))}; }

TEST_CASE("the planner writes a plan once and then leaves it alone", "[extender][planner]") {
  Cluster c;
  c.add_node("n1", 8);
  c.add_node("n2", 8);
  c.add_group("a", learners(2));
  c.see();
  c.planner.pass();
  CHECK(c.places("a") == "n1 n2");
  CHECK(c.group("a").status.observed_generation == 1);
  CHECK(c.group("a").status.next_placement == 3);
  c.planner.pass();  // on what it wrote itself
  c.see();
  c.planner.pass();  // on what the watch tells
  CHECK(c.api.writes().size() == 1);
}

TEST_CASE("the second gang sees the room of the first before any watch", "[extender][planner]") {
  Cluster c;
  c.add_node("n1", 8);
  c.add_group("a", learners(1), 1);
  c.see();
  c.planner.pass();
  c.add_group("b", learners(1), 2);
  c.see_groups();
  c.planner.pass();
  CHECK(c.places("a") == "n1");
  CHECK(c.places("b") == "waits");
}

TEST_CASE("two PodGroups compete for room: one gets all, the other waits and says why",
          "[extender][planner]") {
  Cluster c;
  c.add_node("n1", 8);
  c.add_node("n2", 8);
  c.add_group("a", learners(2), 20);
  c.add_group("b", learners(2), 10);
  c.see();
  c.planner.pass();
  CHECK(c.places("b") == "n1 n2");
  CHECK(c.places("a") == "waits");
  const auto waiting = c.group("a").status;
  CHECK(waiting.gangs[0].message ==
        "learner: 2 of 2 do not fit: each needs nvidia.com/gpu 8; no node has it free, 2 are full");
  CHECK(waiting.observed_generation == 1);

  c.api.remove(kube::kPodGroups, testing::kNs, "b");  // the job ended
  c.see();
  c.planner.pass();
  CHECK(c.places("a") == "n1 n2");
}

TEST_CASE("a waiting gang costs no writes while foreign pods come and go", "[extender][planner]") {
  Cluster c;
  for (const char* name : {"n1", "n2", "n3"}) c.add_node(name, 8);
  c.add_group("a", learners(4));
  c.see();
  c.planner.pass();
  c.api.clear_writes();
  for (int i = 0; i < 30; ++i) {  // in one minute
    const std::string name = "p" + std::to_string(i);
    c.add_plain_pod(name, ask(8), i % 2 == 0 ? "n1" : "n2");
    c.see();
    c.planner.pass();
    c.api.remove(kube::kPods, testing::kNs, name);
    c.see();
    c.planner.pass();
    c.clock.advance(std::chrono::seconds(2));
  }
  CHECK(c.api.writes().size() <= 2);
}

TEST_CASE("a write that is refused is decided again on the live object", "[extender][planner]") {
  Cluster c;
  c.add_node("n1", 8);
  c.add_node("n2", 8);
  c.add_group("a", learners(1));
  c.see();
  c.set_members("a", learners(2));  // not seen
  c.planner.pass();
  CHECK(c.places("a") == "undecided");
  c.planner.pass();
  CHECK(c.places("a") == "n1 n2");
  CHECK(c.group("a").status.observed_generation == 2);
}

TEST_CASE("a lost reply keeps the room until the outcome is known", "[extender][planner]") {
  const auto applied = GENERATE(Applied::kNo, Applied::kYes);
  Cluster c;
  c.add_node("n1", 8);
  c.add_group("a", learners(1), 1);
  c.see();
  c.api.fail_next("PATCH", "/podgroups/a/status", {Code::kTransient, "timeout"}, applied);
  c.planner.pass();
  REQUIRE(c.plans.in_doubt().size() == 1);

  c.add_group("b", learners(1), 0);  // before it in the queue
  c.see_groups();
  c.planner.pass();
  if (applied == Applied::kYes) {
    CHECK(c.plans.in_doubt().empty());  // the watch told
  } else {
    CHECK(c.plans.in_doubt().size() == 1);  // and is not written again before the back-off
  }
  CHECK(c.places("b") == "waits");

  c.clock.advance(std::chrono::seconds(1));
  c.planner.pass();
  CHECK(c.plans.in_doubt().empty());
  CHECK(c.places("a") == "n1");
  CHECK(c.places("b") == "waits");
  CHECK(c.group("a").status.next_placement == 2);
}

TEST_CASE("a lost reply that the watch does not tell of is found by writing again",
          "[extender][planner]") {
  Cluster c;
  c.add_node("n1", 8);
  c.add_group("a", learners(1));
  c.see();
  c.api.fail_next("PATCH", "/podgroups/a/status", {Code::kTransient, "timeout"}, Applied::kYes);
  c.planner.pass();
  c.clock.advance(std::chrono::seconds(1));
  c.planner.pass();
  CHECK(c.plans.in_doubt().empty());
  CHECK(c.places("a") == "n1");
  CHECK(c.plans.slot_seen({c.group("a").meta.uid, "learner", {0, 0}, 1}).placement.has_value());
}

TEST_CASE("a refusal for good is tried again with back-off", "[extender][planner]") {
  Cluster c;
  c.add_node("n1", 8);
  c.add_group("a", learners(1), 1);
  c.add_group("b", learners(1), 2);
  c.see();
  c.api.fail_next("PATCH", "/podgroups/a/status", {Code::kForbidden, "forbidden"}, Applied::kNo, 2);
  c.planner.pass();
  CHECK(c.places("a") == "undecided");
  CHECK(c.places("b") == "waits");  // decided in the same pass
  const auto requests = c.api.writes("PATCH", "/podgroups/a/status").size();
  c.planner.pass();
  CHECK(c.api.writes("PATCH", "/podgroups/a/status").size() == requests);
  c.clock.advance(std::chrono::seconds(1));
  c.planner.pass();
  c.clock.advance(std::chrono::seconds(10));
  c.planner.pass();
  CHECK(c.places("a") == "n1");
}

TEST_CASE("a PodGroup that went away meanwhile is no trouble", "[extender][planner]") {
  Cluster c;
  c.add_node("n1", 8);
  c.add_group("a", learners(1));
  c.see();
  c.api.remove(kube::kPodGroups, testing::kNs, "a");
  c.planner.pass();
  CHECK(c.plans.in_doubt().empty());
  c.add_group("a", learners(1));  // a namesake
  c.planner.pass();               // still on the old one
  CHECK(c.places("a") == "undecided");
  c.see();
  c.planner.pass();
  CHECK(c.places("a") == "n1");
}

TEST_CASE("a plan moves away from a node that became unfit before its commit",
          "[extender][planner]") {
  const std::string when = GENERATE("not ready", "cordoned", "gone", "taken by a foreign pod");
  INFO("the node is " << when);
  Cluster c;
  c.add_node("n1", 8);
  c.add_node("n2", 8);
  c.add_group("a", learners(1));
  c.see();
  c.planner.pass();
  REQUIRE(c.places("a") == "n1");
  if (when == "not ready") c.set_ready("n1", false);
  if (when == "cordoned") {
    c.api.change(kube::kNodes, "", "n1", {{"spec", {{"unschedulable", true}}}});
  }
  if (when == "gone") c.api.remove(kube::kNodes, "", "n1");
  if (when == "taken by a foreign pod") c.add_plain_pod("thief", ask(1), "n1");
  c.see();
  c.planner.pass();
  CHECK(c.places("a") == "n2");
  CHECK(c.group("a").status.gangs[0].placements[0].number == 2);
}

TEST_CASE("a commit in doubt does not tie a gang to a node that was lost", "[extender][planner]") {
  const auto applied = GENERATE(Applied::kNo, Applied::kYes);
  const bool stays_away = GENERATE(false, true);  // the API server, for one more read
  INFO("the commit was stored: " << (applied == Applied::kYes) << ", longer away: " << stays_away);
  Cluster c;
  for (const char* node : {"n1", "n2", "n3"}) c.add_node(node, 8);
  c.add_group("a", learners(2));
  c.see();
  c.planner.pass();
  const auto names = c.add_gang_pods("a");
  c.see();
  c.api.fail_next("PATCH", "/podgroups/a/status", {Code::kTransient, "timeout"}, applied);
  c.api.fail_next("GET", "/podgroups/a", {Code::kTransient, "timeout"}, Applied::kNo,
                  stays_away ? 2 : 1);
  REQUIRE_FALSE(c.bind(names[0], "n1").empty());

  c.set_ready("n1", false);
  c.see_nodes();
  c.planner.pass();
  if (stays_away) {
    CHECK(c.places("a") == (applied == Applied::kYes ? "n1 n2!" : "n1 n2"));
    c.clock.advance(std::chrono::seconds(1));
    c.planner.pass();
  }
  CHECK(c.plans.open_commits().in_doubt.empty());
  // A committed gang is never moved by a plan that only thinks it is not.
  CHECK(c.places("a") == (applied == Applied::kYes ? "n1 n2!" : "n3 n2"));
}

TEST_CASE("growth is planned as a gang of its own", "[extender][planner]") {
  Cluster c;
  c.add_node("n1", 8);
  c.add_node("n2", 8);
  c.add_group("a", learners(1));
  c.see();
  c.planner.pass();
  auto members = learners(1);
  auto more = in_gang(a_set("collector", 2, ask(0)), "request-1");
  members.push_back(more);
  auto too_many = in_gang(a_set("learner", 2, ask(8)), "request-2");
  too_many.slots = {{4096, 0}, {4097, 0}};
  members.push_back(too_many);
  c.set_members("a", members);
  c.see();
  c.planner.pass();
  CHECK(c.places("a") == "n1");
  CHECK(c.places("a", "request-1") == "n1 n1");
  CHECK(c.places("a", "request-2") == "waits");
  CHECK(c.group("a").status.observed_generation == 2);
}

TEST_CASE("only changes that can make a difference wake the planner", "[extender][planner]") {
  const auto node = [](auto change) {
    kube::Node n = testing::a_node("n1", 8);
    change(n);
    return std::make_shared<const kube::Node>(n);
  };
  const auto base = node([](kube::Node&) {});
  CHECK(matters(NodePtr(), base));
  CHECK(matters(base, NodePtr()));
  CHECK_FALSE(matters(base, node([](kube::Node& n) { n.resource_version = "9"; })));
  CHECK(matters(base, node([](kube::Node& n) { n.ready = false; })));
  CHECK(matters(base, node([](kube::Node& n) { n.unschedulable = true; })));
  CHECK(matters(base, node([](kube::Node& n) { n.taints.push_back({"a", "", "NoSchedule"}); })));
  CHECK(matters(base, node([](kube::Node& n) { n.labels["zone"] = "b"; })));
  CHECK(matters(base, node([](kube::Node& n) { n.allocatable.set("cpu", 1); })));

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
  CHECK_FALSE(matters(PodPtr(), pending));
  CHECK(matters(pending, bound));
  CHECK_FALSE(matters(bound, running));
  CHECK(matters(running, finished));
  CHECK_FALSE(matters(finished, PodPtr()));
  CHECK(matters(running, PodPtr()));
}

}  // namespace
}  // namespace nervex::extender
