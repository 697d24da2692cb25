// The table of docs/concepts/replacement.md, row by row.
#include "controller/decide/attempt/replacement.h"
#include "controller/decide/make_round.h"
#include "controller/decide/reasons.h"
#include "controller/decide/round/condition.h"

#include <functional>
#include <set>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "controller/decide/reconcile.h"
#include "job/names.h"
#include "tests/controller/world.h"
#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using job::Role;
using testing::a_job;
using testing::an_entry;
using testing::World;
using Strings = std::vector<std::string>;
using Replaced = std::vector<job::Status::Replaced>;

// Coordinator, aggregator, two collectors, and a learner of 10 GPUs that was asked for; all run.
World a_world_with_a_multi_gpu_learner() {
  World world(a_job(2, 0));
  world.add_aggregator_config();
  job::RequestEntry learner = an_entry(1, Role::kLearner, 1);
  learner.gpus = "10";
  learner.gpu_split = {8, 2};
  world.seen.job.spec.requests.entries = {learner};
  world.make_gang();
  world.run_all();
  world.commit();
  world.settle();
  world.created.clear();
  world.events.clear();
  return world;
}

// Until controller and planner have nothing to do.
void settle(World& world) {
  for (int i = 0; i < 3; ++i) {
    REQUIRE(world.settle() >= 0);
    world.plan();
  }
  CHECK(world.settle() == 0);
}

using Happens = std::function<void(kube::Pod&)>;

Happens fails(const char* reason) {
  return [reason](kube::Pod& pod) {
    pod.phase = kube::PodPhase::kFailed;
    pod.ready = false;
    pod.reason = reason;
  };
}

TEST_CASE("which events replace a collector", "[controller][replacement]") {
  struct Row {
    std::string when;
    Happens what;
    bool by_the_controller;
    int failed;
    int succeeded;
  };
  const auto row = GENERATE(values<Row>({
      {"its program fails", fails(""), false, 1, 0},
      {"its program ends well", [](kube::Pod& pod) { pod.phase = kube::PodPhase::kSucceeded; },
       false, 0, 1},
      {"its own time limit is over", fails("DeadlineExceeded"), false, 1, 0},
      {"it is evicted", fails("Evicted"), true, 0, 0},
      {"its node rejects it", fails("OutOfcpu"), true, 0, 0},
      {"its node cannot admit it", fails("UnexpectedAdmissionError"), true, 0, 0},
      {"its node is shut down", fails("Terminated"), true, 0, 0},
      {"its node is lost, and the pod collector ends it",
       [](kube::Pod& pod) {
         pod.phase = kube::PodPhase::kFailed;
         pod.disruption_target = true;
       },
       true, 0, 0},
  }));
  INFO("when " << row.when);
  World world = a_world_with_a_multi_gpu_learner();
  const std::string pod = world.name(Role::kCollector, 1);
  world.change_pod(pod, row.what);
  settle(world);
  const job::Status& status = world.seen.job.status;
  CHECK(status.collector.failed == row.failed);
  CHECK(status.collector.succeeded == row.succeeded);
  const auto next = world.name(Role::kCollector, 1, 1);
  if (row.by_the_controller) {
    CHECK(status.replaced == Replaced{{Role::kCollector, {1, 1}}});
    CHECK(world.deleted == Strings{"pod " + pod, "service " + pod});
    CHECK(world.created == Strings{"service " + next, "pod " + next});
    CHECK(world.events.front() == "PodsLost");
  } else {
    CHECK(status.replaced.empty());
    CHECK(world.deleted.empty());
    CHECK(world.created.empty());
    CHECK(status.ended.size() == 1);
  }
}

TEST_CASE("a pod that is deleted before it has finished is replaced", "[controller][replacement]") {
  const bool is_slow = GENERATE(true, false);  // with a kubelet that lets it take its leave
  World world = a_world_with_a_multi_gpu_learner();
  const std::string pod = world.name(Role::kCollector, 0);
  if (is_slow) {
    world.change_pod(pod, [](kube::Pod& p) { p.meta.deleting = true; });
    settle(world);
    CHECK(world.created.empty());  // not before it is gone
  }
  world.remove_pod(pod);
  settle(world);
  const auto next = world.name(Role::kCollector, 0, 1);
  CHECK(world.seen.job.status.replaced == Replaced{{Role::kCollector, {0, 1}}});
  CHECK(world.created == Strings{"service " + next, "pod " + next});
  CHECK(world.deleted == Strings{"service " + pod});
  CHECK(world.seen.job.status.collector.failed == 0);
}

TEST_CASE("the event of a lost pod names the cause", "[controller][replacement]") {
  struct Row {
    std::string theirs;
    std::string want;
  };
  const auto row =
      GENERATE(values<Row>({{"", " was deleted: replaced"},
                            {"EvictionByEvictionAPI", ": Evicted (node n): replaced"},
                            {"PreemptionByScheduler", ": Preempted (node n): replaced"},
                            {"DeletionByTaintManager", ": NodeTainted (node n): replaced"}}));
  World world = a_world_with_a_multi_gpu_learner();
  const std::string pod = world.name(Role::kCollector, 0);
  world.change_pod(pod, [&](kube::Pod& p) {
    p.meta.deleting = true;
    p.node = "n";
    p.disruption_target = !row.theirs.empty();
    p.disruption_reason = row.theirs;
  });
  const Decision decision = reconcile(make_round(world.seen));
  std::vector<std::string> said;
  for (const Action& action : decision.actions) {
    const auto* recorded = std::get_if<RecordEvent>(&action);
    if (recorded != nullptr && recorded->event.reason == kPodsLost)
      said.push_back(recorded->event.message);
  }
  CHECK(said == Strings{"pod " + pod + row.want});
}

TEST_CASE("a finished pod is not replaced, also if a user deletes it",
          "[controller][replacement]") {
  World world = a_world_with_a_multi_gpu_learner();
  const std::string pod = world.name(Role::kCollector, 0);
  world.end(pod, false);
  settle(world);
  world.remove_pod(pod);
  settle(world);
  CHECK(world.created.empty());
  CHECK(world.deleted == Strings{"service " + pod});
  CHECK(world.seen.job.status.collector.failed == 1);

  SECTION("but a client may request a replacement") {
    world.seen.job.spec.requests.base = {{1, Role::kCollector, {0, 1}, false}};
    settle(world);
    CHECK(world.created.front() == "service " + world.name(Role::kCollector, 0, 1));
    CHECK(world.seen.job.status.collector.failed == 1);
  }
  SECTION("and so may a user, who lowers and raises the base replicas") {
    world.seen.job.spec.collector->replicas = 0;
    settle(world);
    world.created.clear();
    world.seen.job.spec.collector->replicas = 2;
    settle(world);
    CHECK(world.pod_names().size() == 7);
  }
}

TEST_CASE("a pod whose node is lost is replaced, and deleted without waiting for the node",
          "[controller][replacement]") {
  const bool is_leaving = GENERATE(false, true);  // deleted before, and no kubelet ends it
  World world = a_world_with_a_multi_gpu_learner();
  const std::string pod = world.name(Role::kCollector, 1);
  if (is_leaving) {
    world.change_pod(pod, [](kube::Pod& p) { p.meta.deleting = true; });
    settle(world);
    CHECK(world.created.empty());
  }
  world.change_pod(pod, [](kube::Pod& p) { p.node_lost = "not Ready"; });
  settle(world);
  const auto next = world.name(Role::kCollector, 1, 1);
  CHECK(world.seen.job.status.replaced == Replaced{{Role::kCollector, {1, 1}}});
  CHECK(std::count(world.deleted.begin(), world.deleted.end(), "pod " + pod + " at once") == 1);
  CHECK(world.created == Strings{"service " + next, "pod " + next});
  CHECK(world.events.front() == "PodsLost");
  CHECK(world.seen.job.status.collector.failed == 0);
}

TEST_CASE("a pod that finished on a lost node stays counted", "[controller][replacement]") {
  World world = a_world_with_a_multi_gpu_learner();
  const std::string pod = world.name(Role::kCollector, 0);
  world.end(pod, false);
  settle(world);
  world.change_pod(pod, [](kube::Pod& p) { p.node_lost = "not Ready"; });
  settle(world);
  CHECK(world.deleted.empty());
  world.change_pod(pod, [](kube::Pod& p) { p.meta.deleting = true; });
  settle(world);
  CHECK(world.deleted.front() == "pod " + pod + " at once");
  CHECK(world.created.empty());
  CHECK(world.seen.job.status.collector.failed == 1);
}

TEST_CASE("the job's own aggregator is replaced alone", "[controller][replacement]") {
  World world = a_world_with_a_multi_gpu_learner();
  SECTION("when it is lost") {
    if (GENERATE(true, false)) {
      world.change_pod("dqn-aggregator", [](kube::Pod& pod) { pod.meta.deleting = true; });
      settle(world);
    }
    world.remove_pod("dqn-aggregator");
    settle(world);
    CHECK(world.seen.job.status.replaced == Replaced{{Role::kAggregator, {0, 1}}});
    CHECK(world.created.back() == "pod dqn-aggregator");
    CHECK(world.service_names() == world.pod_names());
    for (const auto& pod : world.seen.pods) {
      if (pod->meta.name != "dqn-aggregator") continue;
      CHECK(kube::annotation(pod->meta, gang::kIncarnationAnnotation) == "1");
    }
  }
  SECTION("when it is evicted") {
    world.change_pod("dqn-aggregator", fails("Evicted"));
    settle(world);
    CHECK(world.created.back() == "pod dqn-aggregator");
    CHECK(world.seen.job.status.aggregator.failed == 0);
  }
  SECTION("and kept when it has failed by itself") {
    world.change_pod("dqn-aggregator", fails(""));
    settle(world);
    CHECK(world.created.empty());
    CHECK(world.seen.job.status.aggregator.failed == 1);
  }
}

TEST_CASE("a multi-GPU learner is replaced as a whole", "[controller][replacement]") {
  World world = a_world_with_a_multi_gpu_learner();
  const Strings before = {world.name(Role::kAggregator, 4096), world.name(Role::kDdpLearner, 4096),
                          world.name(Role::kDdpLearner, 4097)};
  const std::string& lost = before[GENERATE(0U, 1U, 2U)];
  const int how = GENERATE(0, 1, 2);
  if (how == 0) world.remove_pod(lost);
  if (how == 1) world.change_pod(lost, fails("Evicted"));
  if (how == 2) world.change_pod(lost, [](kube::Pod& pod) { pod.node_lost = "deleted"; });
  settle(world);
  CHECK(world.seen.job.status.replaced == Replaced{{Role::kLearner, {4096, 1}}});
  const Strings pods = world.pod_names();
  for (const auto& pod : before) CHECK(std::count(pods.begin(), pods.end(), pod) == 0);
  for (const auto& [role, ordinal] :
       {std::pair(Role::kAggregator, 4096), {Role::kDdpLearner, 4096}, {Role::kDdpLearner, 4097}}) {
    const std::string pod = world.name(role, ordinal, 1);
    CHECK(std::count(pods.begin(), pods.end(), pod) == 1);
  }
  CHECK(pods.size() == 7);
  CHECK(world.service_names() == pods);
  CHECK(world.seen.job.status.learner.failed == 0);
}

TEST_CASE("a multi-GPU learner with a failed pod is counted and kept",
          "[controller][replacement]") {
  World world = a_world_with_a_multi_gpu_learner();
  world.change_pod(world.name(Role::kDdpLearner, 4097), fails(""));
  settle(world);
  CHECK(world.seen.job.status.learner.failed == 1);
  CHECK(world.seen.job.status.learner.active == 1);
  SECTION("also if its other pods end") {
    world.remove_pod(world.name(Role::kDdpLearner, 4096));
    settle(world);
    CHECK(world.seen.job.status.replaced.empty());
    CHECK(world.created.empty());
    CHECK(world.seen.job.status.learner.failed == 1);
  }
  SECTION("until its client requests a replacement") {
    world.seen.job.spec.requests.entries[0].slots[0].incarnation = 1;
    settle(world);
    CHECK(world.pod_names().size() == 7);
    CHECK(world.seen.job.status.learner.failed == 1);
  }
  SECTION("with its aggregator") {
    world.change_pod(world.name(Role::kAggregator, 4096), fails(""));
    settle(world);
    CHECK(world.seen.job.status.aggregator.failed == 1);
    world.remove_pod(world.name(Role::kAggregator, 4096));
    settle(world);
    CHECK(world.seen.job.status.aggregator.failed == 1);
    CHECK(world.created.empty());
  }
}

TEST_CASE("base replicas that are lowered and raised continue with the next incarnation",
          "[controller][replacement]") {
  World world = a_world_with_a_multi_gpu_learner();
  world.seen.job.spec.collector->replicas = 1;
  settle(world);
  CHECK(world.seen.job.status.replaced == Replaced{{Role::kCollector, {1, 1}}});
  CHECK(world.pod_names().size() == 6);
  world.seen.job.spec.collector->replicas = 2;
  settle(world);
  const std::string next = world.name(Role::kCollector, 1, 1);
  CHECK(world.created == Strings{"service " + next, "pod " + next});
}

TEST_CASE("pods that the controller deletes do not count as lost", "[controller][replacement]") {
  World world = a_world_with_a_multi_gpu_learner();
  world.seen.job.spec.requests.entries[0].slots[0].incarnation = 3;
  settle(world);
  CHECK(world.seen.job.status.replaced.empty());
}

TEST_CASE("the status with the replaced slots is written before pods are touched",
          "[controller][replacement]") {
  World world = a_world_with_a_multi_gpu_learner();
  world.remove_pod(world.name(Role::kCollector, 0));
  const Actions actions = reconcile(world.seen).actions;
  REQUIRE(std::holds_alternative<UpdateStatus>(actions[0]));
  CHECK(std::get<UpdateStatus>(actions[0]).status.replaced.size() == 1);
  const auto writes = std::count_if(actions.begin(), actions.end(), [](const auto& action) {
    return std::holds_alternative<PatchPodGroup>(action);
  });
  CHECK(writes == 1);
}

TEST_CASE("a replica whose pods keep being rejected is replaced with growing back-off",
          "[controller][replacement]") {
  using namespace std::chrono_literals;
  World world = a_world_with_a_multi_gpu_learner();
  const auto reject = [&](int incarnation) {
    world.change_pod(world.name(Role::kCollector, 0, incarnation), fails("OutOfcpu"));
  };
  reject(0);
  settle(world);  // at once
  reject(1);
  CHECK(world.settle() >= 0);
  CHECK(reconcile(world.seen).requeue_after == 10s);
  world.seen.now += 10s;
  settle(world);
  CHECK(world.seen.job.status.replaced == Replaced{{Role::kCollector, {0, 2}}});
  reject(2);
  CHECK(world.settle() >= 0);
  CHECK(reconcile(world.seen).requeue_after == 20s);
  CHECK(world.seen.job.status.collector.failed == 0);
}

TEST_CASE("a replica without pod names left continues under a new ordinal",
          "[controller][replacement]") {
  World world(a_job(2, 0));
  world.seen.job.status.attempt = 0;
  world.settle();
  world.seen.job.status.replaced = {{Role::kCollector, {1, job::kMaxIncarnation}}};
  settle(world);
  world.run_all();
  settle(world);
  const std::string last = world.name(Role::kCollector, 1, job::kMaxIncarnation);
  const auto check = [&] {
    CHECK(world.seen.job.status.continued ==
          std::vector<job::Status::Continued>{{Role::kCollector, {1, 218}, 61'440, 1}});
    const std::string next = world.name(Role::kCollector, 1, 218);
    CHECK(next == "dqn-collector-" + job::name_suffix("uid-dqn", Role::kCollector, {61'440, 0}));
    const Strings pods = world.pod_names();
    CHECK(std::count(pods.begin(), pods.end(), next) == 1);
    CHECK(std::count(pods.begin(), pods.end(), last) == 0);
    CHECK(find_condition(world.seen.job.status, "ReplacementLimitExceeded") == nullptr);
    world.run_all();
    settle(world);
    CHECK(is_true(world.seen.job.status, "Ready"));
  };
  SECTION("when its pod is lost") {
    world.remove_pod(last);
    settle(world);
    check();
  }
  SECTION("when `replicas` is lowered and raised") {
    world.seen.job.spec.collector->replicas = 1;
    settle(world);
    CHECK(world.seen.job.status.continued.empty());  // nothing wants it
    world.seen.job.spec.collector->replicas = 2;
    settle(world);
    check();
  }
  SECTION("and the next attempt has unused names of its own") {
    world.remove_pod(last);
    settle(world);
    world.seen.job.spec.backoff_limit = 1;
    world.end("dqn-coordinator", false);
    CHECK(world.settle() >= 0);
    CHECK(world.seen.job.status.continued.empty());
    CHECK(world.seen.job.status.next_continued_collector == 61'441);
  }
}

TEST_CASE("the new ordinals of a multi-GPU learner are consecutive", "[controller][replacement]") {
  World world = a_world_with_a_multi_gpu_learner();
  world.seen.job.status.next_continued_learner = 61'450;
  world.seen.job.status.replaced = {{Role::kLearner, {4096, 218}}};
  settle(world);
  CHECK(world.seen.job.status.continued ==
        std::vector<job::Status::Continued>{{Role::kLearner, {4096, 218}, 61'450, 2}});
  CHECK(world.seen.job.status.next_continued_learner == 61'452);
  const Strings pods = world.pod_names();
  for (const auto& [role, ordinal] :
       {std::pair(Role::kAggregator, 4096), {Role::kDdpLearner, 4096}, {Role::kDdpLearner, 4097}}) {
    CHECK(std::count(pods.begin(), pods.end(), world.name(role, ordinal, 218)) == 1);
  }
}

TEST_CASE("ordinals that nervex-server assigned are never assigned again",
          "[controller][replacement]") {
  job::Job job = a_job(1, 0);
  job.status.attempt = 1;
  job.status.replaced = {{Role::kCollector, {0, 218}}};
  job.status.next_collector = 61'500;  // an earlier version knew no bound
  job.spec.requests.next_collector = 61'501;
  CHECK(continue_exhausted(job));
  CHECK(job.status.continued ==
        std::vector<job::Status::Continued>{{Role::kCollector, {0, 218}, 61'501, 1}});
  CHECK_FALSE(continue_exhausted(job));  // once
}

TEST_CASE("a replica without any name left is reported, wanted and not Ready",
          "[controller][replacement]") {
  World world(a_job(2, 0));
  world.seen.job.status.attempt = 0;
  world.settle();
  world.seen.job.status.next_continued_collector = job::kMaxOrdinal + 1;
  world.seen.job.status.replaced = {{Role::kCollector, {1, job::kMaxIncarnation + 1}}};
  settle(world);
  world.run_all();
  settle(world);
  const job::Status& status = world.seen.job.status;
  const auto* condition = find_condition(status, "ReplacementLimitExceeded");
  REQUIRE(condition != nullptr);
  CHECK(condition->message.find("collector 1") == 0);
  CHECK(status.ready == status.desired - 1);
  const auto* ready = find_condition(status, "Ready");
  REQUIRE(ready != nullptr);
  CHECK_FALSE(ready->status);
  CHECK(ready->reason == "ReplacementLimitExceeded");

  world.seen.job.spec.collector->replicas = 1;  // nothing wants it any more
  settle(world);
  CHECK_FALSE(is_true(status, "ReplacementLimitExceeded"));
  CHECK(is_true(status, "Ready"));
}

TEST_CASE("a job's own aggregator is replaced for as long as the job lives",
          "[controller][replacement]") {
  World world = a_world_with_a_multi_gpu_learner();
  world.seen.job.status.replaced = {{Role::kAggregator, {0, job::kMaxIncarnation}}};
  settle(world);
  world.run_all();
  settle(world);
  world.remove_pod("dqn-aggregator");
  settle(world);
  CHECK(world.seen.job.status.replaced == Replaced{{Role::kAggregator, {0, 218}}});
  const Strings pods = world.pod_names();
  CHECK(std::count(pods.begin(), pods.end(), "dqn-aggregator") == 1);
}

TEST_CASE("a base replica that is lowered before it had a pod keeps its incarnation",
          "[controller][replacement]") {
  World world = a_world_with_a_multi_gpu_learner();
  const Strings before = world.pod_names();
  for (int times = 0; times < 3; ++times) {
    world.seen.job.spec.collector->replicas = 3;  // without a node for it
    Actions actions = reconcile(world.seen).actions;
    REQUIRE_FALSE(actions.empty());
    world.apply(actions);
    world.seen.job.spec.collector->replicas = 2;
    actions = reconcile(world.seen).actions;
    REQUIRE_FALSE(actions.empty());
    world.apply(actions);
    CHECK(world.seen.job.status.replaced.empty());
  }
  CHECK(world.pod_names() == before);
}

TEST_CASE("a replica that nervex-server has given new names is no longer reported",
          "[controller][replacement]") {
  const bool is_of_base = GENERATE(true, false);
  INFO("a base replica: " << is_of_base);
  World world(a_job(is_of_base ? 1 : 0, 0));
  auto& requests = world.seen.job.spec.requests;
  const int ordinal = is_of_base ? 0 : 4096;
  if (!is_of_base) requests.entries = {testing::an_entry(1, Role::kCollector, 1)};
  world.seen.job.status.attempt = 0;
  world.settle();
  world.seen.job.status.next_continued_collector = job::kMaxOrdinal + 1;
  world.seen.job.status.replaced = {{Role::kCollector, {ordinal, job::kMaxIncarnation + 1}}};
  settle(world);
  REQUIRE(is_true(world.seen.job.status, "ReplacementLimitExceeded"));

  // What nervex-server writes (server/decide/ordinals.h).
  requests.next_collector = 4200;
  requests.moved = {{1, Role::kCollector, ordinal, 4199}};
  if (is_of_base) requests.base = {{1, Role::kCollector, {0, 0}, true}};
  requests.entries = {testing::an_entry(2, Role::kCollector, 1, 4199)};
  settle(world);
  const auto* condition = find_condition(world.seen.job.status, "ReplacementLimitExceeded");
  REQUIRE(condition != nullptr);
  CHECK_FALSE(condition->status);
  const Strings pods = world.pod_names();
  CHECK(std::set<std::string>(pods.begin(), pods.end()) ==
        std::set<std::string>{"dqn-coordinator", world.name(Role::kCollector, 4199)});
}

TEST_CASE("an aggregator is lost once, however often the next round fails",
          "[controller][replacement]") {
  World world = a_world_with_a_multi_gpu_learner();
  world.remove_pod("dqn-aggregator");
  for (int round = 0; round < 3; ++round) {  // the PodGroup is not changed, its service not deleted
    world.look();
    for (const auto& action : reconcile(world.seen).actions) {
      if (std::holds_alternative<UpdateStatus>(action)) world.apply({action});
    }
  }
  CHECK(world.seen.job.status.replaced == Replaced{{Role::kAggregator, {0, 1}}});
}

TEST_CASE("while requests are lost nothing is replaced", "[controller][replacement]") {
  World world = a_world_with_a_multi_gpu_learner();
  world.seen.job.status.next_learner = 4098;
  world.seen.job.spec.requests = {};
  world.remove_pod(world.name(Role::kDdpLearner, 4096));
  settle(world);
  CHECK(world.deleted.empty());
  CHECK(world.created.empty());
}

TEST_CASE("a taken name costs an incarnation", "[controller][replacement]") {
  World world = a_world_with_a_multi_gpu_learner();
  const auto pass_by = [&](const std::string& name) {
    return pass_by_taken_name(world.seen.job, name);
  };
  SECTION("if it is one of several") {
    world.apply(pass_by(world.name(Role::kCollector, 1)));
    CHECK(world.seen.job.status.replaced == Replaced{{Role::kCollector, {1, 1}}});
  }
  SECTION("of a multi-GPU learner for all its pods") {
    world.apply(pass_by(world.name(Role::kDdpLearner, 4097)));
    CHECK(world.seen.job.status.replaced == Replaced{{Role::kLearner, {4096, 1}}});
  }
  SECTION("but not if there is no other one") {
    CHECK(pass_by("dqn-coordinator").empty());
    CHECK(pass_by("dqn-aggregator").empty());
    CHECK(pass_by("somebody-elses").empty());
  }
}

}  // namespace
// ---- base replicas that the replicas API removed

// What a DELETE writes.
void remove_collector(World& world, int ordinal, int incarnation, std::int64_t id) {
  auto& job = world.seen.job;
  std::erase_if(job.spec.requests.base,
                [&](const auto& change) { return change.slot.ordinal == ordinal; });
  job.spec.requests.base.push_back(
      {1, Role::kCollector, {ordinal, incarnation}, true, id, job.spec.collector->replicas});
  settle(world);
  world.run_all();
  world.settle();
}

void scale_collectors(World& world, int replicas) {
  world.seen.job.spec.collector->replicas = replicas;
  settle(world);
  world.run_all();
  world.settle();
}

TEST_CASE("removed base replicas return when the job is scaled, as other pods",
          "[controller][replacement]") {
  World world(a_job(4, 0));
  world.start();
  world.commit();
  remove_collector(world, 2, 0, 1);
  remove_collector(world, 3, 0, 2);
  REQUIRE(world.seen.job.status.base_collectors == 2);
  world.created.clear();

  const bool is_raised = GENERATE(true, false);  // else lowered to what is left, and back
  scale_collectors(world, is_raised ? 5 : 2);
  CHECK(world.seen.job.status.base_collectors == (is_raised ? 5 : 2));
  CHECK(world.seen.job.status.returned_collector == 2);
  scale_collectors(world, 4);  // the number of the removals
  CHECK(world.seen.job.status.base_collectors == 4);
  const auto pods = world.pod_names();
  for (const int ordinal : {2, 3}) {
    INFO(ordinal);
    const auto pod = world.name(Role::kCollector, ordinal, 1);
    CHECK(std::count(pods.begin(), pods.end(), pod) == 1);
  }

  remove_collector(world, 3, 1, 3);  // again
  CHECK(world.seen.job.status.base_collectors == 3);
}

TEST_CASE("removed base replicas return although no status was written between",
          "[controller][replacement]") {
  World world(a_job(3, 0));
  world.start();
  world.commit();
  remove_collector(world, 2, 0, 1);
  // The number is changed before the controller has seen the removal: its pod still runs.
  world.seen.job.spec.requests.base.push_back({1, Role::kCollector, {1, 0}, true, 2, 3});
  scale_collectors(world, 4);
  CHECK(world.seen.job.status.base_collectors == 4);
  const auto pods = world.pod_names();
  CHECK(std::count(pods.begin(), pods.end(), world.name(Role::kCollector, 1, 1)) == 1);
}

}  // namespace nervex::controller
