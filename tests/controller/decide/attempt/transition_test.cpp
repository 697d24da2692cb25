// One attempt after the other: retries, requeues, suspending.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "controller/decide/attempt/templates_hash.h"
#include "controller/decide/live_checks.h"
#include "controller/decide/make_round.h"
#include "controller/decide/reasons.h"
#include "tests/controller/world.h"
#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using namespace std::chrono_literals;
using job::Phase;
using job::Role;
using job::RoleCounts;
using testing::a_job;
using testing::an_entry;
using testing::World;
using Strings = std::vector<std::string>;

constexpr const char* kCoordinator = "dqn-coordinator";

kube::ContainerState container(const char* name, int restarts, int exit_code = 0,
                               const std::string& words = "", bool terminated = false) {
  kube::ContainerState state;
  state.name = name;
  state.restarts = restarts;
  state.exit_code = exit_code;
  state.message = words;
  state.terminated = terminated;
  return state;
}

World running(job::Job job) {
  World world(std::move(job));
  world.start();
  world.created.clear();
  world.deleted.clear();
  world.events.clear();
  world.status_writes = 0;
  return world;
}

job::Job a_job_with_retries(int limit) {
  job::Job job = a_job(1, 0);
  job.spec.backoff_limit = limit;
  return job;
}

const job::Condition& condition(const World& world, std::string_view type) {
  const auto* found = find_condition(world.seen.job.status, type);
  if (found == nullptr) throw std::logic_error("no condition " + std::string(type));
  return *found;
}

void exit_with(World& world, int code, const std::string& words) {
  world.end(kCoordinator, false);
  world.change_pod(kCoordinator, [&](kube::Pod& pod) {
    pod.containers = {container("nervex-container", 0, code, words, true)};
  });
}

// -- retries

TEST_CASE("a failed attempt ends in one write, before anything is deleted",
          "[controller][attempts]") {
  World world = running(a_job_with_retries(1));
  const SysTime started = *world.seen.job.status.start_time;
  const auto queued = world.seen.job.status.queued_since;
  world.seen.now += 30s;
  exit_with(world, 3, "no data left");
  world.look();
  const Actions actions = reconcile(world.seen).actions;
  REQUIRE(actions.size() == 2);
  const job::Status& status = std::get<UpdateStatus>(actions[0]).status;
  CHECK(status.attempt == 2);
  CHECK(status.phase == Phase::kCreated);
  CHECK(status.reason == "BackOff");
  CHECK(status.failed_attempts == 1);
  CHECK(status.queued_since == queued);
  CHECK(status.waiting_since == world.seen.now);
  CHECK(status.start_time == started);
  CHECK(status.next_attempt_time >= world.seen.now + 10s);
  CHECK(status.coordinator == RoleCounts{});
  CHECK(status.collector == RoleCounts{});
  REQUIRE(status.last_attempt.has_value());
  CHECK(status.last_attempt->attempt == 1);
  CHECK(status.last_attempt->reason == "CoordinatorFailed");
  CHECK(status.last_attempt->exit_code == 3);
  CHECK(status.last_attempt->message == "no data left");
  CHECK(std::get<RecordEvent>(actions[1]).event.reason == "CoordinatorFailed");
}

TEST_CASE("after the back-off everything is created again", "[controller][attempts]") {
  World world = running(a_job_with_retries(1));
  exit_with(world, 1, "");
  CHECK(world.settle() >= 0);
  CHECK(world.pod_names().empty());
  CHECK(world.service_names().empty());
  CHECK(world.seen.pod_groups.empty());
  CHECK(world.deleted.back() == "podgroup dqn-1");  // when its pods are
  CHECK(condition(world, kScheduled)
            .message.starts_with(
                "attempt 1 ended with CoordinatorFailed, exit code 1; attempt 2 starts at "));
  const auto wait = reconcile(world.seen).requeue_after;
  REQUIRE(wait.has_value());
  CHECK(*wait >= 10s);
  CHECK(*wait <= 11s);

  world.seen.now += *wait;
  CHECK(world.settle() >= 0);
  CHECK(world.created == Strings{"podgroup dqn-2"});
  CHECK(world.seen.job.status.reason == "Queued");
  world.plan();
  world.settle();
  world.run_all();
  world.settle();
  CHECK(world.seen.job.status.phase == Phase::kRunning);
  CHECK(condition(world, kRunning).status);
  CHECK(world.seen.job.status.failed_attempts == 1);
}

TEST_CASE("a retried job keeps its place in the queue", "[controller][attempts]") {
  World world = running(a_job_with_retries(1));
  const SysTime queued = world.seen.pod_groups.front()->spec.queued_since;
  world.seen.now += 1h;
  exit_with(world, 1, "");
  world.settle();
  world.seen.now += 1min;
  world.settle();
  CHECK(world.seen.pod_groups.front()->spec.queued_since == queued);
}

TEST_CASE("a requeued job keeps its place in the queue, and its waiting time starts again",
          "[controller][attempts]") {
  World world = running(a_job_with_retries(0));
  const SysTime queued = world.seen.pod_groups.front()->spec.queued_since;
  world.seen.now += 1h;
  world.change_pod(kCoordinator, [](kube::Pod& pod) { pod.node_lost = "n1 is gone"; });
  world.settle();
  CHECK(world.seen.job.status.attempt == 2);
  CHECK(world.seen.job.status.queued_since == queued);
  CHECK(world.seen.job.status.waiting_since == world.seen.now);
  REQUIRE(world.seen.pod_groups.size() == 1);
  CHECK(world.seen.pod_groups.front()->spec.queued_since == queued);
}

TEST_CASE("the last retry's failure is the job's", "[controller][attempts]") {
  World world = running(a_job_with_retries(1));
  for (int attempt = 0; attempt < 2; ++attempt) {
    exit_with(world, 1, "oh");
    world.settle();
    world.seen.now += 1min;
    world.settle();
    if (attempt == 1) break;
    world.plan();
    world.settle();
    world.run_all();
    world.settle();
  }
  const job::Status& status = world.seen.job.status;
  CHECK(status.phase == Phase::kFailed);
  CHECK(status.reason == "BackoffLimitExceeded");
  CHECK(status.failed_attempts == 2);
  CHECK(status.attempt == 2);
  CHECK(condition(world, kFailed).message ==
        "2 attempts failed, and backoffLimit is 1; last failure: the coordinator's container "
        "nervex-container exited with 1: oh");
}

TEST_CASE("without retries the reason is how the coordinator failed", "[controller][attempts]") {
  World world = running(a_job_with_retries(0));
  exit_with(world, 1, "");
  world.settle();
  CHECK(world.seen.job.status.reason == "CoordinatorFailed");
  CHECK(world.seen.job.status.last_attempt->exit_code == 1);
}

TEST_CASE("a coordinator or PodGroup that is lost uses up a retry", "[controller][attempts]") {
  World world = running(a_job_with_retries(1));
  std::string want;
  SECTION("the coordinator") {
    world.remove_pod(kCoordinator);
    want = "CoordinatorLost";
  }
  SECTION("the PodGroup") {
    world.seen.pod_groups.clear();
    want = "PodGroupLost";
  }
  world.settle();
  CHECK(world.seen.job.status.phase == Phase::kCreated);
  CHECK(world.seen.job.status.failed_attempts == 1);
  CHECK(world.seen.job.status.last_attempt->reason == want);
  CHECK(world.pod_names().empty());
}

TEST_CASE("a coordinator restarted in place fails the attempt, and is created again too",
          "[controller][attempts]") {
  job::Job job = a_job(1, 0);
  job.spec.coordinator_template["spec"]["restartPolicy"] = "Always";
  World world = running(std::move(job));
  world.change_pod(kCoordinator, [](kube::Pod& pod) {
    pod.containers = {container("nervex-container", 1, 137, "killed")};
  });
  world.settle();
  const job::Status& status = world.seen.job.status;
  CHECK(status.attempt == 2);
  CHECK(status.failed_attempts == 1);
  CHECK(status.last_attempt->reason == "CoordinatorRestarted");
  CHECK(status.last_attempt->exit_code == 137);
  CHECK(world.pod_names().empty());
}

TEST_CASE("a coordinator that a rule restarts is retried, and fails the job with another exit code",
          "[controller][attempts]") {
  job::Job job = a_job(1, 0);
  Json& main = job.spec.coordinator_template["spec"]["containers"][0];
  main["restartPolicy"] = "Never";
  main["restartPolicyRules"] = {
      {{"action", "Restart"}, {"exitCodes", {{"operator", "In"}, {"values", {42}}}}}};
  World world = running(std::move(job));
  SECTION("after a restart") {
    world.change_pod(kCoordinator, [](kube::Pod& pod) {
      pod.containers = {container("nervex-container", 1, 42, "again")};
    });
    world.settle();
    CHECK(world.seen.job.status.attempt == 2);
    CHECK(world.seen.job.status.last_attempt->reason == "CoordinatorRestarted");
  }
  SECTION("after an exit that no rule names") {
    exit_with(world, 1, "no");
    world.settle();
    CHECK(world.seen.job.status.phase == Phase::kFailed);
    CHECK(world.seen.job.status.reason == "CoordinatorFailed");
  }
}

TEST_CASE("a sidecar may restart as it likes", "[controller][attempts]") {
  World world = running(a_job_with_retries(1));
  world.change_pod(kCoordinator, [](kube::Pod& pod) {
    pod.containers = {container("a-sidecar", 7), container("nervex-container", 0)};
  });
  CHECK(world.settle() == 0);
}

TEST_CASE("the coordinator's last output is cut to the size of a termination message",
          "[controller][attempts]") {
  World world = running(a_job_with_retries(1));
  std::string words;
  for (int i = 0; i < 3000; ++i) words += "\u00fc";  // two bytes each
  exit_with(world, 1, "x" + words + "y");
  world.settle();
  const std::string& kept = world.seen.job.status.last_attempt->message;
  CHECK(kept.size() == 4095);  // not half a character
  CHECK(kept.ends_with("\u00fcy"));
  CHECK(kept.starts_with("\u00fc"));
}

TEST_CASE("state of one attempt does not carry over to the next", "[controller][attempts]") {
  World world = running(a_job_with_retries(1));
  world.seen.job.spec.requests.entries = {an_entry(1, Role::kCollector, 1)};
  world.make_gang();
  world.run_all();
  world.end(world.name(Role::kCollector), false);
  world.settle();
  REQUIRE(world.seen.job.status.ended.size() == 1);
  REQUIRE(condition(world, kRequestsScheduled).status);
  exit_with(world, 1, "");
  world.settle();
  CHECK(world.seen.job.status.ended.empty());
  CHECK(find_condition(world.seen.job.status, kRequestsScheduled) == nullptr);
  CHECK_FALSE(condition(world, kRunning).status);
  world.seen.now += 1min;
  world.settle();
  const auto& gangs = world.seen.pod_groups.front()->spec.gangs;
  REQUIRE(gangs.size() == 1);
  CHECK(gangs.front().members.size() == 2);  // the base replicas alone
}

// -- free new attempts

TEST_CASE("a disrupted coordinator costs no retry", "[controller][attempts]") {
  World world = running(a_job_with_retries(0));
  std::string want;
  SECTION("it is evicted and still terminating") {
    world.change_pod(kCoordinator, [](kube::Pod& pod) {
      pod.disruption_target = true;
      pod.disruption_reason = "EvictionByEvictionAPI";
      pod.meta.deleting = true;
    });
    want = "Evicted";
  }
  SECTION("it is evicted and deleted") {
    world.change_pod(kCoordinator, [](kube::Pod& pod) {
      pod.disruption_target = true;
      pod.disruption_reason = "EvictionByEvictionAPI";
    });
    world.remove_pod(kCoordinator);
    want = "Evicted";
  }
  SECTION("it failed because of it") {
    exit_with(world, 143, "");
    world.change_pod(kCoordinator, [](kube::Pod& pod) {
      pod.disruption_target = true;
      pod.disruption_reason = "PreemptionByScheduler";
    });
    want = "Preempted";
  }
  SECTION("its node is lost, and the planner has placed it elsewhere") {
    world.replan("base");
    want = "NodeLost";
  }
  world.seen.now += 1min;
  world.settle();
  const job::Status& status = world.seen.job.status;
  CHECK(status.phase == Phase::kCreated);
  CHECK(status.attempt == 2);
  CHECK(status.failed_attempts == 0);
  CHECK(status.last_attempt->reason == want);
  CHECK(condition(world, kRequeued).status);
  CHECK(condition(world, kRequeued).reason == want);
  CHECK(world.events.front() == "Requeued");
}

TEST_CASE("a coordinator that was deleted with its node costs no retry", "[controller][attempts]") {
  World world = running(a_job_with_retries(0));
  world.remove_pod(kCoordinator);
  world.look();
  world.seen.coordinator_node_is_lost = true;
  world.apply(reconcile(world.seen).actions);
  CHECK(condition(world, kRequeued).reason == "NodeLost");
}

TEST_CASE("a coordinator on a lost node costs no retry, and its pod does not block the next one",
          "[controller][attempts]") {
  const bool is_leaving = GENERATE(false, true);
  World world = running(a_job_with_retries(0));
  world.change_pod(kCoordinator, [&](kube::Pod& pod) {
    pod.node_lost = "not Ready since 2026-11-22T10:00:07Z";
    pod.meta.deleting = is_leaving;
  });
  world.apply(reconcile(world.seen).actions);
  CHECK(condition(world, kRequeued).reason == "NodeLost");
  CHECK(condition(world, kRequeued).message ==
        "the coordinator's node n1 is lost (not Ready since 2026-11-22T10:00:07Z)");
  CHECK(world.seen.job.status.attempt == 2);
  CHECK(world.seen.job.status.failed_attempts == 0);
  CHECK(world.settle() >= 0);
  CHECK(std::count(world.deleted.begin(), world.deleted.end(),
                   std::string("pod ") + kCoordinator + " at once") == 1);
  CHECK(world.pod_names().empty());
}

// Kubernetes' pod garbage collector passes every 20 s and marks those Failed that are deleted and
// were never bound: for example one whose placement has moved, until its finalizer is taken away.
TEST_CASE("a coordinator that was never bound has not run, though it is marked Failed",
          "[controller][attempts]") {
  World world(a_job_with_retries(0));
  world.make_gang();
  world.change_pod(kCoordinator, [](kube::Pod& pod) {
    REQUIRE(pod.node.empty());
    pod.meta.deleting = true;
    pod.phase = kube::PodPhase::kFailed;
  });
  world.settle();
  CHECK(world.seen.job.status.phase == Phase::kCreated);
  CHECK_FALSE(world.seen.job.status.start_time);
  world.remove_pod(kCoordinator);
  world.settle();
  CHECK(world.seen.job.status.attempt == 1);
  CHECK(world.seen.job.status.failed_attempts == 0);
  CHECK(world.seen.job.status.phase == Phase::kCreated);
  const auto names = world.pod_names();
  CHECK(std::count(names.begin(), names.end(), std::string(kCoordinator)) == 1);
}

TEST_CASE("a base gang that could not be healed is requeued", "[controller][attempts]") {
  World world = running(a_job_with_retries(0));
  const auto give_up = [&](std::int64_t generation) {
    world.change_group([&](gang::PodGroup& group) {
      group.status.observed_generation = generation;
      group.status.gangs.front().committed = true;
      group.status.gangs.front().reason = gang::kReasonHealingTimeout;
      group.status.gangs.front().message = "collector/0 lost its node n1 (deleted)";
    });
  };
  SECTION("if the status is about the current spec") {
    give_up(world.seen.pod_groups.front()->meta.generation);
    CHECK(live_checks(make_round(world.seen)).released);
    world.apply(reconcile(world.seen).actions);
    const job::Status& status = world.seen.job.status;
    CHECK(condition(world, kRequeued).status);
    CHECK(condition(world, kRequeued).reason == "HealingDeadlineExceeded");
    CHECK(condition(world, kRequeued).message == "collector/0 lost its node n1 (deleted)");
    CHECK(status.phase == job::Phase::kCreated);
    CHECK(status.attempt == 2);
    CHECK(status.failed_attempts == 0);
    CHECK(world.settle() >= 0);
    CHECK(world.pod_names().empty());
  }
  SECTION("not if the spec has changed") {
    give_up(world.seen.pod_groups.front()->meta.generation - 1);
    CHECK_FALSE(live_checks(make_round(world.seen)).released);
    world.settle();
    CHECK(world.seen.job.status.attempt == 1);
  }
}

TEST_CASE("a running job of a drained queue, or that is preempted, is requeued and keeps its place",
          "[controller][attempts]") {
  const std::string reason(GENERATE(gang::kReasonQueueDrained, gang::kReasonPreempted));
  World world = running(a_job_with_retries(0));
  // Says what stays when the job ends: an attempt that ends for others keeps no pod.
  world.seen.job.spec.clean_pod_policy =
      GENERATE(job::CleanPodPolicy::kRunning, job::CleanPodPolicy::kNone);
  const auto queued = world.seen.job.status.queued_since;
  world.seen.now += 1h;
  world.change_group([&](gang::PodGroup& group) {
    group.status.queue = {"vision"};
    group.status.gangs.front().committed = true;
    group.status.gangs.front().reason = reason;
    group.status.gangs.front().message = "queue vision is drained";
  });
  CHECK(live_checks(make_round(world.seen)).released);
  world.events.clear();
  world.apply(reconcile(world.seen).actions);
  const job::Status& status = world.seen.job.status;
  CHECK(condition(world, kRequeued).status);
  CHECK(condition(world, kRequeued).reason == reason);
  CHECK(condition(world, kRequeued).message == "queue vision is drained");
  CHECK(world.events == std::vector<std::string>{"Requeued"});
  CHECK(status.phase == job::Phase::kCreated);
  CHECK(status.attempt == 2);
  CHECK(status.failed_attempts == 0);
  CHECK_FALSE(status.next_attempt_time);
  CHECK(status.queued_since == queued);
  CHECK(status.waiting_since == world.seen.now);
  CHECK(world.settle() >= 0);
  CHECK(world.pod_names().empty());
  REQUIRE(world.seen.pod_groups.size() == 1);
  CHECK(world.seen.pod_groups[0]->spec.queued_since == *queued);
}

TEST_CASE("templates that change before the coordinator runs start the attempt again",
          "[controller][attempts]") {
  World world(a_job(2, 0));
  world.settle();
  const std::string when = GENERATE("it waits", "it is planned", "its pods wait to be bound",
                                    "its workers run", "a pod cannot be created");
  INFO("when " << when);
  if (when == "it waits") world.refuse("collector: 2 of 2 do not fit");
  if (when != "it waits") world.plan();
  if (when != "it waits" && when != "it is planned") world.settle();
  if (when == "its workers run") {
    world.commit();
    for (const int ordinal : {0, 1}) {
      world.bind(world.name(Role::kCollector, ordinal));
      world.run(world.name(Role::kCollector, ordinal));
    }
  }
  if (when == "a pod cannot be created") world.remove_pod(world.name(Role::kCollector, 1));
  world.settle();
  REQUIRE(world.seen.job.status.attempt == 1);
  const auto queued = world.seen.job.status.queued_since;
  const auto waiting = world.seen.job.status.waiting_since;
  world.events.clear();
  world.seen.now += 5s;

  world.seen.job.spec.collector->pod_template = testing::with_gpus(testing::a_template(), "4");
  ++world.seen.job.meta.generation;
  CHECK(world.settle() >= 0);
  const job::Status& status = world.seen.job.status;
  CHECK(status.attempt == 2);
  CHECK(status.phase == Phase::kCreated);
  CHECK(status.failed_attempts == 0);
  CHECK(status.queued_since == queued);
  CHECK(status.waiting_since == waiting);
  CHECK_FALSE(status.next_attempt_time);
  CHECK(find_condition(status, kPodsCreated) == nullptr);
  CHECK(world.pod_names().empty());
  CHECK(std::count(world.events.begin(), world.events.end(), kTemplateChanged) == 1);
  REQUIRE(world.seen.pod_groups.size() == 1);
  const auto* collectors = gang::find_set(world.seen.pod_groups.front()->spec, "collector");
  REQUIRE(collectors != nullptr);
  CHECK(kube::to_text(gang::encode_spec(world.seen.pod_groups.front()->spec))
            .find(R"("nvidia.com/gpu":"4")") != std::string::npos);
  world.start();
  CHECK(status.phase == Phase::kRunning);
}

TEST_CASE("templates that change all the time create pods at a limited rate",
          "[controller][attempts]") {
  World world(a_job(1, 0));
  world.seen.retry_delay = 10s;
  world.make_gang();
  const SysTime made = world.seen.now;
  world.change_group([&](gang::PodGroup& group) { group.meta.created = made; });
  world.seen.now += 3s;
  world.seen.job.spec.coordinator_template = testing::with_gpus(testing::a_template(), "4");
  world.settle();
  CHECK(world.seen.job.status.attempt == 2);
  REQUIRE(world.seen.job.status.next_attempt_time);
  CHECK(*world.seen.job.status.next_attempt_time ==
        std::chrono::ceil<std::chrono::seconds>(made + 10s));
}

TEST_CASE("an added role requeues no committed gang", "[controller][attempts]") {
  job::Job job = a_job(1, 0);
  job.spec.learner.reset();
  World world(std::move(job));
  world.make_gang();
  const bool committed = GENERATE(true, false);
  if (committed) world.commit();
  world.seen.job.spec.learner = job::RoleSpec{testing::a_template(), 0, 0, std::nullopt};
  world.settle();
  CHECK(world.seen.job.status.attempt == (committed ? 1 : 2));
}

TEST_CASE("a changed topology or node class plans a waiting job again", "[controller][attempts]") {
  struct Row {
    std::string when;
    void (*change)(job::Spec& spec);
    int want_attempt;
  };
  const auto row = GENERATE(values<Row>({
      {"nothing changes", [](job::Spec&) {}, 1},
      {"the job gets a topology",
       [](job::Spec& spec) {
         spec.topology = {"zone", true};
       },
       2},
      {"a policy changes", [](job::Spec& spec) { spec.collector->topology->is_required = false; },
       2},
      {"a role loses its topology", [](job::Spec& spec) { spec.collector->topology.reset(); }, 2},
      {"the order of classes changes",
       [](job::Spec& spec) {
         spec.collector->node_classes = {"a100", "h100"};
       },
       2},
      {"a role loses its classes", [](job::Spec& spec) { spec.collector->node_classes.clear(); },
       2},
      {"a role without pods gets a topology",
       [](job::Spec& spec) {
         spec.learner = job::RoleSpec{};
         spec.learner->topology = {"zone", true};
       },
       1},
  }));
  INFO("when " << row.when);
  job::Job job = a_job(1, 0);
  job.spec.learner.reset();
  job.spec.collector->topology = {"rack", true};
  job.spec.collector->node_classes = {"h100", "a100"};
  World world(std::move(job));
  world.settle();
  world.refuse("collector: 1 of 1 do not fit");
  world.settle();
  REQUIRE(world.seen.job.status.attempt == 1);
  const auto queued = world.seen.job.status.queued_since;
  world.seen.now += 1h;

  row.change(world.seen.job.spec);
  ++world.seen.job.meta.generation;
  CHECK(world.settle() >= 0);
  CHECK(world.seen.job.status.attempt == row.want_attempt);
  CHECK(world.seen.job.status.queued_since == queued);
  CHECK(world.seen.pod_groups.size() == 1);
}

TEST_CASE("an upgrade keeps the hash of jobs without topology and node classes",
          "[controller][attempts]") {
  job::Spec spec;
  spec.coordinator_template = Json::parse(R"({"spec": {"a": 1}})");
  spec.collector = job::RoleSpec{};
  spec.collector->pod_template = Json::parse(R"({"spec": {"b": 2}})");
  CHECK(templates_hash(spec, nullptr) ==
        "1 af64104c860244e8 44794e96a1499e74 95ef417b0c109ee6 - -");
}

TEST_CASE("templates that admission treats as equal have the same hash", "[controller][attempts]") {
  const auto hash = [](const char* pod_template) {
    job::Spec spec;
    spec.coordinator_template = Json::parse(pod_template);
    return templates_hash(spec, nullptr);
  };
  const std::string one = hash(R"({"spec": {"a": 1, "b": [{"c": "1"}, null], "e": {}}})");
  for (const char* same :
       {R"({"spec": {"e": {"f": null}, "b": [{"c": "1", "d": null}, null], "a": 1.0}})",
        R"({"metadata": null, "spec": {"a": 1, "b": [{"c": "1"}, null], "e": {}}})"}) {
    CHECK(hash(same) == one);
  }
  for (const char* other : {R"({"spec": {"a": 1, "b": [{"c": 1}, null], "e": {}}})",
                            R"({"spec": {"a": 1, "b": [{"c": "1"}], "e": {}}})",
                            R"({"spec": {"a": 1.5, "b": [{"c": "1"}, null], "e": {}}})",
                            R"({"spec": {"a": 1, "b": [{"c": "1"}, null]}, "e": {}})",
                            R"({"spec": {"a": 1, "b": [{}, null, "c"], "e": {}}})"}) {
    CHECK(hash(other) != one);
  }
  CHECK_FALSE(has_other_templates("", one, false));
  CHECK_FALSE(has_other_templates("2 a b c d", one, false));  // of a later version
  CHECK(has_other_templates("1 a b - -", one, false));        // as versions up to 0.2 wrote it
  CHECK_FALSE(has_other_templates(one.substr(0, one.rfind(' ')), one, false));
}

TEST_CASE("a job that waits follows its aggregator", "[controller][attempts]") {
  struct Row {
    std::string when;
    bool had_config = false;
    std::string before;  // spec.aggregator
    bool has_config = false;
    std::string after;
    int want_attempt = 2;
    bool want_group = true;
    bool want_aggregator = true;
  };
  const auto row = GENERATE(values<Row>({
      {"the config is made", false, "", true, "", 2, true, true},
      {"the config is deleted", true, "", false, "", 2, true, false},
      {"the config that it cannot go without is deleted", true, "PerJob", false, "PerJob", 2, false,
       true},
      {"it can go without from now on", true, "PerJob", true, "OnDemand", 2, true, false},
      {"it cannot go without any more", false, "", false, "PerJob", 2, false, true},
      {"it is to have one", true, "OnDemand", true, "", 2, true, true},
      {"it has one all the same", true, "", true, "PerJob", 1, true, true},
      {"it has none, and the config is made", false, "OnDemand", true, "OnDemand", 1, true, false},
  }));
  INFO("when " << row.when);
  job::Job job = a_job(1, 0);
  job.spec.aggregator = row.before;
  World world(std::move(job));
  if (row.had_config) world.add_aggregator_config();
  world.settle();
  world.refuse("collector: 1 of 1 do not fit");
  world.settle();
  REQUIRE(world.seen.job.status.attempt == 1);
  const auto queued = world.seen.job.status.queued_since;
  world.seen.now += 1h;

  world.seen.job.spec.aggregator = row.after;
  ++world.seen.job.meta.generation;
  if (row.has_config) world.add_aggregator_config();
  if (!row.has_config) world.seen.aggregator_config = nullptr;
  CHECK(world.settle() >= 0);
  CHECK(world.seen.job.status.attempt == row.want_attempt);
  CHECK(world.seen.job.status.queued_since == queued);
  CHECK((world.seen.pod_groups.size() == 1) == row.want_group);
  if (!row.want_group) return;
  const auto& spec = world.seen.pod_groups.front()->spec;
  CHECK((gang::find_set(spec, "aggregator") != nullptr) == row.want_aggregator);
}

TEST_CASE("a changed AggregatorConfig affects waiting jobs, not starting or running ones",
          "[controller][attempts]") {
  World world(a_job(1, 0));
  world.add_aggregator_config();
  world.settle();
  const std::string when = GENERATE("it waits", "it has a plan", "it starts", "it runs");
  INFO("when " << when);
  if (when == "it waits") world.refuse("collector: 1 of 1 do not fit");
  if (when != "it waits") world.plan();
  world.settle();
  if (when == "it starts" || when == "it runs") world.commit();
  if (when == "it runs") world.run_all();
  world.settle();
  world.seen.now += 1h;
  job::AggregatorConfig changed = *world.seen.aggregator_config;
  changed.meta.resource_version = "2";
  changed.pod_template = testing::with_gpus(testing::a_template(), "2");
  world.seen.aggregator_config = std::make_shared<const job::AggregatorConfig>(changed);
  CHECK(world.settle() >= 0);
  const bool is_planned_again = when == "it waits" || when == "it has a plan";
  CHECK(world.seen.job.status.attempt == (is_planned_again ? 2 : 1));
  REQUIRE(world.seen.pod_groups.size() == 1);
  CHECK((kube::to_text(gang::encode_spec(world.seen.pod_groups.front()->spec))
             .find(R"("nvidia.com/gpu":"2")") != std::string::npos) == is_planned_again);
}

TEST_CASE("an unreadable AggregatorConfig does not count as deleted", "[controller][attempts]") {
  World world(a_job(1, 0));
  world.add_aggregator_config();
  world.settle();
  world.seen.aggregator_config = nullptr;
  world.seen.aggregator_config_is_unreadable = true;
  CHECK(world.settle() >= 0);
  CHECK(world.seen.job.status.attempt == 1);
}

TEST_CASE("templates that change later restart nothing", "[controller][attempts]") {
  World world = running(a_job(1, 0));
  const auto change = [&world] {
    world.seen.job.spec.collector->pod_template = testing::with_gpus(testing::a_template(), "4");
    CHECK(world.settle() >= 0);
    CHECK(world.seen.job.status.attempt == 1);
    CHECK(world.events.empty());
  };
  SECTION("while the coordinator runs") { change(); }
  SECTION("when it runs, and that was not written yet") {
    world.seen.job.status.phase = Phase::kCreated;
    world.seen.job.spec.collector->pod_template = testing::with_gpus(testing::a_template(), "4");
    world.settle();
    CHECK(world.seen.job.status.attempt == 1);
  }
  SECTION("of a PodGroup that an earlier version made") {
    world.seen.job.status.phase = Phase::kCreated;
    world.change_group([](gang::PodGroup& group) { group.meta.annotations = {}; });
    world.change_pod(kCoordinator, [](kube::Pod& pod) { pod.phase = kube::PodPhase::kPending; });
    world.seen.job.spec.collector->pod_template = testing::with_gpus(testing::a_template(), "4");
    world.settle();
    CHECK(world.seen.job.status.attempt == 1);
  }
}

TEST_CASE("a DisruptionTarget condition on a pod that still runs ends nothing yet",
          "[controller][attempts]") {
  World world = running(a_job_with_retries(0));
  world.change_pod(kCoordinator, [](kube::Pod& pod) { pod.disruption_target = true; });
  CHECK(world.settle() == 0);
}

TEST_CASE("condition Requeued ends when the job runs", "[controller][attempts]") {
  World world = running(a_job_with_retries(0));
  exit_with(world, 1, "");
  world.change_pod(kCoordinator, [](kube::Pod& pod) { pod.reason = "OutOfcpu"; });
  world.seen.now += 1min;
  world.settle();
  CHECK(condition(world, kRequeued).reason == "Rejected");
  world.plan();
  world.settle();
  world.run_all();
  world.settle();
  CHECK_FALSE(condition(world, kRequeued).status);
  CHECK(world.seen.job.status.phase == Phase::kRunning);
}

TEST_CASE("requeues happen at most every ten seconds", "[controller][attempts]") {
  World world(a_job());
  world.make_gang();
  world.end(kCoordinator, false);
  world.change_pod(kCoordinator, [](kube::Pod& pod) { pod.reason = "OutOfcpu"; });
  world.settle();
  CHECK(world.seen.pod_groups.empty());
  CHECK(world.seen.job.status.reason == "BackOff");
  const auto wait = reconcile(world.seen).requeue_after;
  REQUIRE(wait.has_value());
  world.seen.now += *wait;
  world.settle();
  CHECK(world.seen.pod_groups.size() == 1);
}

// -- suspending

TEST_CASE("a suspended job has no objects and says so", "[controller][attempts]") {
  World world = running(a_job_with_retries(0));
  world.seen.job.spec.suspend = true;
  world.look();
  CHECK(reconcile(world.seen).actions.size() == 2);  // the status and its event come first
  CHECK(world.settle() == 3);                        // status, deletions, finalizers
  CHECK(world.status_writes == 1);
  CHECK(world.pod_names().empty());
  CHECK(world.service_names().empty());
  CHECK(world.seen.pod_groups.empty());
  const job::Status& status = world.seen.job.status;
  CHECK(status.phase == Phase::kCreated);
  CHECK(status.reason == "Suspended");
  CHECK(condition(world, kSuspended).status);
  CHECK_FALSE(condition(world, kScheduled).status);
  CHECK(condition(world, kScheduled).message ==
        "spec.suspend is true: set it to false to start the job");
  CHECK(status.ready == 0);
  CHECK(status.desired == 0);
  CHECK_FALSE(status.last_attempt.has_value());
  CHECK_FALSE(status.start_time.has_value());
  CHECK(status.failed_attempts == 0);
}

TEST_CASE("a resumed job begins again, with a new place in the queue", "[controller][attempts]") {
  World world = running(a_job_with_retries(0));
  world.seen.job.spec.suspend = true;
  world.settle();
  world.seen.now += 1h;
  world.seen.job.spec.suspend = false;
  CHECK(world.settle() >= 0);
  CHECK(world.created == Strings{"podgroup dqn-2"});
  CHECK(world.seen.job.status.queued_since == world.seen.now);
  CHECK(world.seen.job.status.waiting_since == world.seen.now);
  CHECK(world.seen.pod_groups.front()->spec.queued_since == world.seen.now);
  CHECK_FALSE(condition(world, kSuspended).status);
  world.plan();
  world.settle();
  world.run_all();
  world.settle();
  CHECK(world.seen.job.status.start_time ==
        std::chrono::floor<std::chrono::seconds>(world.seen.now));
}

TEST_CASE("a job created suspended creates nothing until it is resumed", "[controller][attempts]") {
  job::Job job = a_job(1, 1);
  job.spec.suspend = true;
  World world(std::move(job));
  CHECK(world.settle() == 1);
  CHECK(world.created.empty());
  CHECK(world.seen.job.status.reason == "Suspended");
  CHECK(world.seen.job.status.attempt == 1);
  world.seen.job.spec.suspend = false;
  world.settle();
  CHECK(world.created == Strings{"podgroup dqn-1"});
}

TEST_CASE("suspending a finished job does nothing", "[controller][attempts]") {
  World world = running(a_job_with_retries(0));
  world.end(kCoordinator, true);
  world.settle();
  world.status_writes = 0;
  world.seen.job.spec.suspend = true;
  CHECK(world.settle() == 0);
  CHECK(world.seen.job.status.phase == Phase::kSucceeded);
}

TEST_CASE("a job that ended while it was being suspended has ended", "[controller][attempts]") {
  World world = running(a_job_with_retries(0));
  world.end(kCoordinator, true);
  world.seen.job.spec.suspend = true;
  world.settle();
  CHECK(world.seen.job.status.phase == Phase::kSucceeded);
}

// -- what was requested

TEST_CASE("requests that were deleted are reported, and forgotten with the attempt",
          "[controller][attempts]") {
  World world = running(a_job_with_retries(1));
  world.seen.job.spec.requests.entries = {an_entry(1, Role::kCollector, 1)};
  world.seen.job.spec.requests.next_collector = job::kFirstRequestedOrdinal + 1;
  world.settle();
  CHECK(world.seen.job.status.next_collector == job::kFirstRequestedOrdinal + 1);
  world.seen.job.spec.requests = {};
  world.settle();
  CHECK(condition(world, kRequestsLost).status);
  CHECK(world.seen.job.status.reason == "RequestsLost");
  CHECK(world.seen.job.status.next_collector == job::kFirstRequestedOrdinal + 1);
  CHECK(world.events.back() == "RequestsLost");

  exit_with(world, 1, "");
  world.settle();
  CHECK_FALSE(condition(world, kRequestsLost).status);
  world.seen.job.spec.requests.next_collector = job::kFirstRequestedOrdinal + 2;
  world.settle();
  CHECK(find_condition(world.seen.job.status, kRequestsLost) == nullptr);
}

}  // namespace
}  // namespace nervex::controller
