// Reservations while writes fail, rules change and pods take long to end.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "planner/recovery/refusals.h"
#include "tests/planner/reservation/reservations.h"

namespace nervex::planner {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::Reservations;
using testing::with_a_head;
using testing::with_a_plan;
using testing::with_a_tenant;

// The head is due, and only the tenant is left on its nodes.
Reservations due_with_a_tenant() {
  Reservations world = with_a_tenant();
  world.now = *world.base("head").reservation->due;
  world.remove("long");
  return world;
}

// Two more nodes, whose pods are about to end.
void add_ending_nodes(Reservations& world) {
  for (const char* name : {"n3", "n4"}) {
    world.nodes.push_back(testing::view(testing::a_node(name, 8)));
    world.add_running(name, "", {name}, 8);
    world.terminate(name);
  }
}

// A cycle every 4 s until that time. All pods that are being deleted have 100 s left in each.
void run_while_pods_end(Reservations& world, SysTime until) {
  for (; world.now < until; world.now += seconds(4)) {
    for (const auto& pod : std::exchange(world.terminating, {})) {
      kube::Pod later = *pod;
      later.deletion_timestamp = world.now + seconds(100);
      world.terminating.push_back(std::make_shared<const kube::Pod>(later));
    }
    world.cycle();
  }
}

// One cycle, of which nothing is stored.
CycleResult decide(Reservations& world) {
  return run_cycle(world.snapshot(), std::move(world.state), world.now,
                   {{}, world.mode, world.reservation});
}

TEST_CASE("a head keeps its nodes while it is not known whether its status was stored",
          "[extender][reservation]") {
  Reservations world = with_a_head();
  world.unconfirmed = {"head"};
  world.remove("short");
  world.wait("other", 1, 8, 0);
  for (int i = 0; i < 30; ++i) {
    world.cycle();
    CHECK(world.placed("other") == "waits");
  }
  world.unconfirmed.clear();
  for (int i = 0; i < 90; ++i) world.cycle();
  CHECK(world.reserved("head") == "n1 n2");
  CHECK(world.placed("other") == "waits");
}

TEST_CASE("a gang that waits uses nothing of its queue while its status is unconfirmed",
          "[extender][reservation]") {
  Reservations world;
  world.queues = {testing::for_all(testing::with_limit(testing::a_queue("vision"), 8))};
  world.reservation.after = seconds(0);
  world.others = {{"n1", 8}, {"n2", 8}};
  world.wait("unknown", 1).spec.queue = "vision";
  world.cycle();
  world.unconfirmed = {"unknown"};
  world.wait("next", 1, 8, 0).spec.queue = "vision";
  world.others.clear();
  world.cycle();
  CHECK(world.placed("next") != "waits");
}

TEST_CASE("a reservation whose end cannot be stored does not lapse again at once",
          "[extender][reservation]") {
  Reservations world = with_a_head();
  world.base("head").refusals.plan_after = world.in(300);
  const CycleResult result = decide(world);
  REQUIRE(result.writes.size() == 1);
  REQUIRE_FALSE(result.writes[0].status.gangs[0].reservation);
  REQUIRE(result.look_again);
  CHECK(*result.look_again >= seconds(1));
}

TEST_CASE("no nodes are kept for a gang whose status the API server rejects",
          "[extender][reservation]") {
  Reservations world = with_a_head();
  world.remove("short");
  world.wait("other", 1, 8, 0);
  Rejection rejection;
  rejection.extent = Rejection::Extent::kAnyStatus;
  rejection.generation = world.get("head").meta.generation;
  world.state.rejections[world.get("head").meta.uid] = rejection;
  world.cycle();
  CHECK(world.placed("other") == "n1");
}

TEST_CASE("an overdue reservation needs no change of the cluster to lapse",
          "[extender][reservation]") {
  Reservations world = with_a_head();
  world.cycle();
  const SysTime over = *world.base("head").reservation->due + minutes(10);
  const CycleResult result = decide(world);
  REQUIRE(result.look_again);
  CHECK(world.now + *result.look_again <= over);
}

TEST_CASE("a head waits for the pods that it has reclaimed, an hour at most",
          "[extender][reservation]") {
  Reservations world = due_with_a_tenant();
  const SysTime due = world.now;
  const int grace = GENERATE(1'800, 36'000);
  CAPTURE(grace);
  world.grace_period = seconds(grace);
  REQUIRE(world.run_until("tenant", gang::kReasonPreempted));
  world.requeue("tenant", true);
  auto expired = expire_preemption(world.get("head"), gang::kBaseGang, true, world.now);
  REQUIRE(expired);
  world.get("head").status = *std::move(expired);
  world.now = due + minutes(29);
  world.cycle();
  CHECK(world.reserved("head") == "n1 n2");
  world.now = due + minutes(75);
  world.cycle();
  CHECK(world.reserved("head").empty());
}

TEST_CASE("nothing is reclaimed for a gang that its queue does not let start any more",
          "[extender][reservation]") {
  Reservations world = with_a_tenant();
  world.move_all_to("vision");
  world.queues.push_back(testing::for_all(testing::a_queue("speech")));
  world.remove("long");
  world.decide_and_write(1'000);
  REQUIRE(world.base("head").reason == gang::kReasonPreempting);
  SECTION("since it was stopped") { world.queue("vision").stop = queue::Queue::Stop::kHold; }
  SECTION("since its limit was lowered") {
    queue::Queue& queue = world.queue("vision");
    queue.limit = testing::with_limit(testing::a_queue("vision"), 12).limit;
  }
  SECTION("since the job was moved to another one") { world.get("head").spec.queue = "speech"; }
  for (int i = 0; i < 10; ++i) {
    world.cycle();
    CHECK(world.base("tenant").reason != gang::kReasonPreempted);
  }
  CHECK(world.base("head").victims.empty());
}

TEST_CASE("a head that is due reclaims although pods are always about to end elsewhere",
          "[extender][reservation]") {
  Reservations world = due_with_a_tenant();
  const SysTime due = world.now;
  add_ending_nodes(world);
  run_while_pods_end(world, due + seconds(50));
  CHECK(world.base("head").victims.empty());
  CHECK(world.reserved("head") == "n1 n2");
  run_while_pods_end(world, due + seconds(120));
  CHECK(world.base("tenant").reason == gang::kReasonPreempted);
}

TEST_CASE("pods of a lower priority that are nominated take nothing from a head",
          "[extender][reservation]") {
  Reservations world = with_a_head();
  world.wait("low", 1, 8, 0).spec.priority = -10;  // the last one that is served
  for (int i = 0; i < 3; ++i) {
    Snapshot seen = world.snapshot();
    seen.nominated = {{"n2", -5, testing::ask(8)}};
    CycleResult result =
        run_cycle(seen, std::move(world.state), world.now, {{}, world.mode, world.reservation});
    world.state = std::move(result.state);
    for (const StatusWrite& write : result.writes) {
      world.get(write.group->meta.name).status = write.status;
    }
    world.now += seconds(50);
  }
  CHECK(world.reserved("head") == "n1 n2");
}

TEST_CASE("an overdue reservation outlasts a moment in which nothing could be reclaimed",
          "[extender][reservation]") {
  Reservations world = with_a_tenant();
  world.get("head").spec.gangs[0].preempt_after = world.in(3'000);
  world.remove("long");
  const auto node = world.nodes[1];
  world.now = *world.base("head").reservation->due + minutes(11);
  world.cycle();
  REQUIRE(world.reserved("head") == "n1 n2");
  SECTION("as another job to be reclaimed was only planned") {
    world.wait("next", 1, 8, 0).spec.preemptible = true;
    world.cycle();
    REQUIRE(world.placed("next") != "waits");
  }
  SECTION("as one that is to be reclaimed heals") {
    world.base("tenant").healing_since = world.now;
  }
  SECTION("as a node was NotReady") {
    world.nodes[1] = testing::view(testing::not_ready(testing::a_node("n2", 8)));
  }
  world.cycle();
  world.nodes[1] = node;
  world.cycle();
  CHECK(world.reserved("head") == "n1 n2");
}

TEST_CASE("a job that its queue serves after a head gets none of its nodes by its priority",
          "[extender][reservation]") {
  Reservations world = with_a_head();
  world.move_all_to("vision");
  SECTION("in an order by age") { world.queue("vision").order = queue::Queue::Order::kFifo; }
  SECTION("in turns of users") { world.queue("vision").fair_users = true; }
  world.cycle();
  REQUIRE(world.reserved("head") == "n1 n2");
  world.remove("short");
  gang::PodGroup& other = world.wait("other", 1, 8, 0);
  other.spec.queue = "vision";
  if (!world.queue("vision").fair_users) other.spec.priority = 10;
  world.unconfirmed = {"head"};
  for (int i = 0; i < 5; ++i) {
    world.cycle();
    CHECK(world.placed("other") == "waits");
  }
}

TEST_CASE("nodes that were open while a head might not reclaim are closed before it does",
          "[extender][reservation]") {
  Reservations world = due_with_a_tenant();
  world.get("head").spec.gangs[0].preempt_after = world.in(100);
  world.cycle();
  world.now = *world.get("head").spec.gangs[0].preempt_after;
  world.wait("next", 1, 8, 0).spec.preemptible = true;  // comes as the pause ends
  for (int i = 0; i < 3; ++i) world.cycle();
  CHECK_FALSE(world.base("head").victims.empty());
  CHECK(world.placed("next") == "waits");
}

TEST_CASE("a reservation that was not stored is made again at once", "[extender][reservation]") {
  Reservations world = with_a_head();
  world.base("head").reservation.reset();
  world.state = {};
  CycleResult lost = decide(world);
  REQUIRE(lost.writes.size() == 1);
  REQUIRE(lost.writes[0].status.gangs[0].reservation);
  world.state = std::move(lost.state);
  for (int i = 0; i < 3; ++i) {
    world.now += seconds(1);
    world.cycle();
  }
  CHECK(world.reserved("head") == "n1 n2");
}

TEST_CASE("a reclaim that was not stored is decided again at once", "[extender][reservation]") {
  Reservations world = due_with_a_tenant();
  CycleResult lost;
  for (int i = 0; i < 5 && lost.writes.empty(); ++i) {
    lost = decide(world);
    world.state = std::move(lost.state);
    world.now += seconds(1);
  }
  REQUIRE_FALSE(lost.writes.empty());
  for (int i = 0; i < 3; ++i) world.cycle();
  CHECK_FALSE(world.base("head").victims.empty());
}

TEST_CASE("a head without a due time reclaims although pods are always about to end elsewhere",
          "[extender][reservation]") {
  Reservations world = due_with_a_tenant();
  world.base("head").reservation->due.reset();
  add_ending_nodes(world);
  run_while_pods_end(world, world.now + seconds(100));
  CHECK_FALSE(world.base("head").victims.empty());
}

TEST_CASE(
    "a reservation that cannot be kept asks for no cycle after another while its status is "
    "unconfirmed",
    "[extender][reservation]") {
  Reservations world = with_a_head();
  world.nodes[1] = testing::view(testing::cordoned(testing::a_node("n2", 8)));
  world.cycle();
  world.unconfirmed = {"head"};
  world.now += seconds(100);
  CycleResult result = decide(world);
  CHECK((!result.look_again || *result.look_again >= seconds(1)));
}

TEST_CASE("a head keeps its nodes while it may use none for a moment", "[extender][reservation]") {
  Reservations world = with_a_head();
  const auto nodes = world.nodes;
  for (auto& node : world.nodes) {
    node = testing::view(testing::not_ready(*node.node));
  }
  world.cycle();
  CHECK(world.reserved("head") == "n1 n2");
  SECTION("not for long") {
    world.now += seconds(61);
    world.cycle();
    CHECK(world.reserved("head").empty());
  }
  SECTION("and they come back") {
    world.nodes = nodes;
    world.cycle();
    CHECK(world.reserved("head") == "n1 n2");
  }
}

TEST_CASE("a plan on reserved nodes is judged again when it would end too late",
          "[extender][reservation]") {
  Reservations world = with_a_plan(930);
  REQUIRE(world.placed("other") == "n1");
  const SysTime late = *world.base("head").reservation->due - seconds(930);
  world.now = late - seconds(10);
  const CycleResult result = decide(world);
  REQUIRE(result.look_again);
  CHECK(*result.look_again <= seconds(11));
}

}  // namespace
}  // namespace nervex::planner
