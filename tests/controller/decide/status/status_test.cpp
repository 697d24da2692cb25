#include "controller/decide/status/status.h"
#include "controller/decide/round/condition.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/controller/world.h"
#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using job::Phase;
using job::Role;
using job::RoleCounts;
using testing::a_job;
using testing::World;

// Two collectors, one learner, a coordinator: all run.
World a_running_world() {
  World world(a_job(2, 1));
  world.start();
  world.status_writes = 0;
  return world;
}

TEST_CASE("counts follow the pods, and stay when finished pods are deleted",
          "[controller][status]") {
  World world = a_running_world();
  CHECK(world.seen.job.status.collector == RoleCounts{2, 0, 0});
  CHECK(world.seen.job.status.ready == 4);
  CHECK(world.seen.job.status.desired == 4);

  world.end(world.name(Role::kCollector, 0), false);
  world.end(world.name(Role::kLearner), true);
  world.settle();
  CHECK(world.seen.job.status.collector == RoleCounts{1, 0, 1});
  CHECK(world.seen.job.status.learner == RoleCounts{0, 1, 0});
  CHECK(world.seen.job.status.ready == 2);
  CHECK(world.seen.job.status.desired == 2);

  world.remove_pod(world.name(Role::kCollector, 0));
  world.remove_pod(world.name(Role::kLearner));
  CHECK(world.settle() == 1);  // their capacity is given back
  CHECK(world.settle() == 0);
  CHECK(world.status_writes == 1);
}

TEST_CASE("the scale of a job counts and selects its base collectors alone",
          "[controller][status]") {
  World world = a_running_world();
  job::RequestEntry entry = testing::an_entry(1, Role::kCollector, 3);
  entry.attempt = 1;
  world.seen.job.spec.requests.entries = {entry};
  world.commit();
  world.settle();
  world.plan();
  world.settle();
  world.run_all();
  world.settle();
  const std::string all =
      "group-name=nervex.sensetime.com,nervexjob-name=dqn,replica-type=collector";
  const std::string base = all + ",nervex.sensetime.com/base-replica=true";
  CHECK(world.seen.job.status.collector.active == 5);
  CHECK(world.seen.job.status.base_collectors == 2);
  CHECK(world.seen.job.status.selector == base);

  // An older version created one of them. It is not replaced, but selected as that version did.
  const std::string pod = world.name(Role::kCollector, 0);
  world.change_pod(pod, [](kube::Pod& p) {
    p.meta.labels.clear();
    p.meta.labels.emplace("replica-type", "collector");
  });
  world.created.clear();
  world.settle();
  CHECK(world.created.empty());
  CHECK(world.seen.job.status.base_collectors == 2);
  CHECK(world.seen.job.status.selector == all);
  world.end(pod, true);
  world.settle();
  CHECK(world.seen.job.status.base_collectors == 1);
  CHECK(world.seen.job.status.selector == base);
}

TEST_CASE("the end of the job's own aggregator: finished like a worker, or a reason",
          "[controller][status]") {
  World world(a_job(1, 0));
  world.add_aggregator_config();
  world.start();
  world.commit();
  world.settle();
  REQUIRE(is_true(world.seen.job.status, kReady));

  const bool well = GENERATE(true, false);
  world.end("dqn-aggregator", well);
  world.settle();
  const job::Status& status = world.seen.job.status;
  CHECK(status.phase == Phase::kRunning);
  const auto* ready = find_condition(status, kReady);
  REQUIRE(ready != nullptr);
  if (well) {
    CHECK(status.aggregator == RoleCounts{0, 1, 0});
    CHECK(status.desired == 2);
    CHECK(ready->status);
    return;
  }
  CHECK(status.aggregator == RoleCounts{0, 0, 1});
  CHECK(status.desired == 3);
  CHECK_FALSE(ready->status);
  CHECK(ready->reason == "AggregatorFailed");
  CHECK(ready->message.find("see the log of pod dqn-aggregator") != std::string::npos);

  world.remove_pod("dqn-aggregator");
  for (int i = 0; i < 3; ++i) {
    world.settle();
    world.plan();
  }
  world.run_all();
  world.settle();
  CHECK(is_true(world.seen.job.status, kReady));
}

TEST_CASE("a job says in which queue it is, and at which position while it waits",
          "[controller][status]") {
  World world(a_job(1, 0));
  world.settle();
  CHECK(world.seen.job.status.queue == job::QueuePlace{});
  const auto put = [&world](const gang::QueuePlace& place) {
    world.change_group([&](gang::PodGroup& group) { group.status.queue = place; });
  };
  world.refuse("collector: 1 of 1 do not fit");
  put({"vision", 20});
  world.settle();
  CHECK(world.seen.job.status.queue == job::QueuePlace{"vision", 20});
  world.status_writes = 0;
  CHECK(world.settle() == 0);
  CHECK(world.status_writes == 0);

  put({"vision"});
  world.start();
  CHECK(world.seen.job.status.queue == job::QueuePlace{"vision"});
  SECTION("it has ended") {
    world.end("dqn-coordinator", true);
    world.settle();
    CHECK(world.seen.job.status.queue == job::QueuePlace{"vision"});
  }
  SECTION("it has no PodGroup") {
    world.seen.job.spec.suspend = true;
    world.settle();
    CHECK(world.seen.job.status.queue == job::QueuePlace{});
  }
}

TEST_CASE("a job that a rule of its queue holds says which one", "[controller][status]") {
  const std::string reason =
      GENERATE("QueueNotFound", "QueueUnreadable", "NamespaceNotSelected", "QueueAmbiguous",
               "ParentNotFound", "QueueCycle", "QueueStopped", "LimitExceeded", "NodeClassLimit");
  World world(a_job(1, 0));
  world.settle();
  world.refuse("queue vision is stopped");
  world.change_group([&](gang::PodGroup& group) { group.status.gangs.front().reason = reason; });
  world.settle();
  CHECK(world.seen.job.status.phase == Phase::kCreated);
  CHECK(world.seen.job.status.reason == reason);
  const auto* scheduled = find_condition(world.seen.job.status, "Scheduled");
  REQUIRE(scheduled != nullptr);
  CHECK_FALSE(scheduled->status);
  CHECK(scheduled->reason == reason);
  CHECK(scheduled->message == "queue vision is stopped");
  CHECK(world.settle() == 0);
}

TEST_CASE("only status writes that report progress may be delayed", "[controller][status]") {
  using Change = void (*)(job::Status&);
  struct Row {
    std::string what;
    Change change;
    bool only_informs;
  };
  const auto set = [](job::Status& status, std::string_view type, bool is_true, const char* reason,
                      const char* message) {
    job::set_condition(status, {std::string(type), is_true, reason, message, {}, 1});
  };
  const auto row = GENERATE(values<Row>({
      {"pods are ready", [](job::Status& s) { s.ready = 3; }, true},
      {"pods are active", [](job::Status& s) { s.collector.active = 1; }, true},
      {"more pods were created", [](job::Status& s) { s.created_through.gangs["base"] = 4; }, true},
      {"it moves up in its queue",
       [](job::Status& s) {
         s.queue = {"vision", 2};
       },
       true},
      {"the numbers in a message change",
       [](job::Status& s) { s.conditions[0].message = "7 of 9"; }, true},
      {"the gang is placed",
       [](job::Status& s) {
         s.conditions[0].status = true;
         s.conditions[0].reason = "Planned";
         s.reason = "Starting";
       },
       true},
      {"pods were taken back", [](job::Status& s) { s.created_through = {}; }, false},
      {"a pod failed", [](job::Status& s) { s.collector.failed = 1; }, false},
      {"more pods are wanted", [](job::Status& s) { s.desired = 5; }, false},
      {"another spec was seen", [](job::Status& s) { s.observed_generation = 2; }, false},
      {"it runs", [](job::Status& s) { s.phase = Phase::kRunning; }, false},
      {"why it waits", [](job::Status& s) { s.reason = s.conditions[0].reason = "Unschedulable"; },
       false},
      {"all pods are ready", [](job::Status& s) { s.conditions[1].status = true; }, false},
      {"a condition is new",
       [](job::Status& s) {
         s.conditions.push_back({"PodsCreated", true, "", ""});
       },
       false},
      {"a replica was replaced",
       [](job::Status& s) {
         s.replaced.push_back({Role::kCollector, {0, 1}});
       },
       false},
  }));
  INFO("when " << row.what);
  job::Status before;
  before.phase = Phase::kCreated;
  before.reason = "Queued";
  before.observed_generation = 1;
  before.created_through = {"uid-1", {{"base", 2}}};
  set(before, "Scheduled", false, "Queued", "6 of 9");
  set(before, "Ready", false, "PodsNotReady", "not all pods are ready");
  job::Status after = before;
  row.change(after);
  CHECK(only_informs(before, after) == row.only_informs);
}

TEST_CASE("Ready says which pod cannot start, with a stable message over retries",
          "[controller][status]") {
  struct Row {
    std::string reason;  // of the waiting container
    std::string says;
  };
  const std::string unready = "not all pods are ready";
  const auto row = GENERATE_COPY(values<Row>({
      {"ErrImagePull", ": the image of pod dqn-coordinator cannot be pulled"},
      {"ImagePullBackOff", ": the image of pod dqn-coordinator cannot be pulled"},
      {"InvalidImageName", ": the image name of pod dqn-coordinator is invalid"},
      {"ErrImageNeverPull",
       ": the image of pod dqn-coordinator is not present on its node, and imagePullPolicy is "
       "Never"},
      {"CreateContainerConfigError",
       ": pod dqn-coordinator refers to a ConfigMap, a Secret or a key that does not exist"},
      {"ContainerCreating", ""},
      {"CrashLoopBackOff",
       ": container nervex-container of pod dqn-coordinator crashes repeatedly, last with exit "
       "code 0"},
  }));
  INFO("when a container waits because of " << row.reason);
  World world(a_job(1, 0));
  world.make_gang();
  CHECK(world.settle() >= 0);
  const auto wait_because = [&](const std::string& reason) {
    world.change_pod("dqn-coordinator", [&](kube::Pod& pod) {
      kube::ContainerState main;
      main.name = "nervex-container";
      main.reason = reason;
      pod.containers = std::vector{main};
    });
  };
  wait_because(row.reason);
  CHECK(world.settle() >= 0);
  const auto* ready = find_condition(world.seen.job.status, "Ready");
  REQUIRE(ready != nullptr);
  CHECK(ready->reason == "PodsNotReady");
  CHECK(ready->message == unready + row.says);

  if (row.reason == "ErrImagePull") {  // the kubelet's two words for it take turns
    world.status_writes = 0;
    wait_because("ImagePullBackOff");
    CHECK(world.settle() >= 0);
    CHECK(world.status_writes == 0);
  }
}

TEST_CASE("a container is reported as crashing also between two crashes", "[controller][status]") {
  World world = a_running_world();
  const std::string pod = world.name(Role::kCollector);
  const auto change = [&](std::string reason) {
    world.change_pod(pod, [&](kube::Pod& p) {
      kube::ContainerState main;
      main.name = "nervex-container";
      main.restarts = 5;
      main.exit_code = 137;
      main.reason = std::move(reason);
      p.ready = false;
      p.containers = std::vector{main};
    });
    CHECK(world.settle() >= 0);
  };
  change("CrashLoopBackOff");
  const auto* ready = find_condition(world.seen.job.status, "Ready");
  REQUIRE(ready != nullptr);
  CHECK(ready->message == "not all pods are ready: container nervex-container of pod " + pod +
                              " crashes repeatedly, last with exit code 137");
  world.status_writes = 0;
  change("");       // it runs, and is not ready yet
  change("Error");  // it has ended again
  change("CrashLoopBackOff");
  CHECK(world.status_writes == 0);
}

TEST_CASE("learners with several GPUs say that they wait for an AggregatorConfig",
          "[controller][status]") {
  World world = a_running_world();
  job::RequestEntry learner = testing::an_entry(1, Role::kLearner, 1);
  learner.gpu_split = {8, 2};
  world.seen.job.spec.requests.entries = {learner};
  CHECK(world.settle() >= 0);
  const job::Status& status = world.seen.job.status;
  REQUIRE(find_condition(status, "AggregatorMissing") != nullptr);
  CHECK(find_condition(status, "AggregatorMissing")->status);
  CHECK(find_condition(status, "AggregatorMissing")->reason == "WaitsForAggregatorConfig");
  CHECK(status.reason == "AggregatorMissing");

  world.add_aggregator_config();
  CHECK(world.settle() >= 0);
  world.plan();
  CHECK(world.settle() >= 0);
  CHECK_FALSE(status.reason == "AggregatorMissing");
  world.seen.aggregator_config = nullptr;  // it has served its purpose
  CHECK(world.settle() >= 0);
  CHECK(status.reason == "Running");
}

TEST_CASE("a thousand ended pods are counted, and not listed one by one", "[controller][status]") {
  World world = a_running_world();
  job::Job& job = world.seen.job;
  const std::string last = world.name(Role::kCollector, 1);
  world.end(last, false);
  world.settle();
  world.seen.job.spec.requests.next_collector = job.status.next_collector = 6000;
  for (int i = 0; i < 1000; ++i) {  // a client has removed these since
    job.status.ended.push_back({Role::kCollector, {4096 + i, 0}, i % 4 == 0});
  }
  job.status.collector = {1, 250, 751};
  job.spec.collector->replicas = 3;  // something to write
  CHECK(world.settle() >= 1);
  CHECK(job.status.collector == RoleCounts{1, 250, 751});
  CHECK(job.status.ended == std::vector<job::Status::Ended>{{Role::kCollector, {1, 0}, false}});

  world.end(world.name(Role::kCollector, 0), true);
  world.remove_pod(last);
  CHECK(world.settle() >= 1);
  CHECK(job.status.collector == RoleCounts{0, 251, 751});
  job.spec.requests.base = {{1, Role::kCollector, {1, 1}, false}};  // replaced: still counted
  CHECK(world.settle() >= 1);
  CHECK(job.status.collector == RoleCounts{0, 251, 751});
}

TEST_CASE("a job reports that its ordinals are nearly exhausted", "[controller][status]") {
  struct Row {
    std::string when;
    int next_collector;
    int next_learner;
    std::string want;  // whose
  };
  const auto row = GENERATE(values<Row>({{"few are used", 4200, 4096, ""},
                                         {"79 % of the collectors' are", 49'971, 4096, ""},
                                         {"80 % of the collectors' are", 49'972, 4096, "collector"},
                                         {"all of the learners' are", 4096, 61'440, "learner"}}));
  INFO("when " << row.when);
  World world = a_running_world();
  world.seen.job.spec.requests.next_collector = row.next_collector;
  world.seen.job.spec.requests.next_learner = row.next_learner;
  CHECK(world.settle() >= 0);
  const auto* condition = find_condition(world.seen.job.status, "OrdinalsNearlyExhausted");
  REQUIRE((condition != nullptr) == !row.want.empty());
  if (condition == nullptr) return;
  CHECK(condition->status);
  CHECK(condition->message.find(" 57344 " + row.want + "s ") != std::string::npos);
}

TEST_CASE("a job reports which constraints are left to kube-scheduler", "[controller][status]") {
  const auto told = [](const char* field, const Json& value) {
    World world = a_running_world();
    Json pods = world.seen.job.spec.collector->pod_template.get();
    pods["spec"][field] = value;
    world.seen.job.spec.collector->pod_template = pods;
    CHECK(world.settle() >= 0);
    const auto* condition = find_condition(world.seen.job.status, "PlacementBestEffort");
    return condition == nullptr ? "" : condition->message.substr(0, 25);
  };
  CHECK(told("resourceClaims", Json::array({{{"name", "gpu"}}})) == "collector: resourceClaims");
  CHECK(told("topologySpreadConstraints", Json::array({{{"maxSkew", 1}}})).empty());
}

TEST_CASE("when a job succeeds, what was active has succeeded", "[controller][status]") {
  World world = a_running_world();
  world.end(world.name(Role::kCollector, 0), false);
  world.end("dqn-coordinator", true);
  world.settle();
  const job::Status& status = world.seen.job.status;
  CHECK(status.coordinator == RoleCounts{0, 1, 0});
  CHECK(status.collector == RoleCounts{0, 1, 1});
  CHECK(status.learner == RoleCounts{0, 1, 0});
  CHECK(status.reason == "Completed");
  CHECK(status.desired == 0);  // nothing is wanted any more
  CHECK(world.status_writes == 1);
}

TEST_CASE("when a job fails, deleted pods do not count as active", "[controller][status]") {
  using job::CleanPodPolicy;
  const auto policy =
      GENERATE(CleanPodPolicy::kRunning, CleanPodPolicy::kAll, CleanPodPolicy::kNone);
  World world = a_running_world();
  world.seen.job.spec.clean_pod_policy = policy;
  world.end(world.name(Role::kCollector, 0), true);
  world.end("dqn-coordinator", false);
  world.settle();
  const job::Status& status = world.seen.job.status;
  const int left = policy == CleanPodPolicy::kNone ? 1 : 0;
  CHECK(status.coordinator == RoleCounts{0, 0, 1});
  CHECK(status.collector == RoleCounts{left, 1, 0});
  CHECK(status.learner == RoleCounts{left, 0, 0});
  CHECK(world.status_writes == 1);
}

TEST_CASE("a failed coordinator says how it ended", "[controller][status]") {
  struct Row {
    std::string when;
    std::function<void(kube::Pod&)> change;
    std::string want;
  };
  const auto row = GENERATE(values<Row>({
      {"nothing is known", [](kube::Pod&) {}, "the coordinator failed"},
      {"its container exited",
       [](kube::Pod& pod) {
         kube::ContainerState main;
         main.name = "nervex-container";
         main.terminated = true;
         main.exit_code = 137;
         main.reason = "OOMKilled";
         main.message = "bye";
         pod.containers = {main};
       },
       "the coordinator's container nervex-container exited with 137 (OOMKilled): bye"},
      {"its own deadline ended it",
       [](kube::Pod& pod) {
         pod.reason = "DeadlineExceeded";
         pod.message = "pod was active too long";
       },
       "the coordinator was stopped: DeadlineExceeded pod was active too long"},
  }));
  INFO("when " << row.when);
  World world = a_running_world();
  world.end("dqn-coordinator", false);
  world.change_pod("dqn-coordinator", row.change);
  world.settle();
  const job::Status& status = world.seen.job.status;
  CHECK(status.phase == Phase::kFailed);
  CHECK(status.coordinator == RoleCounts{0, 0, 1});
  CHECK(find_condition(status, "Failed")->message == row.want);
  CHECK(find_condition(status, "Finished")->status);
  CHECK_FALSE(find_condition(status, "Running")->status);
}

TEST_CASE("a coordinator that was deleted before its end was seen has failed",
          "[controller][status]") {
  World world = a_running_world();
  world.remove_pod("dqn-coordinator");
  SECTION("a cached state alone is not enough") {
    world.apply(reconcile(world.seen).actions);
    CHECK(world.seen.job.status.phase == Phase::kRunning);
  }
  SECTION("a live read is enough") {
    world.settle();
    CHECK(world.seen.job.status.phase == Phase::kFailed);
    CHECK(world.seen.job.status.reason == "CoordinatorLost");
    CHECK(world.seen.job.status.coordinator == RoleCounts{0, 0, 1});
  }
}

TEST_CASE("a job whose PodGroup was deleted has failed, and says so", "[controller][status]") {
  World world = a_running_world();
  world.seen.pod_groups.clear();
  world.seen.pod_group_is_gone = true;
  world.apply(reconcile(world.seen).actions);
  CHECK(world.seen.job.status.phase == Phase::kFailed);
  CHECK(world.seen.job.status.reason == "PodGroupLost");
  CHECK(world.seen.pod_groups.empty());  // none is created again
}

TEST_CASE("a terminating coordinator changes no phase", "[controller][status]") {
  World world = a_running_world();
  world.change_pod("dqn-coordinator", [](kube::Pod& pod) { pod.meta.deleting = true; });
  world.settle();
  CHECK(world.seen.job.status.phase == Phase::kRunning);
  CHECK(world.seen.job.status.coordinator == RoleCounts{0, 0, 0});
}

TEST_CASE("a coordinator that ends before it was seen running has a start time",
          "[controller][status]") {
  World world(a_job());
  world.make_gang();
  world.end("dqn-coordinator", true);
  world.settle();
  CHECK(world.seen.job.status.phase == Phase::kSucceeded);
  CHECK(world.seen.job.status.start_time == world.seen.job.status.completion_time);
}

TEST_CASE("a job without an AggregatorConfig continues and says so", "[controller][status]") {
  const World world = a_running_world();
  const auto* missing = find_condition(world.seen.job.status, "AggregatorMissing");
  REQUIRE(missing != nullptr);
  CHECK(missing->status);
  CHECK(missing->reason == "NoAggregatorConfig");
}

}  // namespace
}  // namespace nervex::controller
