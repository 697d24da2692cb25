// A pod that follows a finished one is placed within limits, and its gang does not heal for it.
#include <catch2/catch_test_macros.hpp>

#include "tests/planner/preemption/preemptions.h"

namespace nervex::planner {
namespace {

using testing::a_node;
using testing::Preemptions;
using testing::speech;
using testing::view;
using testing::vision;
using testing::with_limit;

// Job "job" of queue speech has 4 GPUs on each node. That on n2 has finished and is to have another
// pod.
struct Growing : Preemptions {
  Growing() {
    queues = {vision(), with_limit(speech(), 8)};
    add_running("job", "speech", {"n1", "n2"}, 4);
    cycle();
    gang::PodGroup& job = get("job");
    gang::MemberSet& set = job.spec.gangs[0].members[0];
    set.slots[1].incarnation = 1;
    set.growing = {1};
    ++job.meta.generation;
  }
};

TEST_CASE("a pod that follows a finished one waits for its queue's limit, and nothing heals",
          "[extender][growing]") {
  Growing world;
  world.add_running("other", "speech", {"n1"}, 4);
  for (int i = 0; i < 20; ++i) {
    world.cycle();
    world.now += std::chrono::seconds(60);
  }
  const gang::GangStatus& base = world.base("job");
  CHECK(base.reason == "LimitExceeded");
  CHECK_FALSE(base.planned);
  CHECK(base.committed);
  CHECK(base.placements.size() == 1);
  CHECK_FALSE(base.healing_since);
  world.remove("other");
  CHECK(world.run_until("job", gang::kReasonPlanned));
  CHECK(world.base("job").placements.size() == 2);
}

TEST_CASE("a pod that follows a finished one comes after gangs that wait", "[extender][growing]") {
  Growing world;
  world.others = {{"n2", 8}};
  world.add("new", "vision", 1, 4);
  world.cycle();
  CHECK(world.base("new").reason == gang::kReasonPlanned);
  CHECK(world.base("job").reason == gang::kReasonUnschedulable);
  CHECK_FALSE(world.base("job").healing_since);
}

TEST_CASE("while a pod waits that follows a finished one, others may use its part of the limit",
          "[extender][growing]") {
  Growing world;
  world.others = {{"n2", 8}};
  world.add("new", "speech", 1, 4);
  world.cycle();
  CHECK(world.base("new").reason == gang::kReasonPlanned);
  CHECK(world.base("job").reason == "LimitExceeded");
}

TEST_CASE("a job whose finished pod waits for another one can be reclaimed",
          "[extender][growing]") {
  Growing world;
  world.mode = queue::PreemptionMode::kReclaim;
  world.others = {{"n1", 4}, {"n2", 8}};
  world.cycle();
  REQUIRE(world.base("job").reason == gang::kReasonUnschedulable);
  world.add("new", "vision", 1, 4);
  CHECK(world.run_until("new", gang::kReasonPreempting));
}

TEST_CASE("a lost pod beside one that follows a finished one heals at once",
          "[extender][growing]") {
  Growing world;
  world.add_running("other", "speech", {"n1"}, 4);
  gang::PodGroup& job = world.get("job");
  job.spec.gangs[0].members[0].slots[0].incarnation = 1;
  ++job.meta.generation;
  world.cycle();
  CHECK(world.base("job").placements.size() == 1);
  CHECK(world.base("job").placements[0].slot.ordinal == 0);
  CHECK(world.base("job").reason == "LimitExceeded");
}

TEST_CASE("pods that follow finished ones take no quota while they have no node",
          "[extender][growing]") {
  Growing world;
  world.queues.clear();
  world.nodes.push_back(view(a_node("n3", 8)));
  world.add_running("zebra", "", {"n1", "n3"}, 4);
  gang::MemberSet& set = world.get("zebra").spec.gangs[0].members[0];
  set.slots[1].incarnation = 1;
  set.growing = {1};
  ++world.get("zebra").meta.generation;
  world.get("job").spec.gangs[0].members[0].shape.constraints.edit(
      [](kube::NodeConstraints& constraints) { constraints.node_selector["no"] = "node"; });
  world.others = {{"n1", 8}, {"n2", 8}};
  world.gpu_quota = 12;
  world.cycle();
  CHECK(world.base("job").placements.size() == 1);
  CHECK(world.base("zebra").placements.size() == 2);
}

TEST_CASE("a pod that follows a finished one takes no share that is kept for a gang",
          "[extender][growing]") {
  Growing world;
  world.nodes.push_back(view(a_node("n3", 8)));
  world.reservation.after = std::chrono::seconds(300);
  world.add("head", "speech", 1, 8).spec.queued_since = world.now - std::chrono::seconds(1'000);
  world.base("job").started_at = world.now;  // it has overtaken the head
  SECTION("whose job may never end") {
    world.cycle();
    CHECK(world.base("job").reason == "LimitKept");
    CHECK(world.base("job").placements.size() == 1);
  }
  SECTION("not if the job ends before the gang is due") {
    world.get("job").spec.active_deadline_seconds = 500;
    world.get("job").spec.grace_seconds = 30;
    world.base("job").planned_run_seconds = 530;
    world.cycle();
    CHECK(world.base("job").placements.size() == 2);
  }
  CHECK(world.base("head").reason == "LimitExceeded");
}

}  // namespace
}  // namespace nervex::planner
