#include "planner/work/ending.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/planner/preemption/preemptions.h"

namespace nervex::planner {
namespace {

using testing::a_full_cluster;
using testing::Preemptions;
using testing::speech;
using testing::view;
using testing::vision;
using testing::with_a_request;
using testing::with_quota;

using Names = std::vector<std::string>;

TEST_CASE("a victim is gone when its last pod is", "[extender][preempt]") {
  Preemptions world = with_a_request();
  SECTION("a request") {
    REQUIRE(world.run_until("b", gang::kReasonPreempted, 1));
    world.requeue_request("b", true);
  }
  SECTION("a job") {
    world.remove("new");
    world.add("new", "vision", 1, 8);
    REQUIRE(world.run_until("a", gang::kReasonPreempted));
    world.requeue("a", true);
  }
  for (int i = 0; i < 3; ++i) {
    world.cycle();
    CHECK(world.base("new").reason == gang::kReasonPreempting);
    CHECK(world.victims("new").size() == 1);
  }
  world.terminating.clear();
  world.cycle();
  CHECK(world.base("new").planned);
  CHECK(world.base("b").reason == gang::kReasonPlanned);
}

TEST_CASE("nothing ends for a gang that gets what others are about to give back",
          "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  SECTION("pods that are being deleted") { world.requeue("old", true); }
  SECTION("a gang that was released") {
    world.base("old").reason = std::string(gang::kReasonPreempted);
    world.base("old").message = "preempted";
    world.base("old").since = world.now;
  }
  for (int i = 0; i < 3; ++i) {
    world.cycle();
    CHECK(world.base("new").victims.empty());
  }
  // They do not end in time.
  world.now += std::chrono::minutes(5);
  CHECK(world.run_until("new", gang::kReasonPreempting));
  CHECK(world.victims("new") == Names{"older/base"});
}

TEST_CASE("nothing is preempted while preempted gangs of several jobs are not requeued",
          "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  world.nodes.push_back(view(testing::a_node("n3", 8)));
  world.add_running("oldest", "speech", {"n3"}, 8);
  for (const char* name : {"old", "older"}) {
    world.base(name).reason = std::string(gang::kReasonPreempted);
    world.base(name).message = "preempted";
    world.base(name).since = world.now;
  }
  world.now += std::chrono::minutes(5);
  CHECK_FALSE(world.run_until("new", gang::kReasonPreempting));
  CHECK(world.base("new").message.find("nervex-operator") != std::string::npos);
  SECTION("one of them is") {
    world.grace_period = std::chrono::minutes(10);
    world.requeue("old", true);
  }
  SECTION("they have reasons of their own") { world.now += std::chrono::hours(1); }
  world.now += std::chrono::seconds(30);
  CHECK(world.run_until("new", gang::kReasonPreempting));
  CHECK(world.victims("new") == Names{"oldest/base"});
}

TEST_CASE("a preempted gang that is not requeued within 5 minutes is neglected, for an hour",
          "[extender][preempt]") {
  using Keys = std::set<std::string>;
  Preemptions world = a_full_cluster();
  world.base("old").since = world.now - std::chrono::minutes(10);  // it has run since then
  REQUIRE(world.run_until("old", gang::kReasonPreempted));
  CHECK(world.neglected.empty());
  world.now += std::chrono::minutes(4);
  world.cycle();
  CHECK(world.neglected.empty());
  world.now += std::chrono::minutes(1);
  world.cycle();
  CHECK(world.neglected == Keys{"rl/old"});
  SECTION("unless its pods end") { world.terminate("old"); }
  SECTION("unless it is requeued") { world.requeue("old"); }
  SECTION("then there is another reason") { world.now += std::chrono::hours(1); }
  world.cycle();
  CHECK(world.neglected.empty());
}

TEST_CASE("a pod with a long grace period is not about to be free until its last minutes",
          "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  world.grace_period = std::chrono::seconds(600);
  world.requeue("old", true);
  const bool is_over_soon = GENERATE(false, true);
  if (is_over_soon) world.now += std::chrono::seconds(301);
  for (int i = 0; i < 5; ++i) world.cycle();
  CHECK(world.victims("new") == (is_over_soon ? Names{} : Names{"older/base"}));
}

TEST_CASE("a pod of another namespace that names a PodGroup is none of its pods",
          "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  world.base("older").started_at = world.now;  // too young
  world.terminate("old");
  auto pod = std::make_shared<kube::Pod>(*world.terminating.at(0));
  pod->meta.ns = "other";
  pod->requests = {};
  pod->node = "";
  world.terminating = {pod};
  CHECK(world.run_until("new", gang::kReasonPreempting));
  CHECK(world.victims("new") == Names{"old/base"});
}

TEST_CASE("the end of a victim does not give back what its terminating pod gives back anyway",
          "[extender][preempt]") {
  Preemptions world;
  world.others = {{"n2", 8}};
  world.add_running("old", "speech", {"n1"}, 4);
  world.add_running("older", "speech", {"n1"}, 4);
  world.base("older").started_at = world.now;  // too young
  world.terminate("old");                      // evicted: its controller replaces the pod
  world.add("new", "vision", 1, 8);
  world.cycle();
  CHECK(world.base("new").victims.empty());
}

TEST_CASE("a small gang gets what the victims of another one leave", "[extender][preempt]") {
  Preemptions world = a_full_cluster();
  world.remove("new");
  world.add("new", "vision", 1, 4);
  world.queues.push_back(vision());
  world.queues.back().name = "third";
  world.add("second", "third", 1, 4);
  for (int i = 0; i < 5; ++i) world.cycle();
  REQUIRE(world.base("old").reason == gang::kReasonPreempted);
  CHECK(world.base("older").reason == gang::kReasonPlanned);
  CHECK(world.base("second").victims.empty());
  world.remove("old");
  world.cycle();
  world.cycle();
  CHECK(world.base("new").planned);
  CHECK(world.base("second").planned);
  CHECK(world.base("older").reason == gang::kReasonPlanned);
}

TEST_CASE("the use of a victim counts once while its pods end", "[extender][preempt]") {
  Preemptions world;
  world.queues = {vision(), with_quota(speech(), 8)};
  world.queues.push_back(vision());
  world.queues.back().name = "third";
  world.add_running("old", "speech", {"n1"}, 8);
  world.add_running("older", "speech", {"n2"}, 8);
  world.base("old").started_at = SysTime(std::chrono::seconds(2));
  world.add("new", "vision", 1, 8);
  world.add("second", "third", 1, 8);
  REQUIRE(world.run_until("old", gang::kReasonPreempted));
  world.requeue("old", true);
  for (int i = 0; i < 40; ++i) {
    world.cycle();
    // What is left is the quota of speech.
    CHECK(world.base("second").victims.empty());
    CHECK(world.base("older").reason == gang::kReasonPlanned);
  }
}

}  // namespace
}  // namespace nervex::planner
