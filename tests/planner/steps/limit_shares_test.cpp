#include "planner/steps/limit_shares.h"

#include <map>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/planner/reservation/reservations.h"

namespace nervex::planner {
namespace {

using std::chrono::seconds;
using testing::a_node;
using testing::Reservations;
using testing::view;

// Queue "team" may use 16 GPUs of 32. "short" runs for 100 s, "long" for 1,000 s, and "head" waits
// for as much as both use.
Reservations at_its_limit() {
  Reservations world;
  for (const char* name : {"n3", "n4"}) world.nodes.push_back(view(a_node(name, 8)));
  world.run_for("short", {"n1"}, 100);
  world.run_for("long", {"n2"}, 1'000);
  world.wait("head", 2);
  world.move_all_to("team");
  world.queues = {testing::for_all(testing::with_limit(testing::a_queue("team"), 16)),
                  testing::for_all(testing::a_queue("other"))};
  world.cycle();
  REQUIRE(world.base("head").reason == "LimitExceeded");
  return world;
}
gang::PodGroup& add_behind(Reservations& world, const std::string& name, int gpus = 8) {
  gang::PodGroup& group = world.wait(name, 1, gpus, 0);
  group.spec.queue = "team";
  return group;
}

TEST_CASE("a gang that the limit of its queue holds keeps its share from gangs behind it",
          "[extender][reservation][limit]") {
  Reservations world = at_its_limit();
  world.remove("short");
  gang::PodGroup& behind = add_behind(world, "behind");
  bool starts = false;
  SECTION("which have no time limit") {
    world.cycle();
    CHECK(world.base("behind").reason == "LimitKept");
    CHECK(world.base("behind").message ==
          "the limit of queue team leaves nvidia.com/gpu 0 beside what is kept for a job that is "
          "ahead and has waited long, 8 are needed; what ends before 1970-01-01T03:03:20Z still "
          "starts");
  }
  SECTION("which end later") { world.limit("behind", 1'000); }
  SECTION("not if they end in time") {
    world.limit("behind", 900);
    starts = true;
  }
  SECTION("not if they are ahead") {
    behind.spec.priority = 1;
    starts = true;
  }
  SECTION("not if they are of another queue") {
    behind.spec.queue = "other";
    starts = true;
  }
  SECTION("not before it has waited for long") {
    world.get("head").spec.queued_since = world.now - seconds(299);
    behind.spec.queued_since = world.now;
    starts = true;
  }
  SECTION("not without the flag") {
    world.reservation.after = seconds(0);
    starts = true;
  }
  SECTION("not if it needs more than the limit") {
    world.get("head").spec.gangs[0].members[0].slots.push_back({2, 0});
    ++world.get("head").meta.generation;
    starts = true;
  }
  SECTION("not if no node could ever hold it") {
    world.get("head").spec.gangs[0].members[0].shape.requests.set(testing::kGpu, 16);
    world.get("head").spec.gangs[0].members[0].slots.resize(1);
    ++world.get("head").meta.generation;
    starts = true;
  }
  SECTION("also under a new leader") {
    world.cycle();
    world.state = {};
  }
  world.cycle();
  CHECK((world.placed("behind") != "waits") == starts);
  CHECK(world.placed("head") == "waits");
}

TEST_CASE("gangs of one queue leave searches for a due time to other queues",
          "[extender][reservation][limit]") {
  Reservations world = at_its_limit();
  world.remove("short");
  add_behind(world, "behind");
  world.run_for("service", {"n3"}, 1'000);
  world.get("service").spec.active_deadline_seconds.reset();
  world.base("service").started_at = world.now - seconds(9'000);
  for (int i = 0; i < 70; ++i) world.wait("busy" + std::to_string(i), 1, 8);
  for (gang::PodGroup& group : world.groups) {
    const bool is_busy = group.meta.name.rfind("busy", 0) == 0 || group.meta.name == "service";
    if (is_busy) group.spec.queue = group.status.queue.name = "busy";
  }
  // Its jobs are served first.
  world.queues.push_back(testing::for_all(testing::with_limit(testing::a_queue("busy"), 8)));
  world.queues.back().weight = 100;
  world.cycle();
  CHECK(world.base("behind").reason == "LimitKept");
}

TEST_CASE("a user's own jobs without a time limit close no limit for others",
          "[extender][reservation][limit]") {
  Reservations world = at_its_limit();
  world.remove("short");
  world.base("long").started_at = world.now;
  world.get("long").spec.active_deadline_seconds.reset();
  world.get("head").spec.user = "eve";
  const bool is_own = GENERATE(true, false);
  INFO("the job that has overtaken the gang is the same user's: " << is_own);
  world.get("long").spec.user = is_own ? "eve" : "ada";
  add_behind(world, "behind");
  world.cycle();
  CHECK((world.placed("behind") == "waits") == !is_own);
}

TEST_CASE("a gang starts although smaller ones of its queue keep coming",
          "[extender][reservation][limit]") {
  Reservations world = at_its_limit();
  world.remove("short");
  const bool has_limits = GENERATE(true, false);
  INFO("they have time limits: " << has_limits);
  const SysTime due = world.now + seconds(1'000);
  std::map<std::string, SysTime> ends;
  if (!has_limits) {
    world.base("long").started_at = world.now;
    world.get("long").spec.active_deadline_seconds.reset();
  }
  ends["long"] = due;
  int added = 0;
  int started = 0;
  while (world.now < due + seconds(400) && world.placed("head") == "waits") {
    const std::string name = "small" + std::to_string(++added);
    add_behind(world, name, 4);
    if (has_limits) world.limit(name, 200);
    world.cycle();
    for (int i = 1; i <= added; ++i) {
      const std::string one = "small" + std::to_string(i);
      if (world.find(one) == nullptr || world.base(one).committed) continue;
      if (world.placed(one) == "waits") continue;
      world.commit(one);
      ends[one] = world.now + seconds(200);
      ++started;
    }
    for (auto at = ends.begin(); at != ends.end();) {
      const bool is_over = at->second <= world.now;
      if (is_over) world.remove(at->first);
      at = is_over ? ends.erase(at) : std::next(at);
    }
    world.now += seconds(19);
  }
  CHECK(world.placed("head") != "waits");
  CHECK(world.now <= due + seconds(100));
  CHECK((started > 0) == has_limits);
}

TEST_CASE("a gang that a ResourceQuota holds keeps its share of the quota",
          "[extender][reservation][limit]") {
  Reservations world;
  for (const char* name : {"n3", "n4"}) world.nodes.push_back(view(a_node(name, 8)));
  world.run_for("short", {"n1"}, 100);
  world.run_for("long", {"n2"}, 1'000);
  world.wait("head", 2);
  world.gpu_quota = 16;
  world.cycle();
  REQUIRE(world.base("head").reason == gang::kReasonOverQuota);
  world.remove("short");
  world.wait("behind", 1, 8, 0);
  bool starts = false;
  SECTION("from gangs without a time limit") {
    world.cycle();
    CHECK(world.base("behind").reason == "LimitKept");
    CHECK(world.base("behind").message.find("quota gpus leaves nvidia.com/gpu 0") == 0);
  }
  SECTION("not from those that end in time") {
    world.limit("behind", 900);
    starts = true;
  }
  SECTION("not without the flag") {
    world.reservation.after = seconds(0);
    starts = true;
  }
  world.cycle();
  CHECK((world.placed("behind") != "waits") == starts);
  CHECK(world.placed("head") == "waits");
}

TEST_CASE("what the limit leaves beside the share is free for all",
          "[extender][reservation][limit]") {
  Reservations world = at_its_limit();
  world.queue("team").limit = testing::with_limit(testing::a_queue("team"), 20).limit;
  world.remove("short");
  add_behind(world, "first", 4);
  add_behind(world, "second", 4);
  world.cycle();
  CHECK(world.placed("first") != "waits");
  CHECK(world.base("second").reason == "LimitKept");
}

TEST_CASE("a queue is not closed for a gang that waits for what may never end",
          "[extender][reservation][limit]") {
  Reservations world = at_its_limit();
  world.remove("short");
  world.get("long").spec.active_deadline_seconds.reset();
  add_behind(world, "behind");
  bool starts = true;
  SECTION("since it ran before the gang came") {
    world.base("long").started_at = SysTime(seconds(1));
  }
  SECTION("but not if that has overtaken the gang") {
    world.base("long").started_at = world.now - seconds(10);
    starts = false;
  }
  world.cycle();
  CHECK((world.placed("behind") != "waits") == starts);
}

TEST_CASE("a gang that needs more than its class limit closes no other limit",
          "[extender][reservation][limit]") {
  Reservations world = at_its_limit();
  world.nodes.clear();
  for (const char* name : {"n1", "n2", "n3", "n4"}) {
    world.nodes.push_back(testing::node_of_class(name, "h100"));
  }
  const std::int64_t most = GENERATE(12, 16);
  INFO("the limit of the class is " << most);
  auto& limit = world.queue("team").limit;
  limit.front().classes =
      testing::with_limit(testing::a_queue("team"), {{"h100", most}}).limit.front().classes;
  world.remove("short");
  world.remove("long");
  world.run_for("long", {"n2"}, 1'000);
  world.get("long").spec.queue = world.get("long").status.queue.name = "team";
  add_behind(world, "behind", 4);
  world.cycle();
  CHECK((world.placed("behind") != "waits") == (most < 16));
}

TEST_CASE("a gang with reserved nodes keeps its share of the limit",
          "[extender][reservation][limit]") {
  Reservations world;
  for (const char* name : {"n3", "n4"}) world.nodes.push_back(view(a_node(name, 8)));
  world.run_for("long", {"n1"}, 1'000);
  world.others = {{"n2", 8}};
  world.wait("head", 3);
  world.move_all_to("team");
  world.queues = {testing::for_all(testing::with_limit(testing::a_queue("team"), 32))};
  world.cycle();
  REQUIRE(world.reserved("head") == "n1 n3 n4");
  world.others = {{"n2", 4}};  // the rest of n2 is not reserved
  add_behind(world, "behind", 4);
  world.cycle();
  CHECK(world.base("behind").reason == "LimitKept");
  CHECK(world.reserved("head") == "n1 n3 n4");
}

}  // namespace
}  // namespace nervex::planner
