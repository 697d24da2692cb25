#include "planner/reservation/reserve.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "planner/recovery/refusals.h"
#include "tests/planner/reservation/reservations.h"

namespace nervex::planner {
namespace {

using std::chrono::seconds;
using testing::a_node;
using testing::Reservations;
using testing::view;
using testing::with_a_head;
using testing::with_a_plan;
using testing::with_a_tenant;

TEST_CASE("a gang that has waited long reserves the nodes that it gets first",
          "[extender][reservation]") {
  Reservations world;
  world.nodes.push_back(view(a_node("n3", 8)));
  const SysTime now = world.now;
  SECTION("with the latest end of what it waits for") {
    world.run_for("a", {"n1"}, 900);
    world.run_for("b", {"n2"}, 100);
    world.run_for("c", {"n3"}, 500);
    world.wait("head", 2);
    world.cycle();
    CHECK(world.reserved("head") == "n2 n3");
    CHECK(world.base("head").reservation->since == now);
    CHECK(world.base("head").reservation->due == now + seconds(500));
    CHECK_FALSE(world.base("head").planned);
  }
  SECTION("rather behind what has a bound, without one the shortest run") {
    world.add_running("a", "", {"n1"}, 8);
    world.add_running("b", "", {"n2"}, 8);
    world.base("b").started_at = SysTime(seconds(2));
    world.run_for("c", {"n3"}, 500);
    world.wait("head", 2);
    world.cycle();
    CHECK(world.reserved("head") == "n2 n3");
    CHECK_FALSE(world.base("head").reservation->due.has_value());
  }
  SECTION("without waiting for pods that take hours to end") {
    world.grace_period = seconds(36'000);
    world.run_for("a", {"n1"}, 100, 6);
    world.run_for("ended", {"n1"}, 100, 2);
    world.terminate("ended");
    world.remove("ended");
    world.others = {{"n2", 8}, {"n3", 8}};
    world.wait("head", 1, 6);
    world.cycle();
    CHECK(world.reserved("head") == "n1");
    CHECK(world.base("head").reservation->due == now + seconds(100));
  }
  SECTION("first those that it can reclaim") {
    world.run_for("a", {"n1"}, 900);
    world.run_for("b", {"n2"}, 100);
    world.run_for("c", {"n3"}, 500);
    world.get("c").spec.preemptible = true;
    world.get("c").spec.queued_since = now;
    world.wait("head", 2);
    world.cycle();
    CHECK(world.reserved("head") == "n2 n3");
    CHECK(world.base("head").reservation->due == now + seconds(100));
  }
}

TEST_CASE("a pod that takes hours to end gives the head nothing", "[extender][reservation]") {
  Reservations world;
  world.grace_period = seconds(36'000);
  world.others = {{"n2", 8}};
  world.run_for("a", {"n1"}, 100, 2);
  world.run_for("ended", {"n1"}, 100, 2);
  world.terminate("ended");
  world.remove("ended");
  world.wait("head", 1, 6);
  world.cycle();
  REQUIRE(world.reserved("head") == "n1");
  SECTION("so jobs without a limit do not start on what is free") {
    world.wait("endless", 1, 2, 0);
    world.cycle();
    CHECK(world.placed("endless") == "waits");
  }
  SECTION("so it reclaims what it needs") {
    world.wait("tenant", 1, 2, 0).spec.preemptible = true;
    world.cycle();
    REQUIRE(world.placed("tenant") == "n1");
    world.commit("tenant");
    world.remove("a");
    CHECK(world.run_until("tenant", gang::kReasonPreempted));
  }
}

TEST_CASE("a gang that is due searches before gangs that found nothing",
          "[extender][reservation]") {
  Reservations world;
  world.run_for("a", {"n1"}, 10'000);
  world.others = {{"n2", 8}};
  for (int i = 0; i < 40; ++i) world.wait("hopeless" + std::to_string(i), 2);
  for (int i = 0; i < 60; ++i) world.cycle();
  world.wait("urgent", 1).spec.priority = 1;
  for (int i = 0; i < 2; ++i) world.cycle();
  CHECK(world.reserved("urgent") == "n1");
}

TEST_CASE("no nodes are reserved", "[extender][reservation]") {
  Reservations world;
  world.run_for("a", {"n1"}, 900);
  world.run_for("b", {"n2"}, 900);
  SECTION("before the gang has waited long enough") {
    world.wait("head", 2, 8, 299);
    world.cycle();
    CHECK(world.reserved("head").empty());
    world.cycle();
    CHECK(world.reserved("head") == "n1 n2");
  }
  SECTION("without the flag") {
    world.reservation.after = seconds(0);
    world.wait("head", 2);
    world.cycle();
    CHECK(world.reserved("head").empty());
  }
  SECTION("for a gang that an empty cluster could not hold") {
    world.wait("head", 3);
    world.cycle();
    CHECK(world.reserved("head").empty());
  }
  SECTION("for a gang that pods of others keep from starting") {
    world.remove("b");
    world.others = {{"n2", 4}};
    world.wait("head", 2);
    world.cycle();
    CHECK(world.reserved("head").empty());
  }
}

TEST_CASE("what starts on reserved nodes", "[extender][reservation]") {
  Reservations world = with_a_head();
  REQUIRE(world.reserved("head") == "n1 n2");
  world.remove("short");
  gang::PodGroup& other = world.wait("other", 1, 8, 0);
  std::string want = "waits";
  SECTION("not a gang without a bound") {}
  SECTION("not one that ends too late") { world.limit("other", 1'000); }
  SECTION("one that ends in time") {
    world.limit("other", 900);
    want = "n1";
  }
  SECTION("one that can be reclaimed") {
    other.spec.preemptible = true;
    want = "n1";
  }
  SECTION("one that is served earlier") {
    other.spec.priority = 1;
    want = "n1";
  }
  SECTION("any, without the reservation") {
    world.base("head").reservation.reset();
    world.base("head").reserve_after = world.in(100);
    want = "n1";
  }
  world.cycle();
  CHECK(world.placed("other") == want);
  CHECK(world.placed("head") == "waits");
}

TEST_CASE("more of a node than is reserved is free for all", "[extender][reservation]") {
  Reservations world;
  world.run_for("a", {"n1"}, 100, 4);
  world.others = {{"n2", 8}};
  world.wait("head", 1, 6);  // 4 are free, 2 more when "a" has ended
  world.cycle();
  REQUIRE(world.reserved("head") == "n1");
  world.wait("small", 1, 2, 0);
  world.wait("large", 1, 4, 0);
  world.cycle();
  CHECK(world.placed("small") == "n1");
  CHECK(world.placed("large") == "waits");
  world.commit("small");
  world.remove("a");
  world.cycle();
  CHECK(world.placed("head") == "n1");
}

// A resource that each node has one of, whatever its size.
void want_alone(gang::PodGroup& group, const std::string& resource) {
  group.spec.gangs[0].members[0].shape.requests.set(resource, 1);
}
std::string any_implicit() {
  return GENERATE(kube::host_port("TCP", 8'080),
                  std::string("podAntiAffinity:kubernetes.io/hostname#1"),
                  std::string("podAntiAffinity:zone#1"));
}

TEST_CASE("a host port and a node of its own are kept for the head like resources",
          "[extender][reservation]") {
  Reservations world;
  for (auto& node : world.nodes)
    node = view(testing::labelled(*node.node, "zone", node.node->name));
  const std::string resource = any_implicit();
  INFO("the head needs " << resource);
  world.run_for("long", {"n1"}, 1'000, 4);
  world.others = {{"n2", 8}};
  want_alone(world.wait("head", 1, 6), resource);
  world.cycle();
  REQUIRE(world.reserved("head") == "n1");
  gang::PodGroup& small = world.wait("small", 1, 1, 0);
  std::string want = "waits";
  SECTION("from a gang without a bound") { want_alone(small, resource); }
  SECTION("not from a gang that ends in time") {
    want_alone(small, resource);
    world.limit("small", 900);
    want = "n1";
  }
  SECTION("not from a gang that can be reclaimed") {
    want_alone(small, resource);
    small.spec.preemptible = true;
    want = "n1";
  }
  SECTION("a gang without it starts on what is left") { want = "n1"; }
  world.cycle();
  CHECK(world.placed("small") == want);
  CHECK(world.reserved("head") == "n1");
}

TEST_CASE("a head waits for the tenant that has its host port or its node",
          "[extender][reservation]") {
  Reservations world;
  const std::string resource = any_implicit();
  INFO("the head needs " << resource);
  world.nodes.pop_back();
  world.run_for("holder", {"n1"}, 1'000, 1);
  want_alone(world.get("holder"), resource);
  SECTION("until it ends, while others use the rest of the node") {
    want_alone(world.wait("head", 1, 6), resource);
    world.cycle();
    REQUIRE(world.reserved("head") == "n1");
    CHECK(world.base("head").reservation->due == world.in(999));
    world.wait("other", 1, 6, 0);
    world.limit("other", 800);
    world.cycle();
    CHECK(world.placed("other") == "n1");
    world.remove("other");
    world.remove("holder");
    world.cycle();
    CHECK(world.placed("head") == "n1");
  }
  SECTION("and reclaims it") {
    world.get("holder").spec.preemptible = true;
    world.get("holder").spec.queued_since = world.now;
    want_alone(world.wait("head", 1, 6), resource);
    world.cycle();
    REQUIRE(world.reserved("head") == "n1");
    CHECK(world.run_until("holder", gang::kReasonPreempted));
  }
}

TEST_CASE("others use reserved nodes while a pod nearby keeps the head apart",
          "[extender][reservation]") {
  Reservations world;
  const std::string zone = "podAntiAffinity:zone#1";
  for (auto& node : world.nodes) node = view(testing::labelled(*node.node, "zone", "z"));
  world.run_for("holder", {"n1"}, 1'000, 4);
  world.others = {{"n1", 4}};
  want_alone(world.get("holder"), zone);
  want_alone(world.wait("head", 1, 8), zone);
  world.cycle();
  REQUIRE(world.reserved("head") == "n2");
  CHECK(world.base("head").reservation->due == world.in(999));
  world.wait("other", 1, 8, 0);
  world.limit("other", 800);
  world.cycle();
  CHECK(world.placed("other") == "n2");
}

TEST_CASE("a head keeps what is free beside work without a bound", "[extender][reservation]") {
  Reservations world;
  world.add_running("endless", "", {"n1"}, 4);
  world.add_running("other", "", {"n2"}, 4);
  world.base("other").started_at = SysTime(seconds(2));
  world.others = {{"n2", 4}};
  world.wait("head", 2, 4);
  world.cycle();
  REQUIRE(world.reserved("head") == "n1 n2");
  world.wait("small", 1, 4, 0);
  world.cycle();
  CHECK(world.placed("small") == "waits");
  world.remove("other");
  world.cycle();
  CHECK(world.placed("head") == "n1 n2");
}

TEST_CASE("the flag set back to off reclaims nothing", "[extender][reservation]") {
  Reservations world = with_a_tenant();
  world.remove("long");
  REQUIRE(world.run_until("head", gang::kReasonPreempting));
  world.reservation.after = seconds(0);
  for (int i = 0; i < 5; ++i) world.cycle();
  CHECK(world.base("tenant").reason == gang::kReasonPlanned);
  CHECK(world.base("head").victims.empty());
}

TEST_CASE("a head starts when its nodes are free, or others are", "[extender][reservation]") {
  Reservations world = with_a_head();
  SECTION("its own") {
    world.remove("short");
    world.remove("long");
    world.cycle();
    CHECK(world.placed("head") == "n1 n2");
  }
  SECTION("others") {
    world.nodes.push_back(view(a_node("n3", 8)));
    world.remove("short");
    world.cycle();
    CHECK(world.placed("head") == "n1 n3");
  }
  CHECK_FALSE(world.base("head").reservation.has_value());
}

TEST_CASE("a head reclaims its nodes when all the others there have ended",
          "[extender][reservation]") {
  Reservations world = with_a_tenant();
  for (int i = 0; i < 5; ++i) world.cycle();
  CHECK(world.base("head").victims.empty());  // "long" runs
  world.remove("long");
  REQUIRE(world.run_until("head", gang::kReasonPreempting));
  CHECK(world.victims("head") == std::vector<std::string>{"tenant/base"});
  CHECK(world.base("head").victims[0].is_for_reservation);
  REQUIRE(world.run_until("tenant", gang::kReasonPreempted));
  world.requeue("tenant");
  REQUIRE(world.run_until("head", gang::kReasonPlanned));
  for (int i = 0; i < 50; ++i) world.cycle();
  CHECK(world.placed("head") == "n1 n2");
  CHECK(world.placed("tenant-again") == "waits");
}

TEST_CASE("a head does not wait until what it would reclaim has started",
          "[extender][reservation]") {
  Reservations world = with_a_head();
  world.remove("short");
  world.wait("tenant", 1, 8, 0).spec.preemptible = true;
  world.cycle();
  REQUIRE(world.placed("tenant") == "n1");
  world.cycle();
  CHECK(world.placed("tenant") == "n1");  // "long" runs
  world.remove("long");
  world.cycle();
  CHECK(world.placed("head") == "n1 n2");
  CHECK(world.placed("tenant") == "waits");
}

// All that runs is of queue "large", and so is "head", which has reserved n1 and n2. Queue "small"
// uses nothing.
Reservations with_a_head_of_a_large_queue() {
  Reservations world;
  world.queues = {testing::for_all(testing::a_queue("large")),
                  testing::for_all(testing::a_queue("small"))};
  world.nodes.push_back(view(a_node("n3", 8)));
  world.run_for("short", {"n1"}, 100);
  world.run_for("long", {"n2"}, 1'000);
  world.run_for("other", {"n3"}, 5'000);
  for (const char* name : {"short", "long", "other"}) {
    world.get(name).spec.queue = world.get(name).status.queue.name = "large";
  }
  world.wait("head", 2).spec.queue = "large";
  world.cycle();
  REQUIRE(world.reserved("head") == "n1 n2");
  return world;
}

TEST_CASE("a queue with a smaller share starts nothing that the head would reclaim at once",
          "[extender][reservation]") {
  Reservations world = with_a_head_of_a_large_queue();
  world.remove("short");
  world.remove("long");
  gang::PodGroup& fair = world.wait("fair", 1, 8, 0);
  fair.spec.queue = "small";
  SECTION("a preemptible job") {
    fair.spec.preemptible = true;
    world.cycle();
    CHECK(world.placed("head") == "n1 n2");
    CHECK(world.placed("fair") == "waits");
  }
  SECTION("others start, since shares are kept") {
    world.cycle();
    CHECK(world.placed("fair") == "n1");
  }
}

TEST_CASE("nothing more starts where a head reclaims its nodes next", "[extender][reservation]") {
  Reservations world = with_a_tenant();
  world.remove("long");
  world.wait("another", 1, 8, 0).spec.preemptible = true;
  SECTION("at once") {
    world.cycle();
    CHECK(world.placed("another") == "waits");
    CHECK(world.victims("head") == std::vector<std::string>{"tenant/base"});
  }
  SECTION("not while it may not, since its last start failed") {
    world.get("head").spec.gangs[0].preempt_after = world.in(3'600);
    world.cycle();
    CHECK(world.placed("another") == "n2");
    CHECK(world.reserved("head") == "n1 n2");
  }
  SECTION("not while it may not, for another reason") {
    using Outcome = gang::PreemptionOutcome;
    const Outcome why = GENERATE(Outcome::kRateLimited, Outcome::kControllerAway);
    const GangKey head{world.get("head").meta.uid, gang::kBaseGang};
    world.state.reservation.reclaims[head] = {world.in(30), why};
    world.cycle();
    CHECK(world.placed("another") == "n2");
    CHECK(world.reserved("head") == "n1 n2");
  }
}

TEST_CASE("a head whose freed node goes to another scheduler does not end others at once",
          "[extender][reservation]") {
  Reservations world = with_a_tenant();
  world.remove("long");
  REQUIRE(world.run_until("tenant", gang::kReasonPreempted));
  world.requeue("tenant");
  world.others = {{"n1", 8}};
  for (int i = 0; i < 60; ++i) {
    world.cycle();
    CHECK(world.base("head").victims.empty());
    CHECK(world.reserved("head") == "n1 n2");
  }
  world.now += seconds(1);
  world.cycle();
  CHECK(world.reserved("head").empty());
  CHECK(world.base("head").reserve_after.has_value());
}

TEST_CASE("nodes stay reserved when a gang that reclaims has waited for its victims in vain",
          "[extender][reservation]") {
  Reservations world = with_a_tenant();
  world.remove("long");
  REQUIRE(world.run_until("tenant", gang::kReasonPreempted));
  auto expired = expire_preemption(world.get("head"), gang::kBaseGang, true, world.now);
  REQUIRE(expired);
  world.get("head").status = *std::move(expired);
  world.wait("small", 1, 8, 0);
  for (int i = 0; i < 20; ++i) {
    world.cycle();
    CHECK(world.reserved("head") == "n1 n2");
    CHECK(world.placed("small") == "waits");
  }
}

TEST_CASE("what a gang reserves for its requests counts when its reclaim expires",
          "[extender][reservation]") {
  Reservations world = with_a_tenant();
  world.remove("long");
  REQUIRE(world.run_until("head", gang::kReasonPreempting));
  world.base("head").reserved = {{"learner", "n1", 1}};
  const auto expired = expire_preemption(world.get("head"), gang::kBaseGang, true, world.now);
  REQUIRE(expired);
  int pods = 0;
  for (const auto& one : expired->gangs[0].reservation->nodes) pods += one.count;
  CHECK(pods == 3);
}

TEST_CASE("a reservation lapses if all that can be reclaimed is not enough",
          "[extender][reservation]") {
  Reservations world = with_a_head();
  for (const char* name : {"head", "port"}) {
    if (world.find(name) == nullptr) world.wait(name, 1, 4, 0);
    world.get(name).spec.gangs[0].members[0].shape.requests.set(kube::host_port("TCP", 8'080), 1);
  }
  world.get("head").spec.gangs[0].members[0].shape.requests.set(testing::kGpu, 4);
  ++world.get("head").meta.generation;
  world.remove("short");
  world.get("port").spec.priority = 1;  // so it is served before the head
  world.wait("tenant", 1, 4, 0).spec.preemptible = true;
  world.cycle();
  REQUIRE(world.placed("port") == "n1");  // on the half that the head does not need
  REQUIRE(world.placed("tenant") == "n1");
  world.commit("port");
  world.commit("tenant");
  world.remove("long");
  REQUIRE(world.base("head").reservation->due);
  for (int i = 0; i < 20; ++i) {
    world.now += seconds(98);
    world.cycle();
    world.cycle();
  }
  CHECK(world.base("head").victims.empty());
  CHECK_FALSE(world.base("head").reservation->due);  // it waits for "port" now
}

TEST_CASE("a head that may not reclaim yet keeps its nodes and says why",
          "[extender][reservation]") {
  Reservations world = with_a_tenant();
  world.get("head").spec.gangs[0].preempt_after = world.in(1'800);
  world.remove("long");
  for (int i = 0; i < 17; ++i) {
    world.now += seconds(99);
    world.cycle();
  }
  CHECK(world.reserved("head") == "n1 n2");
  CHECK(world.base("head").message.find("it preempts nothing for now") != std::string::npos);
  world.now += seconds(200);
  CHECK(world.run_until("head", gang::kReasonPreempting));
}

TEST_CASE("nodes that are idle stay reserved when a reclaim stops", "[extender][reservation]") {
  Reservations world = with_a_head();
  world.remove("short");
  world.wait("other", 1, 8, 0).spec.preemptible = true;
  world.cycle();
  world.commit("other");
  world.remove("long");
  REQUIRE(world.run_until("head", gang::kReasonPreempting));
  REQUIRE(world.reserved("head").empty());  // its placements name them
  world.wait("small", 1, 8, 0);
  const auto node = world.nodes[0];
  SECTION("because a victim may not end any more") { world.get("other").spec.preemptible = false; }
  SECTION("because a node is cordoned") {
    world.nodes[0] = view(testing::cordoned(a_node("n1", 8)));
  }
  SECTION("because the controller is away") {
    for (const char* name : {"marked", "marked2"}) {
      world.nodes.push_back(view(a_node(name, 8)));
      world.add_running(name, "", {name}, 8);
      world.base(name).reason = gang::kReasonPreempted;
      world.base(name).message = "preempted";
      world.base(name).since = world.now - seconds(400);
    }
  }
  SECTION("also if another leader stops it") {
    world.get("other").spec.preemptible = false;
    world.state = {};
  }
  world.cycle();
  CHECK(world.base("head").victims.empty());
  CHECK(world.reserved("head") == "n1 n2");
  CHECK(world.placed("small") == "waits");
  // It reclaims again after a pause, if it may.
  world.nodes[0] = node;
  world.get("other").spec.preemptible = true;
  for (const char* name : {"marked", "marked2"}) {
    if (world.find(name) == nullptr) continue;
    world.remove(name);
    world.others.emplace_back(name, 8);
  }
  for (int i = 0; i < 29; ++i) {
    world.cycle();
    CHECK(world.base("head").victims.empty());
  }
  REQUIRE(world.run_until("other", gang::kReasonPreempted));
  world.requeue("other");
  REQUIRE(world.run_until("head", gang::kReasonPlanned));
}

TEST_CASE("a head that reclaims counts as one that has nodes reserved", "[extender][reservation]") {
  Reservations world = with_a_head();
  world.reservation.most = 1;
  world.remove("short");
  world.wait("other", 1, 8, 0).spec.preemptible = true;
  world.cycle();
  world.commit("other");
  world.remove("long");
  REQUIRE(world.run_until("head", gang::kReasonPreempting));
  world.nodes.push_back(view(a_node("n3", 8)));
  world.run_for("third", {"n3"}, 100);
  world.wait("second", 1);
  for (int i = 0; i < 5; ++i) world.cycle();
  CHECK(world.reserved("second").empty());
}

TEST_CASE("a job that comes to be served before the head keeps its nodes",
          "[extender][reservation]") {
  Reservations world = with_a_head();
  world.remove("short");
  world.wait("other", 1, 8, 0).spec.preemptible = true;
  world.cycle();
  world.commit("other");
  world.get("other").spec.priority = 1;
  world.remove("long");
  for (int i = 0; i < 60; ++i) {
    world.cycle();
    CHECK(world.base("head").victims.empty());
  }
  world.now += seconds(1);
  world.cycle();
  CHECK(world.reserved("head").empty());
}

TEST_CASE("a request does not reclaim what its own job uses", "[extender][reservation]") {
  Reservations world;
  world.run_for("job", {"n1"}, 100);
  world.get("job").spec.preemptible = true;
  world.others = {{"n2", 8}};
  testing::add_member(world.get("job"),
                      testing::in_request(testing::a_set("collector", 1, testing::ask(8)), 1));
  world.cycle();
  CHECK_FALSE(world.request("job").planned);
  CHECK_FALSE(world.request("job").reservation.has_value());
}

// "long" runs for 1,000 s; "job", whose pods end within 30 s after its limit, waits for a request.
Reservations with_a_request_of_a_job(int time) {
  Reservations world;
  world.run_for("long", {"n1"}, 1'000);
  world.run_for("job", {"n2"}, time);
  testing::add_member(world.get("job"),
                      testing::in_request(testing::a_set("collector", 1, testing::ask(8)), 1));
  world.cycle();
  return world;
}

TEST_CASE("a request reserves no nodes that are free when its job has ended, or is about to",
          "[extender][reservation]") {
  SECTION("long after its job") {
    Reservations world = with_a_request_of_a_job(100);
    CHECK_FALSE(world.request("job").reservation);
  }
  SECTION("a moment before") {
    Reservations world = with_a_request_of_a_job(1'000 + 30 + 299);
    CHECK_FALSE(world.request("job").reservation);
  }
  SECTION("while its job has use for them") {
    Reservations world = with_a_request_of_a_job(1'000 + 30 + 300);
    CHECK(world.request("job").reservation);
    SECTION("until its limit is lowered") {
      world.get("job").spec.active_deadline_seconds = 500;
      world.cycle();
      CHECK_FALSE(world.request("job").reservation);
    }
  }
}

TEST_CASE("a request gives its nodes back before its job ends", "[extender][reservation]") {
  Reservations world = with_a_request_of_a_job(1'400);  // it is stopped 30 s before
  REQUIRE(world.request("job").reservation);
  world.now = *world.request("job").reservation->due + seconds(70);
  world.cycle();
  CHECK(world.request("job").reservation);  // 5 minutes are left
  world.cycle();
  CHECK_FALSE(world.request("job").reservation);
}

TEST_CASE("a deadline that was raised does not delay a head", "[extender][reservation]") {
  Reservations world = with_a_head();
  world.get("long").spec.active_deadline_seconds = 100'000;
  world.remove("short");
  world.cycle();
  REQUIRE(world.run_until("head", gang::kReasonPreempting));
  CHECK(world.victims("head") == std::vector<std::string>{"long/base"});
  CHECK(world.run_until("long", gang::kReasonPreempted));
}

TEST_CASE("a deadline that was raised before gives a head no right to its nodes",
          "[extender][reservation]") {
  Reservations world;
  world.run_for("raised", {"n1"}, 100, 4);
  world.get("raised").spec.active_deadline_seconds = 100'000;
  world.run_for("long", {"n2"}, 1'000, 4);
  world.others = {{"n2", 4}};
  world.wait("head", 2, 4);
  world.cycle();
  REQUIRE(world.reserved("head") == "n1 n2");
  world.wait("urgent", 1, 4).spec.priority = 1;
  world.cycle();
  world.commit("urgent");
  REQUIRE(world.placed("urgent") == "n1");
  world.remove("long");
  for (int i = 0; i < 50; ++i) world.cycle();
  CHECK(world.base("head").victims.empty());
  CHECK(world.base("raised").reason == gang::kReasonPlanned);
}

TEST_CASE("how long a job may run is noted until it starts", "[extender][reservation]") {
  Reservations world;
  world.wait("job", 1, 8, 0);
  world.limit("job", 100);
  world.cycle();
  world.limit("job", 200);
  world.cycle();
  CHECK(world.base("job").planned_run_seconds == 200);
  world.commit("job");
  world.limit("job", 300);
  world.cycle();
  CHECK(world.base("job").planned_run_seconds == 200);
}

TEST_CASE("whom a head counts on is known after a change of leader", "[extender][reservation]") {
  Reservations world = with_a_head();
  CHECK(world.base("head").reservation->counts_on ==
        std::vector<std::string>{world.get("long").meta.uid, world.get("short").meta.uid});
  world.base("long").planned_run_seconds.reset();
  world.get("long").spec.active_deadline_seconds = 100'000;
  world.remove("short");
  world.state = {};
  REQUIRE(world.run_until("head", gang::kReasonPreempting));
  CHECK(world.victims("head") == std::vector<std::string>{"long/base"});
}

TEST_CASE("a head counts on what ends in time, needed at first or not", "[extender][reservation]") {
  Reservations world;
  world.run_for("spared", {"n1"}, 100, 2);
  world.run_for("long", {"n2"}, 1'000, 4);
  world.others = {{"n1", 2}, {"n2", 4}};
  world.wait("head", 2, 4);
  world.cycle();
  REQUIRE(world.reserved("head") == "n1 n2");
  world.wait("unbounded", 1, 2, 0);
  world.cycle();
  REQUIRE(world.placed("unbounded") == "n1");
  world.commit("unbounded");
  world.get("spared").spec.active_deadline_seconds = 100'000;
  world.remove("long");
  REQUIRE(world.run_until("head", gang::kReasonPreempting));
  CHECK(world.victims("head") == std::vector<std::string>{"spared/base"});
}

// Thirty gangs before "head" wait for two nodes, and pods of others use half of one.
Reservations with_gangs_that_cannot_reserve() {
  Reservations world;
  world.others = {{"n2", 4}};
  for (int i = 0; i < 30; ++i) world.wait("large" + std::to_string(i), 2, 8, 2'000);
  return world;
}

TEST_CASE("gangs that cannot reserve nodes do not delay others", "[extender][reservation]") {
  Reservations world = with_gangs_that_cannot_reserve();
  SECTION("that would reserve some") {
    world.run_for("long", {"n1"}, 1'000);
    world.wait("head", 1);
    for (int i = 0; i < 32; ++i) world.cycle();
    CHECK(world.reserved("head") == "n1");
  }
  SECTION("that take some back") {
    world.run_for("long", {"n1"}, 1'000);
    world.get("long").spec.preemptible = true;
    world.get("long").spec.queued_since = world.now;
    world.wait("head", 1);
    for (int i = 0; i < 32; ++i) world.cycle();
    CHECK(world.run_until("long", gang::kReasonPreempted));
  }
}

TEST_CASE("times from a clock that was ahead do not delay a head", "[extender][reservation]") {
  Reservations world;
  world.run_for("a", {"n1"}, 900);
  world.run_for("b", {"n2"}, 900);
  const planner::GangKey key(world.wait("head", 2).meta.uid, "base");
  SECTION("for a reservation, in its status") {
    world.reservation.most = 0;
    world.cycle();
    world.reservation.most = 4;
    world.base("head").reserve_after = world.in(3'600);
  }
  SECTION("for a search") { world.state.reservation.again[key] = world.in(3'600); }
  world.cycle();
  CHECK(world.reserved("head") == "n1 n2");
}

TEST_CASE("a head counts on what starts after it, also if the last leader's clock was ahead",
          "[extender][reservation]") {
  Reservations world = with_a_head();
  world.base("head").reservation->since = world.in(20);
  world.state = {};
  world.remove("short");
  world.wait("other", 1, 8, 0);
  world.limit("other", 600);
  world.cycle();
  REQUIRE(world.placed("other") == "n1");
  world.commit("other");
  world.limit("other", 9'000);
  for (int i = 0; i < 100; ++i) world.cycle();
  CHECK(world.reserved("head") == "n1 n2");
}

// Job "raised" had its deadline raised before the head reserved; the clock of that time was ahead.
TEST_CASE("a head does not count on what ran before it, if the last leader's clock was ahead",
          "[extender][reservation]") {
  Reservations world = with_a_head();
  world.remove("short");
  world.run_for("raised", {"n1"}, 300);
  world.base("raised").started_at = world.in(10);
  world.limit("raised", 9'000);
  world.base("head").reservation->since = world.in(20);
  world.state = {};
  world.cycle();
  world.remove("long");  // the head would start now
  for (int i = 0; i < 100; ++i) {
    world.cycle();
    REQUIRE(world.base("raised").reason == gang::kReasonPlanned);
  }
}

TEST_CASE("times from a clock that was ahead do not keep a reservation",
          "[extender][reservation]") {
  Reservations world = with_a_head();
  const planner::GangKey key(world.get("head").meta.uid, "base");
  SECTION("whose nodes cannot suffice any more") {
    world.nodes[1] = view(testing::cordoned(a_node("n2", 8)));
    world.cycle();
    world.state.reservation.broken[key] = world.in(3'600);
    world.cycle();
    world.now += seconds(60);
    world.cycle();
    CHECK(world.reserved("head").empty());
  }
  SECTION("that could take its nodes back") {
    world.remove("short");
    world.wait("other", 1, 8, 0).spec.preemptible = true;
    world.cycle();
    world.commit("other");
    world.remove("long");
    world.state.reservation.reclaims[key].again = world.in(3'600);
    CHECK(world.run_until("head", gang::kReasonPreempting));
  }
}

TEST_CASE("a reservation lapses", "[extender][reservation]") {
  Reservations world = with_a_head();
  SECTION("at once, when the gang wants other pods, which may reserve at once") {
    world.get("head").spec.gangs[0].members[0].slots.resize(1);
    ++world.get("head").meta.generation;
    world.cycle();
    CHECK(world.reserved("head") == "n1");
  }
  SECTION("when a node is cordoned for a minute; it comes back after another one") {
    const auto node = world.nodes[1];
    world.nodes[1] = view(testing::cordoned(a_node("n2", 8)));
    world.cycle();
    CHECK(world.reserved("head") == "n1 n2");
    world.now += seconds(60);
    world.cycle();
    CHECK(world.reserved("head").empty());
    world.nodes[1] = node;
    world.cycle();
    CHECK(world.reserved("head").empty());
    world.now += seconds(60);
    world.cycle();
    CHECK(world.reserved("head") == "n1 n2");
  }
  SECTION("not when a node is cordoned for a moment") {
    const auto node = world.nodes[1];
    world.nodes[1] = view(testing::cordoned(a_node("n2", 8)));
    for (int i = 0; i < 30; ++i) world.cycle();
    world.nodes[1] = node;
    for (int i = 0; i < 60; ++i) world.cycle();
    CHECK(world.reserved("head") == "n1 n2");
    CHECK(world.base("head").reservation->since == world.in(-91));
  }
  SECTION("when its nodes are overdue") {
    world.now += seconds(1'000 + 600);
    world.cycle();
    CHECK(world.reserved("head").empty());
  }
  SECTION("when the flag is off") {
    world.reservation.after = seconds(0);
    world.cycle();
    CHECK(world.reserved("head").empty());
  }
}

TEST_CASE("a new leader keeps reservations", "[extender][reservation]") {
  Reservations world = with_a_head();
  const auto reservation = world.base("head").reservation;
  world.remove("short");
  world.wait("other", 1, 8, 0);
  for (int i = 0; i < 20; ++i) {
    world.state = {};
    world.cycle();
    CHECK(world.placed("other") == "waits");
  }
  CHECK(world.base("head").reservation == reservation);
}

TEST_CASE("a reservation is written once", "[extender][reservation]") {
  Reservations world = with_a_head();
  std::size_t writes = 0;
  for (int i = 0; i < 50; ++i) writes += world.cycle();
  CHECK(writes == 0);
}

TEST_CASE("nodes have one reservation", "[extender][reservation]") {
  Reservations world;
  world.nodes.push_back(view(a_node("n3", 8)));
  world.run_for("a", {"n1"}, 100);
  world.run_for("b", {"n2"}, 200);
  world.run_for("c", {"n3"}, 300);
  world.wait("first", 2, 8, 2'000);
  world.cycle();
  REQUIRE(world.reserved("first") == "n1 n2");
  SECTION("so the next gang reserves others") {
    world.wait("second", 1);
    world.cycle();
    CHECK(world.reserved("second") == "n3");
    CHECK(world.reserved("first") == "n1 n2");
  }
  SECTION("and a gang that is served earlier gets them") {
    world.wait("urgent", 2).spec.priority = 1;
    world.cycle();
    CHECK(world.reserved("urgent") == "n1 n2");
    CHECK(world.reserved("first").empty());
    CHECK(world.base("first").reserve_after.has_value());
  }
  SECTION("also if the leader ends before the other one's is written") {
    const auto before = world.base("first").reservation;
    world.wait("urgent", 2).spec.priority = 1;
    world.cycle();
    world.base("first").reservation = before;
    world.base("first").reserve_after.reset();
    world.state = {};
    world.cycle();
    CHECK(world.reserved("urgent") == "n1 n2");
    CHECK(world.reserved("first").empty());
  }
  SECTION("also of a queue with a smaller share, whose gang is later in the order of all") {
    const auto before = world.base("first").reservation;
    world.queues = {testing::for_all(testing::a_queue("one")),
                    testing::for_all(testing::a_queue("two"))};
    world.get("first").spec.queue = world.get("first").status.queue.name = "one";
    world.wait("fair", 2, 8, 0).spec.queue = "two";
    world.base("first").reservation.reset();
    world.base("first").reserve_after = world.in(600);
    world.now += seconds(300);
    world.cycle();
    REQUIRE(world.reserved("fair") == "n1 n2");
    world.base("first").reservation = before;
    world.state = {};
    world.cycle();
    CHECK(world.reserved("fair") == "n1 n2");
    CHECK(world.reserved("first").empty());
  }
  SECTION("and there are not too many of them") {
    world.reservation.most = 1;
    world.wait("second", 1);
    for (int i = 0; i < 5; ++i) world.cycle();
    CHECK(world.reserved("second").empty());
    world.wait("urgent", 1).spec.priority = 1;
    for (int i = 0; i < 5; ++i) world.cycle();
    CHECK(world.reserved("urgent") == "n1");
    CHECK(world.reserved("first").empty());
  }
}

TEST_CASE("a plan that was to end in time is dropped if it is not bound in time",
          "[extender][reservation]") {
  Reservations world = with_a_plan(900);
  REQUIRE(world.placed("other") == "n1");
  world.now += seconds(50);
  world.cycle();
  CHECK(world.placed("other") == "n1");
  world.now += seconds(60);
  world.cycle();
  CHECK(world.placed("other") == "waits");
  CHECK(world.reserved("head") == "n1 n2");
}

TEST_CASE("a plan that may stay on reserved nodes no longer is dropped",
          "[extender][reservation]") {
  Reservations world = with_a_head();
  world.remove("short");
  world.wait("other", 1, 8, 0);
  std::string want = "waits";
  SECTION("it is not preemptible any more") {
    world.get("other").spec.preemptible = true;
    world.cycle();
    REQUIRE(world.placed("other") == "n1");
    world.get("other").spec.preemptible = false;
  }
  SECTION("it has lost its limit") {
    world.limit("other", 900);
    world.cycle();
    REQUIRE(world.placed("other") == "n1");
    world.get("other").spec.active_deadline_seconds.reset();
  }
  SECTION("not if it is served earlier") {
    world.get("other").spec.priority = 1;
    world.cycle();
    REQUIRE(world.placed("other") == "n1");
    want = "n1";
  }
  world.cycle();
  CHECK(world.placed("other") == want);
  CHECK(world.reserved("head") == "n1 n2");
}

TEST_CASE("a plan that is on reserved nodes by the share of its queue stays",
          "[extender][reservation]") {
  Reservations world = with_a_head_of_a_large_queue();
  world.remove("short");
  world.wait("fair", 1, 8, 0).spec.queue = "small";
  world.cycle();
  REQUIRE(world.placed("fair") == "n1");
  CHECK(world.cycle() == 0);
  CHECK(world.planned_gangs == 1);  // the head alone
}

TEST_CASE("a plan of a queue that has more than the head's is dropped if it may not stay",
          "[extender][reservation]") {
  Reservations world;
  world.queues = {testing::for_all(testing::a_queue("large")),
                  testing::for_all(testing::a_queue("small"))};
  for (const char* name : {"n3", "n4"}) world.nodes.push_back(view(a_node(name, 8)));
  world.run_for("short", {"n1"}, 100);
  world.run_for("long", {"n2"}, 1'000);
  for (const char* name : {"short", "long"}) {
    world.get(name).spec.queue = world.get(name).status.queue.name = "small";
  }
  world.add_running("others", "large", {"n3", "n4"}, 8);
  world.wait("head", 2).spec.queue = "small";
  world.cycle();
  REQUIRE(world.reserved("head") == "n1 n2");
  world.remove("short");
  gang::PodGroup& late = world.wait("late", 1, 8, 0);
  late.spec.queue = "large";
  SECTION("it is not preemptible any more") {
    late.spec.preemptible = true;
    world.cycle();
    REQUIRE(world.placed("late") == "n1");
    world.get("late").spec.preemptible = false;
  }
  SECTION("it is not bound in time") {
    world.limit("late", 900);
    world.cycle();
    REQUIRE(world.placed("late") == "n1");
    world.now += seconds(200);
  }
  world.cycle();
  CHECK(world.placed("late") == "waits");
  CHECK(world.reserved("head") == "n1 n2");
}

TEST_CASE("a plan beside a head is not dropped with the head's other node",
          "[extender][reservation]") {
  Reservations world;
  world.nodes[0] = view(a_node("n1", 16));
  world.run_for("long", {"n2"}, 1'000);
  world.wait("beside", 1, 8, 0);
  world.cycle();
  world.wait("head", 2);
  world.cycle();
  REQUIRE(world.placed("beside") == "n1");
  REQUIRE(world.reserved("head") == "n1 n2");
  const auto placements = world.base("beside").placements;
  SECTION("it is cordoned") { world.nodes[1] = view(testing::cordoned(a_node("n2", 8))); }
  SECTION("it is gone") { world.nodes.pop_back(); }
  world.cycle();
  CHECK(world.base("beside").planned);
  CHECK(world.base("beside").placements == placements);
}

// "job" runs on n3, queued after the head, with 4 GPUs more there in reserve. n1 and n2 are
// reserved, n1 is idle.
Reservations with_reserved_capacity() {
  Reservations world = with_a_head();
  world.remove("short");
  world.nodes.push_back(view(a_node("n3", 8)));
  world.add_running("job", "", {"n3"}, 4);
  world.get("job").spec.queued_since = world.now;
  world.base("job").reserved = {{"learner", "n3", 1}};
  return world;
}
// Its request for so many pods takes the reserved place over.
void request_in_part(Reservations& world, int pods) {
  testing::Member asked = testing::a_set("collector", pods, testing::ask(4));
  asked.from_reserved = {"learner", 1};
  testing::add_member(world.get("job"), testing::in_request(std::move(asked), 1));
}

TEST_CASE("a request that takes over too little reserved capacity keeps off reserved nodes",
          "[extender][reservation]") {
  Reservations world = with_reserved_capacity();
  request_in_part(world, 2);
  bool want = false;
  SECTION("as others do") {}
  SECTION("not if its job is served earlier") {
    world.get("job").spec.queued_since = SysTime{};
    want = true;
  }
  SECTION("not if its job can be reclaimed") {
    world.get("job").spec.preemptible = true;
    want = true;
  }
  world.cycle();
  CHECK(world.request("job").planned == want);
  CHECK(world.base("job").reserved.size() == (want ? 0U : 1U));
  CHECK(world.reserved("head") == "n1 n2");
}

TEST_CASE("a request keeps its reserved capacity beside jobs on reserved nodes",
          "[extender][reservation]") {
  Reservations world = with_reserved_capacity();
  world.nodes[2] = view(a_node("n3", 16));
  world.base("head").reservation->nodes[0].node = "n3";  // and n2
  world.others = {{"n1", 8}};
  world.wait("other", 1, 4, 500).spec.preemptible = true;
  request_in_part(world, 3);
  world.cycle();
  CHECK(world.placed("other") == "n3");
  CHECK_FALSE(world.request("job").planned);
  CHECK(world.base("job").reserved ==
        std::vector<gang::ReservedCapacity>{{"request-1-collector", "n3", 1}});
}

TEST_CASE("reserved capacity that was lost is not made up for on reserved nodes",
          "[extender][reservation]") {
  Reservations world = with_reserved_capacity();
  world.others = {{"n3", 4}};
  world.base("job").reserved.clear();
  testing::nth_set(world.get("job"), 0).reserved_pods = 1;
  std::vector<gang::ReservedCapacity> want;
  SECTION("of a job without a bound") {}
  SECTION("but of one that is served earlier") {
    world.get("job").spec.queued_since = SysTime{};
    want = {{"learner", "n1", 1}};
  }
  SECTION("but of one that can be reclaimed") {
    world.get("job").spec.preemptible = true;
    want = {{"learner", "n1", 1}};
  }
  SECTION("but of one that ends in time") {
    world.limit("job", 500);
    world.base("job").started_at = world.now;
    want = {{"learner", "n1", 1}};
  }
  world.cycle();
  CHECK(world.base("job").reserved == want);
}

TEST_CASE("what is kept no longer goes to gangs that wait, without a change of a node",
          "[extender][reservation]") {
  Reservations world;
  world.nodes[0] = view(a_node("n1", 16));
  world.add_running("other", "", {"n1"}, 8);
  world.get("other").spec.queued_since = world.now;
  world.run_for("long", {"n2"}, 1'000);
  world.wait("head", 2);
  world.cycle();
  REQUIRE(world.reserved("head") == "n1 n2");
  world.wait("small", 1, 8, 0);
  world.tells_gains = false;
  world.cycle();
  world.cycle();
  REQUIRE(world.placed("small") == "waits");
  world.get("other").spec.preemptible = true;  // the head takes its nodes back
  world.cycle();
  CHECK(world.placed("small") == "n1");
}

}  // namespace
}  // namespace nervex::planner
