#include "controller/decide/objects/pods.h"
#include "controller/decide/make_round.h"

#include <algorithm>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "controller/decide/reconcile.h"
#include "tests/controller/world.h"
#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using job::Role;
using testing::a_job;
using testing::an_entry;
using testing::World;
using Strings = std::vector<std::string>;

// All pods of a job with one collector exist, unbound.
World a_started_world() {
  World world(a_job(1, 0));
  world.make_gang();
  world.created.clear();
  return world;
}

TEST_CASE("a pod is pinned to its node and annotated with its slot", "[controller][pods]") {
  World world(a_job(1, 0));
  world.settle();
  world.plan("n7");
  const Actions steps = pod_steps(make_round(world.seen));
  const Json& pod = std::get<CreatePods>(steps.at(1)).manifests.at(0);
  CHECK(pod["metadata"]["annotations"] == Json({{"nervex.sensetime.com/pod-group-uid",
                                                 make_round(world.seen).attempt.group->meta.uid},
                                                {"nervex.sensetime.com/slot", "collector/0"},
                                                {"nervex.sensetime.com/incarnation", "0"},
                                                {"nervex.sensetime.com/placement", "2"}}));
  CHECK(pod["spec"]["affinity"].dump().find("n7") != std::string::npos);
}

TEST_CASE("a pod names the queue of its gang, not one that its template names",
          "[controller][pods]") {
  constexpr const char* kQueue = "nervex.sensetime.com/queue";
  const std::string queue = GENERATE("", "vision");
  job::Job job = a_job(1, 0);
  Json collector = job.spec.collector->pod_template;
  collector["metadata"]["annotations"][kQueue] = "another";
  job.spec.collector->pod_template = collector;
  World world(job);
  world.settle();
  world.plan();
  world.change_group([&](gang::PodGroup& group) { group.status.queue.name = queue; });
  const Actions steps = pod_steps(make_round(world.seen));
  const Json& annotations =
      std::get<CreatePods>(steps.at(1)).manifests.at(0)["metadata"]["annotations"];
  CHECK(annotations.value(kQueue, "") == queue);
  CHECK(annotations.contains(kQueue) == !queue.empty());
}

TEST_CASE("a pod carries for how long its template tolerates an outage of its node",
          "[controller][pods]") {
  constexpr const char* kKey = "nervex.sensetime.com/tolerates-not-ready-seconds";
  const bool tolerates = GENERATE(true, false);
  job::Job job = a_job(1, 0);
  Json collector = job.spec.collector->pod_template;
  collector["metadata"]["annotations"][kKey] = "1";  // by another writer
  collector["spec"]["tolerations"] = Json::array({{{"operator", "Exists"}}});
  if (tolerates) {
    collector["spec"]["tolerations"].push_back({{"key", "node.kubernetes.io/not-ready"},
                                                {"operator", "Exists"},
                                                {"effect", "NoExecute"},
                                                {"tolerationSeconds", 3600}});
  }
  job.spec.collector->pod_template = collector;
  World world(job);
  world.settle();
  world.plan();
  const Actions steps = pod_steps(make_round(world.seen));
  const Json& annotations =
      std::get<CreatePods>(steps.at(1)).manifests.at(0)["metadata"]["annotations"];
  CHECK(annotations.contains(kKey) == tolerates);
  if (tolerates) CHECK(annotations[kKey] == "3600");
}

TEST_CASE("missing pods and services are created again", "[controller][pods]") {
  World world = a_started_world();
  const std::string collector = world.name(Role::kCollector);
  SECTION("a worker that was never known to exist, under its own name") {
    world.remove_pod(collector);
    std::erase_if(world.seen.services, [&](const auto& s) { return s->meta.name == collector; });
    world.settle();
    CHECK(world.created == Strings{"service " + collector, "pod " + collector});
  }
  SECTION("a coordinator that never ran") {
    world.remove_pod("dqn-coordinator");
    world.settle();
    CHECK(world.created == Strings{"pod dqn-coordinator"});
  }
  SECTION("a service") {
    world.seen.services.clear();
    world.settle();
    CHECK(world.created == Strings{"service " + collector, "service dqn-coordinator"});
  }
}

TEST_CASE("nothing is created while the plan is older than the spec", "[controller][pods]") {
  World world = a_started_world();
  world.seen.pods.clear();
  world.change_group([](gang::PodGroup& group) { ++group.meta.generation; });
  for (const auto& step : pod_steps(make_round(world.seen))) {
    CHECK_FALSE(std::holds_alternative<CreatePods>(step));
  }
}

TEST_CASE("a finished worker is neither created again nor replaced", "[controller][pods]") {
  World world = a_started_world();
  const std::string collector = world.name(Role::kCollector);
  world.end(collector, GENERATE(true, false));
  world.settle();
  CHECK(world.seen.job.status.ended.size() == 1);
  world.remove_pod(collector);
  CHECK(world.settle() == 1);  // its capacity is given back
  CHECK(world.settle() == 0);
  CHECK(world.created.empty());
}

TEST_CASE("a pod with a superseded placement is deleted", "[controller][pods]") {
  World world = a_started_world();
  const std::string collector = world.name(Role::kCollector);
  world.change_pod("dqn-coordinator", [](kube::Pod& pod) { pod.node = "n2"; });  // where it stays
  const bool is_bound = GENERATE(false, true);  // then the plan was edited by hand
  if (is_bound) world.bind(collector);
  SECTION("under its own name: it was not lost") {
    world.replan("base");
    CHECK(world.settle() >= 2);
    CHECK(world.deleted == Strings{"pod " + collector});
    CHECK(world.created == Strings{"pod " + collector});
    CHECK(world.seen.job.status.replaced.empty());
  }
  SECTION("but not for a plan that is older than the pod") {
    world.change_pod(collector, [](kube::Pod& pod) {
      pod.meta.annotations["nervex.sensetime.com/placement"] = "99";
    });
    CHECK(pod_steps(make_round(world.seen)).empty());
  }
}

TEST_CASE("a coordinator that another plan moves is deleted only while it is unbound",
          "[controller][pods]") {
  World world = a_started_world();
  world.change_pod("dqn-coordinator", [](kube::Pod& pod) {
    pod.node = "";
    pod.meta.resource_version = "41";
  });
  world.bind(world.name(Role::kCollector));
  world.replan("base");
  std::vector<Target> targets;
  for (const auto& action : pod_steps(make_round(world.seen))) {
    if (const auto* pods = std::get_if<DeletePods>(&action)) targets = pods->targets;
  }
  const auto coordinator = std::find_if(targets.begin(), targets.end(), [](const Target& target) {
    return target.name == "dqn-coordinator";
  });
  REQUIRE(coordinator != targets.end());
  CHECK(coordinator->resource_version == "41");  // a binding since then refuses the deletion
}

TEST_CASE("events of deleted pods name the reason", "[controller][pods]") {
  World world = a_started_world();
  const std::string collector = world.name(Role::kCollector);
  std::string want;
  SECTION("the gang lost its places") {
    world.change_group([](gang::PodGroup& group) {
      group.status.gangs[0].planned = false;
      group.status.gangs[0].message = "the plan was not bound within 60 s";
      group.status.gangs[0].placements.clear();
    });
    want = "deleted 2 pods: the gang lost its placements: the plan was not bound within 60 s";
  }
  SECTION("the gang has other places") {
    world.change_pod("dqn-coordinator", [](kube::Pod& pod) { pod.node = "n2"; });
    world.replan("base");
    want = "deleted pod " + collector + ": a new plan places it elsewhere";
  }
  SECTION("the job wants fewer") {
    world.seen.job.spec.collector->replicas = 0;
    want = "deleted pod " + collector + ": no longer wanted";
  }
  const Actions steps = pod_steps(make_round(world.seen));
  const auto event = std::find_if(steps.begin(), steps.end(), [](const auto& step) {
    return std::holds_alternative<RecordEvent>(step);
  });
  REQUIRE(event != steps.end());
  CHECK(std::get<RecordEvent>(*event).event.message == want);
}

TEST_CASE("an unbound pod is deleted when its gang has lost its placements", "[controller][pods]") {
  World world = a_started_world();
  world.change_group([](gang::PodGroup& group) {
    group.status.gangs[0].planned = false;
    group.status.gangs[0].reason = "Unschedulable";
    group.status.gangs[0].placements.clear();
  });
  CHECK(world.settle() >= 1);
  CHECK(world.pod_names().empty());
  CHECK(world.created.empty());
}

TEST_CASE("the coordinator waits for a worker that is in the way", "[controller][pods]") {
  World world = a_started_world();
  world.remove_pod("dqn-coordinator");
  world.change_pod(world.name(Role::kCollector), [](kube::Pod& pod) { pod.meta.deleting = true; });
  CHECK(pod_steps(make_round(world.seen)).empty());
}

TEST_CASE("the coordinator does not wait for what was requested", "[controller][pods]") {
  World world(a_job(1, 0));
  world.settle();
  world.seen.job.spec.requests.entries = {an_entry(1, Role::kCollector, 1)};
  world.settle();
  world.plan();
  world.change_group([](gang::PodGroup& group) { group.status.gangs.pop_back(); });
  world.settle();
  CHECK(world.pod_names() == Strings{world.name(Role::kCollector), "dqn-coordinator"});
}

TEST_CASE("a request of another attempt, or one that was deleted, gets no pods",
          "[controller][pods]") {
  World world = a_started_world();
  world.seen.job.spec.requests.entries = {an_entry(1, Role::kCollector, 1)};
  SECTION("another attempt") { world.seen.job.spec.requests.entries[0].attempt = 2; }
  SECTION("gone") {
    world.settle();
    world.plan();
    world.seen.job.spec.requests.entries.clear();
  }
  world.settle();
  CHECK(world.created.empty());
}

TEST_CASE("pods of a large template are created a few at a time, the coordinator last",
          "[controller][pods][memory]") {
  job::Job job = a_job(20, 0);
  Json args = Json::array();
  for (int i = 0; i < 40'000; ++i) args.push_back("");  // 120 kB of text, more than 2 MB parsed
  job.spec.collector->pod_template["spec"]["containers"][0]["args"] = std::move(args);
  World world(job);
  world.settle();
  world.plan();
  std::size_t most = 0;
  while (true) {
    world.look();
    const Actions actions = reconcile(world.seen).actions;
    if (actions.empty()) break;
    for (const Action& action : actions) {
      const auto* pods = std::get_if<CreatePods>(&action);
      if (pods != nullptr) most = std::max(most, pods->manifests.size());
    }
    world.apply(actions);
  }
  CHECK(most > 0);
  CHECK(most <= 3);
  CHECK(world.pod_names().size() == 21);
  CHECK(world.created.back() == "pod dqn-coordinator");
}

TEST_CASE("an aggregator whose template was deleted is waited for", "[controller][pods]") {
  World world(a_job());
  world.add_aggregator_config();
  world.settle();
  world.plan();
  world.commit();
  world.seen.aggregator_config = nullptr;
  world.settle();
  CHECK(world.pod_names().empty());
  CHECK(world.seen.job.status.reason == "AggregatorMissing");
  world.add_aggregator_config();
  world.settle();
  CHECK(world.pod_names() == Strings{"dqn-aggregator", "dqn-coordinator"});
}

// A job with three collectors and a request for two, all of them running.
World a_world_with_requests() {
  World world(a_job(3, 0));
  world.seen.job.spec.requests.entries = {an_entry(1, Role::kCollector, 2)};
  world.seen.job.spec.requests.next_collector = 4098;
  world.make_gang();
  world.run_all();
  world.commit();
  world.settle();
  world.created.clear();
  world.events.clear();
  return world;
}

TEST_CASE("pods of unwanted slots are deleted, with their services", "[controller][pods]") {
  World world = a_world_with_requests();
  Strings gone;
  SECTION("base replicas that are lowered") {
    world.seen.job.spec.collector->replicas = 1;
    gone = {world.name(Role::kCollector, 1), world.name(Role::kCollector, 2)};
  }
  SECTION("a base replica that a client removed") {
    world.seen.job.spec.requests.base = {{1, Role::kCollector, {1, 0}, true}};
    gone = {world.name(Role::kCollector, 1)};
  }
  SECTION("a request that shrinks") {
    world.seen.job.spec.requests.entries[0].slots.pop_back();
    gone = {world.name(Role::kCollector, 4097)};
  }
  SECTION("a request that is gone") {
    world.seen.job.spec.requests.entries.clear();
    gone = {world.name(Role::kCollector, 4096), world.name(Role::kCollector, 4097)};
  }
  world.make_gang();
  Strings want;
  for (const auto& pod : gone) want.push_back("pod " + pod);
  for (const auto& pod : gone) want.push_back("service " + pod);
  std::sort(want.begin(), want.end());
  std::sort(world.deleted.begin(), world.deleted.end());
  CHECK(world.deleted == want);
  CHECK(world.created.empty());
  CHECK(world.events == Strings{"SuccessfulDelete"});
  CHECK(world.seen.job.status.desired == 6 - static_cast<int>(gone.size()));
}

TEST_CASE("the newest pods go first", "[controller][pods]") {
  World world = a_world_with_requests();
  const std::string newest = world.name(Role::kCollector, 4096);
  world.change_pod(newest, [](kube::Pod& pod) { pod.meta.created += std::chrono::seconds(5); });
  world.seen.job.spec.requests.entries.clear();
  for (const auto& step : pod_steps(make_round(world.seen))) {
    if (const auto* pods = std::get_if<DeletePods>(&step)) {
      REQUIRE(pods->targets.size() == 2);
      CHECK(pods->targets[0].name == newest);
    }
  }
}

TEST_CASE("a slot's next pod waits for the one before", "[controller][pods]") {
  World world = a_world_with_requests();
  const std::string before = world.name(Role::kCollector, 4096);
  const std::string next = world.name(Role::kCollector, 4096, 1);
  world.seen.job.spec.requests.entries[0].slots[0].incarnation = 1;
  for (const auto& action : reconcile(world.seen).actions) {
    if (!std::holds_alternative<DeletePods>(action)) world.apply({action});
  }
  world.change_pod(before, [](kube::Pod& pod) { pod.meta.deleting = true; });
  world.make_gang();
  CHECK(world.created.empty());
  SECTION("to be gone") { world.remove_pod(before); }
  SECTION("to have finished") {
    world.change_pod(before, [](kube::Pod& pod) { pod.phase = kube::PodPhase::kFailed; });
  }
  const auto actions = reconcile(world.seen).actions;
  const auto confirm = std::find_if(actions.begin(), actions.end(), [](const auto& action) {
    return std::holds_alternative<ConfirmFree>(action);
  });
  REQUIRE(confirm != actions.end());  // the API server has the last word
  CHECK(std::get<ConfirmFree>(*confirm).slots ==
        std::vector{std::pair(Role::kCollector, job::Slot{4096, 1})});
  CHECK(std::holds_alternative<CreateServices>(*(confirm + 1)));
  world.settle();
  CHECK(world.created == Strings{"service " + next, "pod " + next});
  CHECK(world.seen.job.status.replaced.empty());  // a client asked for it
}

TEST_CASE("while requests are lost their pods stay", "[controller][pods]") {
  World world = a_world_with_requests();
  world.seen.job.status.next_collector = 4098;
  world.seen.job.spec.requests = {};
  world.settle();
  CHECK(world.deleted.empty());
  CHECK(world.created.empty());
}

TEST_CASE("a pod that a client reports as failed is replaced while requests are lost",
          "[controller][pods]") {
  World world = a_world_with_requests();
  world.seen.job.status.next_collector = 4098;
  world.seen.job.spec.requests = {};
  world.settle();
  const std::string before = world.name(Role::kCollector, 0);
  world.seen.job.spec.requests.base = {{1, Role::kCollector, {0, 1}, false}};
  world.make_gang();
  CHECK(world.deleted == Strings{"pod " + before});
  const std::string next = world.name(Role::kCollector, 0, 1);
  CHECK(world.created == Strings{"service " + next, "pod " + next});
}

TEST_CASE("a service with an edited spec is created again", "[controller][pods]") {
  World world = a_world_with_requests();
  for (auto& service : world.seen.services) {
    if (service->meta.name != "dqn-coordinator") continue;
    Service changed = *service;
    changed.shape = 7;
    service = std::make_shared<const Service>(changed);
  }
  CHECK(world.settle() == 2);
  CHECK(world.deleted == Strings{"service dqn-coordinator"});
  CHECK(world.created == Strings{"service dqn-coordinator"});
}

}  // namespace
}  // namespace nervex::controller
