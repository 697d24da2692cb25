#include "controller/decide/attempt/creation_failures.h"
#include "controller/decide/failed_write.h"
#include "controller/decide/reasons.h"

#include <algorithm>
#include <chrono>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

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
  world.apply(report_failed_write(world.seen.job, kFailedCreate,
                                  "create pod: exceeded quota, used: pods=10", world.seen.now));
  return world;
}

TEST_CASE("a failed creation is reported on the job with the API server's message",
          "[controller][creation_failures]") {
  const World world = a_refused_world();
  CHECK(world.seen.job.status.reason == "FailedCreate");
  const auto* condition = find_condition(world.seen.job.status, "PodsCreated");
  CHECK_FALSE(condition->status);
  CHECK(condition->message == "create pod: exceeded quota, used: pods=10");
  CHECK(world.events.back() == "FailedCreate");
}

TEST_CASE("a repeated failure to create causes no write", "[controller][creation_failures]") {
  const World world = a_refused_world();
  const auto again = [&](const std::string& words) {
    return report_failed_write(world.seen.job, kFailedCreate, words, world.seen.now);
  };
  CHECK(again("create pod: exceeded quota, used: pods=11").empty());
  CHECK(again("create pod: something else").size() == 2);
}

TEST_CASE("a failed creation stays on the job until nothing is missing",
          "[controller][creation_failures]") {
  World world = a_refused_world();
  const Actions actions = reconcile(world.seen).actions;
  const auto* update = std::get_if<UpdateStatus>(&actions.front());
  if (update != nullptr) CHECK(update->status.reason == "FailedCreate");
  world.settle();
  CHECK(find_condition(world.seen.job.status, "PodsCreated")->status);
  CHECK(world.seen.job.status.reason == "Starting");
}

TEST_CASE("a job whose pods are refused for good pauses longer each time before it preempts others",
          "[controller][creation_failures]") {
  using std::chrono::seconds;
  World world(a_job());
  std::vector<seconds> pauses;
  for (int attempt = 1; attempt <= 12; ++attempt) {
    CHECK(world.settle() >= 0);
    INFO("attempt " << attempt << ", reason " << world.seen.job.status.reason);
    REQUIRE(world.seen.pod_groups.size() == 1);
    const gang::Gang& base = world.seen.pod_groups.front()->spec.gangs.front();
    CHECK(base.preempt_after.has_value() == (attempt > 1));
    if (base.preempt_after) {
      const SysTime refused = world.seen.job.status.last_attempt->end_time;
      pauses.push_back(std::chrono::floor<seconds>(*base.preempt_after - refused));
      world.seen.now = std::max(world.seen.now, *base.preempt_after);
    }
    world.plan();
    world.apply(handle_failed_write(
        world.seen, {{Code::kForbidden, "a webhook says no"}, kFailedCreate}, true));
    world.seen.now += std::chrono::minutes(7);  // the back-off is over
  }
  CHECK(std::is_sorted(pauses.begin(), pauses.end()));
  CHECK(pauses.front() == seconds(60));
  CHECK(pauses.back() == seconds(3'600));
  // It is not written again when the pods can be created.
  world.settle();
  const auto before = world.seen.pod_groups.front()->spec;
  world.plan();
  world.settle();
  CHECK(find_condition(world.seen.job.status, "PodsCreated")->status);
  CHECK(world.seen.pod_groups.front()->spec == before);
}

TEST_CASE("a job whose pods kubelets reject pauses before it preempts others",
          "[controller][creation_failures]") {
  World world(a_job());
  world.settle();
  job::Status& status = world.seen.job.status;
  status.queued_since = world.seen.now - std::chrono::minutes(7);
  status.last_attempt = {1, std::string(gang::kReasonHealingTimeout), std::nullopt, "",
                         world.seen.now};
  const gang::Gang base = world.seen.pod_groups.front()->spec.gangs.front();
  CHECK(find_preempt_after(status, base) == world.seen.now + std::chrono::minutes(7));
  status.start_time = world.seen.now - std::chrono::hours(1);  // it has run
  CHECK_FALSE(find_preempt_after(status, base));
}

TEST_CASE("a transient error is reported when it happens again",
          "[controller][creation_failures]") {
  struct Row {
    std::string when;
    Code code;
    int failures_before;  // the fewest with which it is reported
  };
  const auto row = GENERATE(values<Row>({
      {"the object is wrong", Code::kInvalid, 0},
      {"admission refuses it", Code::kForbidden, 0},
      {"the right is missing", Code::kUnauthorized, 1},
      {"the API server has a bad moment", Code::kTransient, 1},
      {"the namespace is not there", Code::kNotFound, 1},
      {"something in this program failed", Code::kInternal, 1},
      {"the cache is behind", Code::kConflict, 6},
  }));
  INFO("when " << row.when);
  CHECK(is_worth_reporting(row.code, row.failures_before));
  if (row.failures_before > 0) CHECK_FALSE(is_worth_reporting(row.code, row.failures_before - 1));
}

TEST_CASE("a deletion that keeps failing is reported, also while the job is suspended",
          "[controller][creation_failures]") {
  World world(a_job());
  world.make_gang();
  world.seen.job.spec.suspend = true;
  world.apply(reconcile(world.seen).actions);
  world.apply(report_failed_write(world.seen.job, kFailedDelete, "delete pod: no", world.seen.now));
  CHECK(world.seen.job.status.reason == "Suspended");
  CHECK(find_condition(world.seen.job.status, "PodsCreated")->reason == "FailedDelete");
  const int before = world.status_writes;
  const Actions actions = reconcile(world.seen).actions;
  CHECK_FALSE(std::holds_alternative<UpdateStatus>(actions.front()));  // not before it works
  world.settle();
  CHECK(find_condition(world.seen.job.status, "PodsCreated")->status);
  CHECK(world.status_writes == before + 1);
}

TEST_CASE("a job with an invalid name for pods creates nothing and says so",
          "[controller][creation_failures]") {
  job::Job job = a_job(1, 0);
  job.meta.name = GENERATE(std::string("has.a.dot"), std::string("7th"), std::string(52, 'x'));
  World world(std::move(job));
  CHECK(world.settle() == 1);
  CHECK(world.created.empty());
  CHECK(world.seen.job.status.phase == job::Phase::kCreated);
  CHECK(world.seen.job.status.reason == "InvalidName");
  CHECK_FALSE(find_condition(world.seen.job.status, "PodsCreated")->status);
  world.seen.now += std::chrono::hours(1);
  CHECK(world.settle() == 0);
}

TEST_CASE("nothing is reported on a job that has ended", "[controller][creation_failures]") {
  World world(a_job());
  world.seen.job.status.phase = job::Phase::kFailed;
  CHECK(report_failed_write(world.seen.job, kFailedCreate, "no", world.seen.now).empty());
}

}  // namespace
}  // namespace nervex::controller
