#include "controller/decide/attempt/queueing.h"
#include "controller/decide/reasons.h"
#include "controller/decide/round/condition.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/controller/world.h"
#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using namespace std::chrono_literals;
using job::Phase;
using testing::a_job;
using testing::World;

World started(job::Job job) {
  World world(std::move(job));
  world.seen.now = std::chrono::floor<std::chrono::seconds>(world.seen.now);
  world.start();
  return world;
}

std::string message(const World& world, std::string_view type) {
  const auto* condition = find_condition(world.seen.job.status, type);
  return condition == nullptr ? "" : condition->message;
}

TEST_CASE("timestamps in the future block nothing", "[controller][limits]") {
  const SysTime now = *parse_rfc3339("2026-11-21T14:00:00Z");
  job::Status status;
  status.requeued_gangs = {{"request-1", 1, now + 5min}, {"request-2", 1, now + 1h}};
  status.next_attempt_time = now + 6min;
  pass_over_wrong_clock(status, now);
  CHECK(status.next_attempt_time == now + 6min);
  CHECK(status.requeued_gangs[0].requeue_at == now + 5min);
  CHECK(status.requeued_gangs[1].requeue_at == now);
  status.next_attempt_time = now + 1h;
  pass_over_wrong_clock(status, now);
  CHECK_FALSE(status.next_attempt_time);
}

TEST_CASE("a job that exceeds its active deadline fails", "[controller][limits]") {
  job::Job job = a_job(1, 0);
  job.spec.active_deadline_seconds = 60;
  World world = started(std::move(job));
  CHECK(reconcile(world.seen).requeue_after == 60s);
  world.seen.now += 59s;
  CHECK(world.settle() == 0);
  world.seen.now += 1s;
  CHECK(world.settle() >= 1);
  CHECK(world.seen.job.status.phase == Phase::kFailed);
  CHECK(world.seen.job.status.reason == "DeadlineExceeded");
  CHECK(message(world, kFailed) ==
        "the job was active for longer than its activeDeadlineSeconds (60 s)");
  CHECK(world.pod_names().empty());
}

TEST_CASE("the active deadline counts from when the gang got its nodes, before the first bind",
          "[controller][limits]") {
  job::Job job = a_job(1, 0);
  job.spec.active_deadline_seconds = 60;
  World world = started(std::move(job));
  const auto since = world.seen.job.status.active_since;
  const auto get_nodes_at = [&](SysTime at) {
    world.change_group([&](gang::PodGroup& group) {
      group.status.gangs.at(0).committed = true;
      group.status.gangs.at(0).started_at = at;
    });
  };
  get_nodes_at(world.seen.now - 10s);
  CHECK(reconcile(world.seen).requeue_after == 50s);
  world.settle();
  CHECK(world.seen.job.status.active_since == since);
  get_nodes_at(world.seen.now + 10s);  // by another clock
  CHECK(reconcile(world.seen).requeue_after == 60s);
}

void put_in_queue(World& world, std::int64_t max_runtime_seconds) {
  world.change_group([&](gang::PodGroup& group) {
    group.status.queue = {"vision", 0, max_runtime_seconds};
  });
}

TEST_CASE("the smaller of the job's active deadline and its queue's run-time limit applies",
          "[controller][limits]") {
  const std::string own = "the job was active for longer than its activeDeadlineSeconds (60 s)";
  const std::string of_queue =
      "the job was active for longer than queue vision allows (maxRuntimeSeconds, 30 s)";
  struct Row {
    std::string when;
    std::optional<std::int64_t> own;
    std::int64_t of_queue;
    std::chrono::seconds ends_after;
    std::string says;
  };
  const auto row = GENERATE_COPY(values<Row>({
      {"the job has none", std::nullopt, 30, 30s, of_queue},
      {"the queue's is smaller", 60, 30, 30s, of_queue},
      {"the job's is smaller", 60, 90, 60s, own},
      {"both are equal", 60, 60, 60s, own},
  }));
  INFO("when " << row.when);
  job::Job job = a_job(1, 0);
  job.spec.active_deadline_seconds = row.own;
  World world = started(std::move(job));
  put_in_queue(world, row.of_queue);
  CHECK(reconcile(world.seen).requeue_after == row.ends_after);
  world.seen.now += row.ends_after - 1s;
  world.settle();
  CHECK(world.seen.job.status.phase == Phase::kRunning);
  world.seen.now += 1s;
  world.settle();
  CHECK(world.seen.job.status.phase == Phase::kFailed);
  CHECK(world.seen.job.status.reason == "DeadlineExceeded");
  CHECK(message(world, kFailed) == row.says);
}

TEST_CASE("the run-time limit of a queue counts over all attempts, and no time in the queue",
          "[controller][limits]") {
  job::Job job = a_job();
  job.spec.backoff_limit = 9;
  World world = started(std::move(job));
  put_in_queue(world, 15);
  world.seen.now += 10s;
  world.end("dqn-coordinator", false);
  world.settle();
  REQUIRE(world.seen.job.status.attempt == 2);
  world.seen.now += 1h;
  world.settle();
  put_in_queue(world, 15);
  CHECK(world.settle() >= 0);
  CHECK(world.seen.job.status.phase == Phase::kCreated);
  world.start();
  CHECK(reconcile(world.seen).requeue_after == 5s);
  world.seen.now += 5s;
  world.settle();
  CHECK(world.seen.job.status.reason == "DeadlineExceeded");
}

TEST_CASE("a deadline counts over all attempts, and not between them", "[controller][limits]") {
  job::Job job = a_job();
  job.spec.active_deadline_seconds = 15;
  job.spec.backoff_limit = 9;
  World world = started(std::move(job));
  world.seen.now += 10s;
  world.end("dqn-coordinator", false);
  world.settle();
  CHECK(world.seen.job.status.attempt == 2);
  CHECK(world.seen.job.status.active_seconds == 10);
  CHECK_FALSE(world.seen.job.status.active_since);
  CHECK(reconcile(world.seen).requeue_after == 10s);  // the back-off
  world.seen.now += 1h;
  world.start();
  CHECK(world.seen.job.status.phase == Phase::kRunning);
  CHECK(reconcile(world.seen).requeue_after == 5s);
  world.seen.now += 5s;
  world.settle();
  CHECK(world.seen.job.status.reason == "DeadlineExceeded");
  CHECK(world.seen.job.status.active_seconds == 15);
}

TEST_CASE("time in the queue does not count against the active deadline", "[controller][limits]") {
  job::Job job = a_job(1, 0);
  job.spec.active_deadline_seconds = 60;
  World world(std::move(job));
  world.seen.now = std::chrono::floor<std::chrono::seconds>(world.seen.now);
  world.settle();
  const auto wait_for_a_day = [&world] {
    world.refuse("collector: 1 of 1 do not fit");
    world.settle();
    world.seen.now += 24h;
    world.settle();
    CHECK(world.seen.job.status.phase == Phase::kCreated);
    CHECK_FALSE(reconcile(world.seen).requeue_after.has_value());
  };
  SECTION("before the first start") { wait_for_a_day(); }
  SECTION("after the cluster has taken the job back") {
    world.start();
    REQUIRE(world.seen.job.status.phase == Phase::kRunning);
    world.seen.now += 5s;
    world.change_pod("dqn-coordinator", [](kube::Pod& pod) { pod.node_lost = "n1 is gone"; });
    world.settle();
    CHECK(world.seen.job.status.attempt == 2);
    CHECK(world.seen.job.status.active_seconds == 5);
    world.seen.now += 10s;
    world.settle();
    wait_for_a_day();
  }
}

TEST_CASE("an exhausted deadline also ends a waiting job", "[controller][limits]") {
  job::Job job = a_job();
  job.spec.active_deadline_seconds = 60;
  job.spec.backoff_limit = 9;
  World world = started(std::move(job));
  world.seen.now += 20s;
  world.end("dqn-coordinator", false);
  world.settle();
  REQUIRE(world.seen.job.status.phase == Phase::kCreated);
  world.seen.job.spec.active_deadline_seconds = 20;
  world.settle();
  CHECK(world.seen.job.status.reason == "DeadlineExceeded");
}

TEST_CASE("a resumed job has its whole active deadline again", "[controller][limits]") {
  job::Job job = a_job();
  job.spec.active_deadline_seconds = 60;
  World world = started(std::move(job));
  world.seen.now += 40s;
  world.seen.job.spec.suspend = true;
  world.settle();
  CHECK(world.seen.job.status.active_seconds == 40);
  world.seen.job.spec.suspend = false;
  world.settle();
  CHECK(world.seen.job.status.active_seconds == 0);
  world.start();
  CHECK(reconcile(world.seen).requeue_after == 60s);
}

TEST_CASE("active time while the controller was down counts", "[controller][limits]") {
  job::Job job = a_job(1, 0);
  job.spec.active_deadline_seconds = 60;
  job.spec.backoff_limit = 1;
  World world(std::move(job));
  world.seen.now = std::chrono::floor<std::chrono::seconds>(world.seen.now);
  world.make_gang();
  const SysTime bound = world.seen.now + 1s;
  for (const std::string& pod : world.pod_names()) {
    world.run(pod);
    world.change_pod(pod, [&](kube::Pod& p) { p.bound_since = bound; });
  }
  world.seen.now += 41s;
  SECTION("it runs") {
    world.settle();
    CHECK(world.seen.job.status.active_since == bound);
    CHECK(reconcile(world.seen).requeue_after == 20s);
  }
  SECTION("its coordinator has ended") {
    world.end("dqn-coordinator", false);
    world.settle();
    CHECK(world.seen.job.status.attempt == 2);
    CHECK(world.seen.job.status.active_seconds == 40);
  }
}

TEST_CASE("a clock that is set back neither ends a job early nor extends it for long",
          "[controller][limits]") {
  job::Job job = a_job();
  job.spec.active_deadline_seconds = 60;
  World world = started(std::move(job));
  world.seen.now -= 1h;
  world.settle();
  CHECK(world.seen.job.status.active_since == world.seen.now);
  CHECK(reconcile(world.seen).requeue_after == 60s);
}

TEST_CASE("a gang that lost its placements before it ran is not active while it waits",
          "[controller][limits]") {
  job::Job job = a_job(1, 0);
  job.spec.active_deadline_seconds = 60;
  job.spec.start_timeout_seconds = 30;
  World world(std::move(job));
  world.seen.now = std::chrono::floor<std::chrono::seconds>(world.seen.now);
  world.make_gang();
  world.bind(world.name(job::Role::kCollector));
  world.settle();
  REQUIRE(world.seen.job.status.active_since);
  world.seen.pod_groups.clear();  // a user deletes it
  world.settle();
  REQUIRE(world.seen.pod_groups.size() == 1);
  CHECK_FALSE(world.seen.job.status.active_since);
  world.refuse("collector: 1 of 1 do not fit");
  world.settle();
  world.seen.now += 24h;
  CHECK(world.settle() == 0);
  CHECK(world.seen.job.status.phase == Phase::kCreated);
  CHECK(world.seen.job.status.attempt == 1);
}

// -- startTimeoutSeconds

// The coordinator runs, and its collector's image cannot be pulled.
World half_started(job::Job job) {
  World world(std::move(job));
  world.seen.now = std::chrono::floor<std::chrono::seconds>(world.seen.now);
  world.make_gang();
  world.bind(world.name(job::Role::kCollector));
  world.change_pod(world.name(job::Role::kCollector), [](kube::Pod& pod) {
    kube::ContainerState main;
    main.name = "nervex-container";
    main.reason = "ImagePullBackOff";
    pod.containers = std::vector{main};
  });
  world.run("dqn-coordinator");
  world.settle();
  return world;
}

TEST_CASE("an attempt whose pods do not all run in time has failed", "[controller][limits]") {
  job::Job job = a_job(1, 0);
  job.spec.start_timeout_seconds = 30;
  const bool by_default = GENERATE(false, true);
  if (by_default) job.spec.start_timeout_seconds.reset();
  const int retries = GENERATE(0, 1);
  job.spec.backoff_limit = retries;
  World world = half_started(std::move(job));
  if (by_default) world.seen.start_timeout = 30s;
  CHECK(reconcile(world.seen).requeue_after == 30s);
  world.seen.now += 30s;
  world.settle();
  const job::Status& status = world.seen.job.status;
  CHECK(status.attempt == (retries == 0 ? 1 : 2));
  CHECK(status.phase == (retries == 0 ? Phase::kFailed : Phase::kCreated));
  CHECK(status.failed_attempts == 1);
  REQUIRE(status.last_attempt);
  CHECK(status.last_attempt->reason == "StartTimeout");
  CHECK(status.last_attempt->message ==
        "1 of 2 pods of the gang did not start within 30 s (" +
            std::string(by_default ? "nervex-controller --start-timeout" : "startTimeoutSeconds") +
            "): the image of pod " + world.name(job::Role::kCollector) + " cannot be pulled");
  CHECK(world.seen.pod_groups.empty());
  CHECK(world.pod_names().empty());
  CHECK_FALSE(world.events.back().empty());
  if (retries == 0) CHECK(status.reason == "StartTimeout");
  if (retries == 1) CHECK(status.next_attempt_time == world.seen.now + 10s);
}

TEST_CASE("a job that never ran has no start time after StartTimeout", "[controller][limits]") {
  job::Job job = a_job(1, 0);
  job.spec.start_timeout_seconds = 30;
  World world(std::move(job));
  world.make_gang();
  for (const std::string& pod : world.pod_names()) world.bind(pod);
  world.settle();
  world.seen.now += 31s;
  world.settle();
  CHECK(world.seen.job.status.reason == "StartTimeout");
  CHECK_FALSE(world.seen.job.status.start_time);
  CHECK(world.seen.job.status.coordinator == job::RoleCounts{});
}

TEST_CASE("the start timeout does not apply again after the gang has started",
          "[controller][limits]") {
  job::Job job = a_job(1, 0);
  job.spec.start_timeout_seconds = 30;
  World world = half_started(std::move(job));
  const std::string collector = world.name(job::Role::kCollector);
  SECTION("when a pod of it is replaced") {
    world.run(collector);
    world.settle();
    CHECK(world.seen.job.status.gang_started_time == world.seen.now);
    world.delete_pod(collector);
    world.settle();
    world.plan();
    world.settle();
  }
  SECTION("when a pod of it has finished soon") {
    world.end(collector, true);
    world.settle();
    CHECK(world.seen.job.status.gang_started_time == world.seen.now);
  }
  world.seen.now += 1h;
  world.settle();
  CHECK(world.seen.job.status.phase == Phase::kRunning);
}

// Its status has no gangStartedTime, and the pod that ran first is not there any more.
TEST_CASE("the start timeout does not apply to jobs that run when the controller is upgraded",
          "[controller][limits]") {
  World world = started(a_job(1, 0));
  world.seen.now += 24h;
  world.delete_pod(world.name(job::Role::kCollector));
  world.settle();
  world.seen.job.status.active_since.reset();
  world.seen.job.status.gang_started_time.reset();
  world.seen.start_timeout = 10min;
  for (const std::string& pod : world.pod_names()) {
    world.change_pod(pod, [&](kube::Pod& p) { p.bound_since = world.seen.now - 24h; });
  }
  world.settle();
  CHECK(world.seen.job.status.phase == Phase::kRunning);
  CHECK(world.seen.job.status.attempt == 1);
  world.seen.now += 1h;
  world.settle();
  CHECK(world.seen.job.status.phase == Phase::kRunning);
}

TEST_CASE("while a gang waits for capacity its start does not time out", "[controller][limits]") {
  job::Job job = a_job(1, 0);
  job.spec.start_timeout_seconds = 30;
  World world(std::move(job));
  world.settle();
  world.refuse("collector: 1 of 1 do not fit");
  world.settle();
  CHECK_FALSE(reconcile(world.seen).requeue_after.has_value());
  world.seen.now += 1h;
  CHECK(world.settle() == 0);
}

TEST_CASE("a job that exceeds its schedule timeout fails and says what it waited for",
          "[controller][limits]") {
  job::Job job = a_job(1, 0);
  job.spec.schedule_timeout_seconds = 30;
  World world(std::move(job));
  world.settle();
  world.refuse("collector: 1 of 1 do not fit");
  world.settle();
  CHECK(reconcile(world.seen).requeue_after == 30s);
  world.seen.now += 30s;
  world.settle();
  CHECK(world.seen.job.status.phase == Phase::kFailed);
  CHECK(world.seen.job.status.reason == "ScheduleTimeout");
  CHECK(
      message(world, kFailed) ==
      "the job waited for capacity for longer than its scheduleTimeoutSeconds (30 s): collector: 1 "
      "of 1 do not fit");
  CHECK(world.seen.pod_groups.empty());
  CHECK_FALSE(world.seen.job.status.start_time.has_value());
}

TEST_CASE("the schedule timeout message says which creation failed", "[controller][limits]") {
  job::Job job = a_job(1, 0);
  job.spec.schedule_timeout_seconds = 30;
  World world(std::move(job));
  world.make_gang();
  job::set_condition(
      world.seen.job.status,
      {std::string(kPodsCreated), false, "FailedCreate", "create pod: 403 no such account", {}, 1});
  world.seen.now += 30s;
  world.settle();
  CHECK(
      message(world, kFailed) ==
      "the job waited for capacity for longer than its scheduleTimeoutSeconds (30 s): create pod: "
      "403 no such account");
}

TEST_CASE("a gang whose pods are all bound no longer waits", "[controller][limits]") {
  job::Job job = a_job(1, 0);
  job.spec.schedule_timeout_seconds = 30;
  World world(std::move(job));
  world.make_gang();
  world.bind(world.name(job::Role::kCollector));
  world.settle();
  CHECK(reconcile(world.seen).requeue_after.has_value());
  world.bind("dqn-coordinator");
  world.settle();
  world.seen.now += 1h;
  CHECK(world.settle() == 0);
  CHECK(world.seen.job.status.phase == Phase::kCreated);
}

TEST_CASE("a gang that was bound as a whole and loses a pod does not wait for capacity again",
          "[controller][limits]") {
  job::Job job = a_job(1, 0);
  job.spec.schedule_timeout_seconds = 30;
  World world(std::move(job));
  world.make_gang();
  world.bind(world.name(job::Role::kCollector));
  world.bind("dqn-coordinator");
  world.settle();
  world.delete_pod(world.name(job::Role::kCollector));
  world.settle();
  world.seen.now += 1h;
  world.settle();
  CHECK(world.seen.job.status.phase == Phase::kCreated);
  CHECK(world.seen.job.status.attempt == 1);
}

TEST_CASE("the schedule timeout starts after the back-off", "[controller][limits]") {
  job::Job job = a_job();
  job.spec.schedule_timeout_seconds = 5;
  job.spec.backoff_limit = 1;
  World world = started(std::move(job));
  world.end("dqn-coordinator", false);
  world.settle();
  world.seen.now += 10s;
  world.settle();
  CHECK(world.seen.pod_groups.size() == 1);
  CHECK(reconcile(world.seen).requeue_after == 5s);
}

TEST_CASE("no timeout runs while a job is suspended", "[controller][limits]") {
  job::Job job = a_job();
  job.spec.active_deadline_seconds = 5;
  job.spec.schedule_timeout_seconds = 5;
  World world = started(std::move(job));
  world.seen.job.spec.suspend = true;
  world.settle();
  world.seen.now += 1h;
  CHECK(world.settle() == 0);
  CHECK_FALSE(reconcile(world.seen).requeue_after.has_value());
  world.seen.job.spec.suspend = false;
  world.settle();
  CHECK(world.seen.job.status.phase == Phase::kCreated);
  CHECK(reconcile(world.seen).requeue_after == 5s);
}

TEST_CASE("a finished job is deleted after its TTL, after its objects", "[controller][limits]") {
  job::Job job = a_job(1, 0);
  job.spec.ttl_seconds_after_finished = 100;
  World world = started(std::move(job));
  world.end("dqn-coordinator", true);
  world.settle();
  CHECK(world.seen.job.status.phase == Phase::kSucceeded);
  CHECK(reconcile(world.seen).requeue_after == 100s);
  world.seen.now -= 1h;  // another machine's clock
  CHECK(world.settle() == 0);
  CHECK_FALSE(world.job_is_deleted);
  world.seen.now += 1h + 99s;
  CHECK(world.settle() == 0);
  world.seen.now += 1s;
  world.settle();
  CHECK(world.job_is_deleted);
}

TEST_CASE("a job with a TTL of 0 is deleted as soon as it is cleaned up", "[controller][limits]") {
  job::Job job = a_job(1, 0);
  job.spec.ttl_seconds_after_finished = 0;
  World world = started(std::move(job));
  world.end("dqn-coordinator", true);
  world.look();
  world.apply(reconcile(world.seen).actions);
  CHECK_FALSE(world.job_is_deleted);
  world.settle();
  CHECK(world.job_is_deleted);
  CHECK(world.seen.pod_groups.empty());
}

TEST_CASE("the largest values of time limits do not overflow", "[controller][limits]") {
  job::Job job = a_job();
  job.spec.active_deadline_seconds = std::numeric_limits<std::int64_t>::max();
  job.spec.schedule_timeout_seconds = std::numeric_limits<std::int64_t>::max();
  World world = started(std::move(job));
  CHECK(world.seen.job.status.phase == Phase::kRunning);
  CHECK(*reconcile(world.seen).requeue_after > 24h * 365);
}

// -- retries and their back-off

using std::chrono::seconds;

TEST_CASE("the default backoffLimit follows from the restart policy", "[controller][backoff]") {
  struct Row {
    std::string when;
    std::string policy;
    std::optional<int> limit;
    std::optional<int> want;
  };
  const auto row = GENERATE(values<Row>({
      {"nothing is said", "", std::nullopt, 0},
      {"a container is never restarted", "Never", std::nullopt, 0},
      {"it is restarted in place", "OnFailure", std::nullopt, std::nullopt},
      {"it always is", "Always", std::nullopt, std::nullopt},
      {"the user says", "Never", 3, 3},
      {"backoffLimit is set", "Always", 0, 0},
  }));
  INFO("when " << row.when);
  job::Spec spec = testing::a_job().spec;
  if (!row.policy.empty()) spec.coordinator_template["spec"]["restartPolicy"] = row.policy;
  spec.backoff_limit = row.limit;
  CHECK(backoff_limit(spec, kCoordinatorFailed) == row.want);
}

TEST_CASE("a restart in place is retried without limit by default, other failures as Never says",
          "[controller][backoff]") {
  job::Spec spec = testing::a_job().spec;
  Json& main = spec.coordinator_template["spec"]["containers"][0];
  main["restartPolicy"] = "Never";
  main["restartPolicyRules"] = {
      {{"action", "Restart"}, {"exitCodes", {{"operator", "In"}, {"values", {42}}}}}};
  CHECK(backoff_limit(spec, kCoordinatorRestarted) == std::nullopt);
  for (const auto reason : {kCoordinatorFailed, kCoordinatorLost, kPodGroupLost, kStartTimeout}) {
    CHECK(backoff_limit(spec, reason) == 0);
  }
  spec.backoff_limit = 3;
  CHECK(backoff_limit(spec, kCoordinatorRestarted) == 3);
}

TEST_CASE("failed attempts are retried up to backoffLimit", "[controller][backoff]") {
  job::Spec spec = testing::a_job().spec;
  spec.backoff_limit = 2;
  CHECK(may_retry(spec, 1, kCoordinatorFailed));
  CHECK(may_retry(spec, 2, kCoordinatorFailed));
  CHECK_FALSE(may_retry(spec, 3, kCoordinatorFailed));
}

TEST_CASE("the back-off doubles up to six minutes", "[controller][backoff]") {
  CHECK(retry_delay(seconds(10), 1) == seconds(10));
  CHECK(retry_delay(seconds(10), 2) == seconds(20));
  CHECK(retry_delay(seconds(10), 6) == seconds(320));
  CHECK(retry_delay(seconds(10), 7) == seconds(360));
  CHECK(retry_delay(seconds(10), 1'000'000) == seconds(360));
  CHECK(retry_delay(std::chrono::milliseconds(500), 2) == seconds(1));
  CHECK(retry_delay(std::chrono::hours(1), 1) == seconds(360));
}

}  // namespace
}  // namespace nervex::controller
