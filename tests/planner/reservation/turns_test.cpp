// Reservations and quotas together: do two jobs end each other in turn?
#include <catch2/catch_test_macros.hpp>

#include <map>
#include <string>
#include <vector>

#include "tests/planner/reservation/reservations.h"

namespace nervex::planner {
namespace {

using std::chrono::seconds;
using testing::Reservations;

// Queue "vision" reclaims 8 GPUs of quota from any other, "speech" borrows. Both have a job that is
// preemptible; that of vision was queued later, and has the only node.
struct TwoQueues : Reservations {
  TwoQueues() {
    queues = {testing::vision(), testing::speech()};
    nodes.resize(1);
    add_running("quota", "vision", {"n1"}, 8);
    get("quota").spec.preemptible = true;
    get("quota").spec.queued_since = now;
    wait("head", 1).spec.queue = "speech";
    get("head").spec.preemptible = true;
  }
  // How many jobs have ended for another one, with the controller's part, in so many seconds.
  int run(int time) {
    int ended = 0;
    for (int i = 0; i < time; ++i) {
      cycle();
      std::vector<std::string> preempted;
      for (gang::PodGroup& group : groups) {
        if (group.status.gangs.empty()) continue;
        gang::GangStatus& base = group.status.gangs[0];
        if (base.reason == gang::kReasonPreempted) preempted.push_back(group.meta.name);
        if (!base.planned || base.committed) continue;
        base.committed = true;
        base.started_at = now;
      }
      for (const std::string& name : preempted) requeue(name);
      ended += static_cast<int>(preempted.size());
    }
    return ended;
  }
};

TEST_CASE("a job that may reclaim the nodes for its quota is not reclaimed for a reservation",
          "[extender][reservation]") {
  TwoQueues world;
  world.mode = queue::PreemptionMode::kReclaim;
  CHECK(world.run(3'000) == 0);
  CHECK(world.base("quota").committed);
}

TEST_CASE("a job of a queue that reclaims nothing is reclaimed for a reservation once",
          "[extender][reservation]") {
  TwoQueues world;
  SECTION("the flag is off") {}
  SECTION("the queue reclaims from lower priorities alone") {
    world.mode = queue::PreemptionMode::kReclaim;
    world.queue("vision").reclaim = queue::Queue::Reclaim::kLowerPriority;
  }
  CHECK(world.run(3'000) == 1);
  CHECK(world.base("head").committed);
}

TEST_CASE("within a queue that reclaims, jobs are reclaimed for a reservation",
          "[extender][reservation]") {
  TwoQueues world;
  world.mode = queue::PreemptionMode::kReclaim;
  world.get("head").spec.queue = "vision";
  CHECK(world.run(3'000) == 1);
  CHECK(world.base("head").committed);
}

// "low" runs on n1 for 1,500 s. "head" of another queue waits for the node.
Reservations with_a_low_priority() {
  Reservations world;
  world.mode = queue::PreemptionMode::kFull;
  world.queues = {testing::for_all(testing::a_queue("plain")), testing::speech()};
  world.queue("speech").min_runtime_seconds = 0;
  world.nodes.resize(1);
  world.run_for("low", {"n1"}, 1'500);
  world.get("low").spec.queue = world.get("low").status.queue.name = "speech";
  world.wait("head", 1).spec.queue = "plain";
  return world;
}
// "high" would preempt "low".
void add_a_high_priority(Reservations& world) {
  gang::PodGroup& high = world.wait("high", 1, 8, 0);
  high.spec.queue = "speech";
  high.spec.priority = 1;
}
// The same when "head" has reserved the node.
Reservations behind_a_low_priority() {
  Reservations world = with_a_low_priority();
  world.cycle();
  add_a_high_priority(world);
  return world;
}

TEST_CASE("no gang preempts on nodes that are reserved in the same cycle",
          "[extender][reservation]") {
  Reservations world = with_a_low_priority();
  add_a_high_priority(world);
  world.cycle();
  REQUIRE(world.reserved("head") == "n1");
  CHECK(world.base("high").victims.empty());
}

TEST_CASE(
    "a gang preempts on reserved nodes only if it ends in time also when its victims are slow",
    "[extender][reservation]") {
  Reservations world = behind_a_low_priority();
  REQUIRE(world.reserved("head") == "n1");
  std::vector<std::string> want;
  SECTION("it does") {
    world.limit("high", 850);
    want = {"low/base"};
  }
  SECTION("it would end too late") { world.limit("high", 950); }
  SECTION("it would be reclaimed") { world.get("high").spec.preemptible = true; }
  for (int i = 0; i < 3; ++i) world.cycle();
  CHECK(world.victims("high") == want);
  CHECK(world.reserved("head") == "n1");
}

TEST_CASE("a reservation outlasts a gang that preempts on its nodes and ends in time",
          "[extender][reservation]") {
  Reservations world = behind_a_low_priority();
  world.limit("high", 600);
  world.grace_period = seconds(400);
  REQUIRE(world.run_until("low", gang::kReasonPreempted));
  world.requeue("low", true);
  for (int i = 0; i < 200; ++i) world.cycle();
  REQUIRE(world.base("high").reason == gang::kReasonPreempting);
  CHECK(world.reserved("head") == "n1");
}

}  // namespace
}  // namespace nervex::planner
