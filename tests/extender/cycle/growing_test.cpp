// A pod that follows a finished one is placed within limits, and its gang does not heal for it.
#include <catch2/catch_test_macros.hpp>

#include "tests/extender/cycle/preemption/preemptions.h"

namespace nervex::extender {
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

}  // namespace
}  // namespace nervex::extender
