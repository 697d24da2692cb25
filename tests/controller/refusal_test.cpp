#include "controller/refusal.h"

#include <catch2/catch_test_macros.hpp>

#include "tests/controller/world.h"
#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using testing::a_job;
using testing::World;

World a_refused_world() {
  World world(a_job());
  world.settle();
  world.plan();
  world.apply(
      report_refusal(world.seen.job, "create pod: exceeded quota, used: pods=10", world.seen.now));
  return world;
}

TEST_CASE("a refusal shows on the job in the API's words", "[controller][refusal]") {
  const World world = a_refused_world();
  CHECK(world.seen.job.status.reason == "FailedCreate");
  const auto* condition = find_condition(world.seen.job.status, "PodsCreated");
  CHECK_FALSE(condition->status);
  CHECK(condition->message == "create pod: exceeded quota, used: pods=10");
  CHECK(world.events.back() == "FailedCreate");
}

TEST_CASE("a refusal that is repeated costs no write", "[controller][refusal]") {
  const World world = a_refused_world();
  const auto again = [&](const std::string& words) {
    return report_refusal(world.seen.job, words, world.seen.now);
  };
  CHECK(again("create pod: exceeded quota, used: pods=11").empty());
  CHECK(again("create pod: something else").size() == 2);
}

TEST_CASE("a refusal stays on the job while something is missing, and goes with it",
          "[controller][refusal]") {
  World world = a_refused_world();
  const Actions actions = reconcile(world.seen).actions;
  const auto* update = std::get_if<UpdateStatus>(&actions.front());
  if (update != nullptr) CHECK(update->status.reason == "FailedCreate");
  world.settle();
  CHECK(find_condition(world.seen.job.status, "PodsCreated")->status);
  CHECK(world.seen.job.status.reason == "Starting");
}

TEST_CASE("nothing is reported on a job that has ended", "[controller][refusal]") {
  World world(a_job());
  world.seen.job.status.phase = job::Phase::kFailed;
  CHECK(report_refusal(world.seen.job, "no", world.seen.now).empty());
}

}  // namespace
}  // namespace nervex::controller
