// A job's life, decision by decision.
#include "controller/decide/reconcile.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "controller/decide/reasons.h"
#include "controller/decide/round/condition.h"
#include "controller/decide/status/status.h"
#include "tests/controller/world.h"
#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using job::Phase;
using job::Role;
using testing::a_job;
using testing::an_entry;
using testing::World;
using Strings = std::vector<std::string>;

template <typename T>
const T* only(const Actions& actions) {
  const T* found = nullptr;
  for (const auto& action : actions) {
    if (const T* match = std::get_if<T>(&action)) {
      REQUIRE(found == nullptr);
      found = match;
    }
  }
  return found;
}

TEST_CASE("nothing is created for a job that is being deleted", "[controller][reconcile]") {
  World world(a_job());
  world.seen.job.meta.deleting = true;
  CHECK(reconcile(world.seen).actions.empty());
}

TEST_CASE("a job that is being deleted has no place in the queue and holds no capacity",
          "[controller][reconcile]") {
  World world(a_job(2, 0));
  const std::string when = GENERATE("it waits", "its pods wait to be bound", "it runs");
  INFO("when " << when);
  if (when == "it waits") world.settle();
  if (when == "its pods wait to be bound") world.make_gang();
  if (when == "it runs") world.start();
  const std::string finished = world.name(Role::kCollector, 1);
  if (when == "it runs") {
    world.end(finished, true);
    world.settle();
  }
  const job::Status before = world.seen.job.status;
  world.seen.job.meta.deleting = true;  // another program's finalizer keeps it
  CHECK(world.settle() >= 0);
  CHECK(world.seen.pod_groups.empty());
  CHECK(world.service_names().empty());
  CHECK(world.pod_names() == (when == "it runs" ? Strings{finished} : Strings{}));
  CHECK(world.seen.job.status == before);
  world.seen.now += std::chrono::hours(1);
  CHECK(world.settle() == 0);
}

TEST_CASE("a job's objects stay when it is deleted with --cascade=orphan",
          "[controller][reconcile]") {
  World world(a_job(1, 0));
  world.start();
  world.seen.job.meta.deleting = world.seen.job.meta.orphans_its_own = true;
  CHECK(reconcile(world.seen).actions.empty());
}

TEST_CASE("for a job that is being deleted only its own objects are deleted",
          "[controller][reconcile]") {
  World world(a_job(1, 0));
  world.start();
  world.change_pod("dqn-coordinator", [](kube::Pod& pod) { pod.meta.resource_version = "7"; });
  world.seen.job.meta.deleting = true;
  const Actions actions = reconcile(world.seen).actions;
  const auto* pods = only<DeletePods>(actions);
  REQUIRE(pods != nullptr);
  for (const Target& target : pods->targets) {
    if (target.name == "dqn-coordinator") CHECK(target.resource_version == "7");
  }
}

TEST_CASE("a new job gets its PodGroup, and its status may be written later",
          "[controller][reconcile]") {
  World world(a_job());
  const Actions actions = reconcile(world.seen).actions;
  const auto* update = only<UpdateStatus>(actions);
  REQUIRE(update != nullptr);
  const job::Status& status = update->status;
  CHECK(status.phase == Phase::kCreated);
  CHECK(status.reason == "Queued");
  CHECK(status.attempt == 1);
  CHECK(status.queued_since == world.seen.now);
  CHECK(status.waiting_since == world.seen.now);
  CHECK(find_condition(status, "Created")->reason == "NerveXJobCreated");
  CHECK(only<CreatePodGroup>(actions) != nullptr);
  CHECK(only<RecordEvent>(actions) == nullptr);
  begin_job(world.seen);
  CHECK(may_be_delayed(world.seen, status));
}

TEST_CASE("a job without a status continues the attempt of its PodGroup",
          "[controller][reconcile]") {
  World world(a_job(1, 0));
  world.settle();
  const SysTime queued_since = *world.seen.job.status.queued_since;
  world.seen.job.status = {};  // the write was never sent
  world.seen.now += std::chrono::milliseconds(1'500);
  const std::string when = GENERATE("it waits", "it is planned", "it starts", "it runs",
                                    "a worker has ended", "the planner refuses it");
  INFO("when " << when);
  if (when == "the planner refuses it") world.refuse("learner: 1 of 1 do not fit");
  if (when != "it waits" && when != "the planner refuses it") world.plan();
  const bool starts = when == "it starts" || when == "it runs" || when == "a worker has ended";
  if (starts) world.settle();
  world.seen.job.status = {};
  if (when == "it runs") world.run_all();
  if (when == "a worker has ended") world.end(world.name(Role::kCollector), true);

  const auto created = world.created;
  const Actions actions = reconcile(world.seen).actions;
  CHECK(only<CreatePodGroup>(actions) == nullptr);
  CHECK(only<PatchPodGroup>(actions) == nullptr);
  const auto* update = only<UpdateStatus>(actions);
  REQUIRE(update != nullptr);
  CHECK(update->status.attempt == 1);
  CHECK(update->status.queued_since == queued_since);
  Observed begun = world.seen;
  begin_job(begun);
  const bool may_wait = when == "it waits" || when == "it is planned" || when == "it starts";
  CHECK(may_be_delayed(begun, update->status) == may_wait);
  CHECK(world.settle() >= 0);
  if (starts) CHECK(world.created == created);
}

TEST_CASE("a job that is suspended before its first status loses what its attempt has begun",
          "[controller][reconcile]") {
  World world(a_job(1, 0));
  world.settle();
  if (GENERATE(false, true)) {
    world.plan();
    world.settle();
  }
  world.seen.job.status = {};  // the write was never sent
  world.seen.job.spec.suspend = true;
  world.settle();
  CHECK(world.seen.pods.empty());
  CHECK(world.seen.pod_groups.empty());
  CHECK(is_true(world.seen.job.status, kSuspended));
  CHECK(world.seen.job.status.attempt == 2);
}

TEST_CASE("a job whose pods cannot share the namespace's Service is told so at once",
          "[controller][reconcile]") {
  World world(a_job());
  world.seen.shared_services = true;
  Service foreign;
  foreign.meta.ns = foreign.meta.name = "rl";
  world.seen.shared_service = std::make_shared<const Service>(foreign);
  const Actions actions = reconcile(world.seen).actions;
  const auto* update = only<UpdateStatus>(actions);
  REQUIRE(update != nullptr);
  CHECK(update->status.services == job::ServiceMode::kPerPod);
  begin_job(world.seen);
  CHECK_FALSE(may_be_delayed(world.seen, update->status));
  world.seen.job.status = {};
  world.seen.has_status = true;
  world.settle();
  CHECK(world.events == Strings{"NerveXJobCreated", "ServiceNameTaken"});
}

TEST_CASE("a job that has to wait is told so by its first status, at once",
          "[controller][reconcile]") {
  World world(a_job());
  const std::string reason = GENERATE("Suspended", "AggregatorMissing", "PriorityClassMissing");
  INFO("reason " << reason);
  if (reason == "Suspended") world.seen.job.spec.suspend = true;
  if (reason == "AggregatorMissing") world.seen.job.spec.aggregator = "PerJob";
  if (reason == "PriorityClassMissing") world.seen.priority.missing = "urgent";
  const Actions actions = reconcile(world.seen).actions;
  const auto* update = only<UpdateStatus>(actions);
  REQUIRE(update != nullptr);
  CHECK(update->status.reason == reason);
  CHECK(only<RecordEvent>(actions)->event.reason == "NerveXJobCreated");
  begin_job(world.seen);
  CHECK_FALSE(may_be_delayed(world.seen, update->status));
}

TEST_CASE("a job waits for the plan without any pod", "[controller][reconcile]") {
  World world(a_job(2, 1));
  CHECK(world.settle() >= 0);
  CHECK(world.created == Strings{"podgroup dqn-1"});
  CHECK(world.seen.job.status.phase == Phase::kCreated);
  CHECK(world.seen.job.status.reason == "Queued");
  CHECK(find_condition(world.seen.job.status, "Scheduled")->message ==
        "the gang is not planned yet: nervex-extender (deployment nervex-scheduler) has not "
        "processed it");

  world.refuse("learner: 1 of 1 do not fit");
  CHECK(world.settle() == 1);
  CHECK(world.created == Strings{"podgroup dqn-1"});
  CHECK(world.seen.job.status.reason == "Unschedulable");
  const auto* scheduled = find_condition(world.seen.job.status, "Scheduled");
  CHECK_FALSE(scheduled->status);
  CHECK(scheduled->message == "learner: 1 of 1 do not fit");
}

TEST_CASE("a planned job gets services, workers, then its coordinator", "[controller][reconcile]") {
  World world(a_job(1, 1));
  world.add_aggregator_config();
  world.settle();
  world.plan();
  const Actions actions = reconcile(world.seen).actions;
  REQUIRE(actions.size() == 4);
  CHECK(std::holds_alternative<UpdateStatus>(actions[0]));
  CHECK(std::get<CreateServices>(actions[1]).manifests.size() == 4);
  CHECK(std::get<CreatePods>(actions[2]).manifests.size() == 3);
  CHECK(std::get<CreatePods>(actions[3]).manifests[0]["metadata"]["name"] == "dqn-coordinator");
}

TEST_CASE("a job runs when its coordinator does and is ready when all pods are",
          "[controller][reconcile]") {
  World world(a_job(1, 0));
  world.settle();
  world.plan();
  CHECK(world.settle() >= 0);
  CHECK(world.seen.job.status.reason == "Starting");
  world.run("dqn-coordinator");
  CHECK(world.settle() == 1);
  CHECK(world.seen.job.status.phase == Phase::kRunning);
  CHECK(world.seen.job.status.reason == "Running");
  CHECK(world.seen.job.status.start_time.has_value());
  CHECK_FALSE(find_condition(world.seen.job.status, "Ready")->status);
  world.run_all();
  CHECK(world.settle() == 1);
  CHECK(find_condition(world.seen.job.status, "Ready")->status);
}

TEST_CASE("a normal start has one event", "[controller][reconcile]") {
  World world(a_job(2, 1));
  world.settle();
  world.plan();
  world.settle();
  world.run("dqn-coordinator");
  const Actions actions = reconcile(world.seen).actions;
  const auto* event = only<RecordEvent>(actions);
  REQUIRE(event != nullptr);
  CHECK(event->event.reason == "NerveXJobRunning");
  CHECK(event->event.message == "started 4 pods of gang base");
  world.run_all();
  world.settle();
  CHECK(world.events == Strings{"NerveXJobRunning"});

  world.seen.job.spec.requests.entries = {an_entry(7, Role::kCollector, 2)};
  ++world.seen.job.meta.generation;
  world.settle();
  world.plan();
  world.settle();
  CHECK(world.events == Strings{"NerveXJobRunning", "SuccessfulCreate"});
}

TEST_CASE("a request is added to the PodGroup in one write, and created when it is placed",
          "[controller][reconcile]") {
  World world(a_job(1, 1));
  world.start();
  world.created.clear();

  world.seen.job.spec.requests.entries = {an_entry(7, Role::kCollector, 2),
                                          an_entry(8, Role::kLearner, 1)};
  ++world.seen.job.meta.generation;
  const Actions actions = reconcile(world.seen).actions;
  const auto* patch = only<PatchPodGroup>(actions);
  REQUIRE(patch != nullptr);
  CHECK(patch->resource_version == "1");
  REQUIRE(patch->spec["gangs"].size() == 3);
  CHECK(patch->spec["gangs"][1]["name"] == "request-7");
  CHECK(patch->spec["gangs"][1]["kind"] == "Request");
  CHECK(patch->spec["gangs"][1]["requestId"] == 7);
  CHECK(patch->spec["gangs"][1]["members"][0]["name"] == "request-7-collector");
  CHECK(world.settle() >= 0);
  CHECK(world.created.empty());
  CHECK(world.seen.job.status.observed_generation == 2);
  CHECK_FALSE(find_condition(world.seen.job.status, "RequestsScheduled")->status);
  CHECK(find_condition(world.seen.job.status, "Scheduled")->status);

  world.plan("n2");
  CHECK(world.settle() >= 0);
  CHECK(world.created.size() == 6);
  CHECK(find_condition(world.seen.job.status, "RequestsScheduled")->status);
}

TEST_CASE("a request that is removed while it waits leaves no message behind",
          "[controller][reconcile]") {
  const bool was_looked_at = GENERATE(true, false);
  World world(a_job(1, 1));
  world.start();
  REQUIRE(find_condition(world.seen.job.status, "RequestsScheduled") == nullptr);

  world.seen.job.spec.requests.entries = {an_entry(7, Role::kCollector, 2)};
  ++world.seen.job.meta.generation;
  world.settle();
  if (was_looked_at) {
    world.refuse("collector: can never fit");
    world.settle();
  }
  REQUIRE_FALSE(find_condition(world.seen.job.status, "RequestsScheduled")->status);

  world.seen.job.spec.requests.entries.clear();
  ++world.seen.job.meta.generation;
  world.settle();
  CHECK(find_condition(world.seen.job.status, "RequestsScheduled")->status);
  CHECK(world.seen.job.status.reason == "Running");
}

TEST_CASE("a waiting request ends with the job", "[controller][reconcile]") {
  World world(a_job(1, 1));
  world.start();
  world.seen.job.spec.requests.entries = {an_entry(7, Role::kCollector, 2)};
  ++world.seen.job.meta.generation;
  world.settle();
  REQUIRE_FALSE(find_condition(world.seen.job.status, "RequestsScheduled")->status);

  world.end("dqn-coordinator", true);
  world.settle();
  const auto* condition = find_condition(world.seen.job.status, "RequestsScheduled");
  CHECK_FALSE(condition->status);
  CHECK(condition->message == "the job has ended");
}

TEST_CASE("the final status is written alone, before anything is cleaned up",
          "[controller][reconcile]") {
  const bool well = GENERATE(true, false);
  World world(a_job(2, 0));
  world.start();
  world.end("dqn-coordinator", well);
  const Actions actions = reconcile(world.seen).actions;
  REQUIRE(actions.size() == 2);
  const job::Status& status = std::get<UpdateStatus>(actions[0]).status;
  CHECK(status.phase == (well ? Phase::kSucceeded : Phase::kFailed));
  CHECK(status.completion_time.has_value());
  CHECK(std::get<RecordEvent>(actions[1]).event.reason ==
        (well ? "NerveXJobSucceeded" : "NerveXJobFailed"));

  CHECK(world.settle() == 3);  // status, deletions, finalizers
  CHECK(world.pod_names() == Strings{"dqn-coordinator"});
  CHECK(world.service_names().empty());
  CHECK(world.seen.pod_groups.empty());
}

TEST_CASE("a job that has ended is never touched again", "[controller][reconcile]") {
  World world(a_job(1, 0));
  world.seen.job.status.phase = GENERATE(Phase::kSucceeded, Phase::kFailed);
  world.seen.job.spec.requests.entries = {an_entry(1, Role::kCollector, 1)};
  world.seen.job.meta.generation = world.seen.job.status.observed_generation = 9;
  world.seen.coordinator_is_gone = true;
  CHECK(reconcile(world.seen).actions.empty());
}

TEST_CASE("a PodGroup whose name is not free yet is waited for", "[controller][reconcile]") {
  World world(a_job());
  world.settle();
  world.change_group([](gang::PodGroup& group) { group.meta.deleting = true; });
  CHECK(reconcile(world.seen).actions.empty());
}

TEST_CASE("a job with aggregator PerJob waits for the AggregatorConfig",
          "[controller][reconcile]") {
  World world(a_job());
  world.seen.job.spec.aggregator = "PerJob";
  world.seen.aggregator_config_name = "rl-system/aggregators";
  CHECK(world.settle() == 1);
  CHECK(world.created.empty());
  CHECK(world.seen.job.status.reason == "AggregatorMissing");
  CHECK(find_condition(world.seen.job.status, "AggregatorMissing")->status);
  const auto* scheduled = find_condition(world.seen.job.status, "Scheduled");
  CHECK(scheduled->reason == "AggregatorMissing");
  CHECK(scheduled->message ==
        "AggregatorConfig rl-system/aggregators, the template of the job's aggregator, does not "
        "exist: create it, and the job continues");
  CHECK(find_condition(world.seen.job.status, "AggregatorMissing")->message == scheduled->message);

  world.add_aggregator_config();
  CHECK(world.settle() >= 1);
  CHECK(world.created == Strings{"podgroup dqn-1"});
  CHECK_FALSE(find_condition(world.seen.job.status, "AggregatorMissing")->status);
}

TEST_CASE("a running job that has lost pods says so in its reason", "[controller][reconcile]") {
  World world(a_job(1, 0));
  world.make_gang();
  world.run_all();
  world.settle();
  REQUIRE(world.seen.job.status.reason == "Running");
  world.change_group([](gang::PodGroup& group) {
    group.status.gangs.front().planned = false;
    group.status.gangs.front().reason = gang::kReasonUnschedulable;
    group.status.gangs.front().message = "collector/0 lost its node n1";
  });
  world.settle();
  CHECK(world.seen.job.status.phase == Phase::kRunning);
  CHECK(world.seen.job.status.reason == "Healing");
  CHECK(find_condition(world.seen.job.status, "Scheduled")->message ==
        "collector/0 lost its node n1");
}

TEST_CASE("a coordinator that the scheduler does not bind is reported after 10 s",
          "[controller][reconcile]") {
  using namespace std::chrono_literals;
  World world(a_job());
  world.make_gang();
  world.change_pod("dqn-coordinator",
                   [](kube::Pod& pod) { pod.unscheduled_message = "volume is elsewhere"; });
  CHECK(reconcile(world.seen).actions.empty());
  CHECK(reconcile(world.seen).requeue_after == 10s);
  world.seen.now += 10s;
  CHECK(world.settle() == 1);
  CHECK(world.seen.job.status.reason == "Unschedulable");
  CHECK(find_condition(world.seen.job.status, "Scheduled")->message ==
        "pod dqn-coordinator: volume is elsewhere");
  CHECK_FALSE(reconcile(world.seen).requeue_after.has_value());
}

TEST_CASE("a placement on a deleted node is reported, whichever pod has it",
          "[controller][reconcile]") {
  using namespace std::chrono_literals;
  World world(a_job(1, 1));
  world.start();
  REQUIRE(find_condition(world.seen.job.status, "Scheduled")->status);

  // Its pod is deleted, and the next one is pinned to a node that does not exist any more.
  world.remove_pod(world.name(job::Role::kLearner));
  world.make_gang();
  const std::string learner = world.name(job::Role::kLearner, 0, 1);
  world.change_pod(learner, [&](kube::Pod& pod) {
    pod.meta.created = world.seen.now;
    pod.unscheduled_message = "0/3 nodes are available";
  });
  world.settle();
  CHECK(find_condition(world.seen.job.status, "Scheduled")->status);
  CHECK(reconcile(world.seen).requeue_after == 10s);
  world.seen.now += 10s;
  CHECK(world.settle() == 1);
  CHECK_FALSE(find_condition(world.seen.job.status, "Scheduled")->status);
  CHECK(find_condition(world.seen.job.status, "Scheduled")->message ==
        "pod " + learner + ": 0/3 nodes are available");
  CHECK(world.seen.job.status.phase == job::Phase::kRunning);
}

}  // namespace
}  // namespace nervex::controller
