#include "controller/decide/objects/services.h"
#include "controller/decide/reasons.h"
#include "controller/decide/round/pod_context.h"

#include <algorithm>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "controller/decide/reconcile.h"
#include "job/names.h"
#include "tests/controller/cluster.h"
#include "tests/controller/world.h"
#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using job::Role;
using job::ServiceMode;
using testing::a_job;
using testing::Applied;
using testing::kJobKey;
using testing::World;
using Strings = std::vector<std::string>;

// ---- which mode has an attempt?

std::shared_ptr<const Service> a_shared_service(const std::function<void(Json&)>& change = {}) {
  Json manifest = job::shared_service_manifest("rl");
  manifest["metadata"]["uid"] = "uid-shared";
  manifest["metadata"]["resourceVersion"] = "7";
  if (change) change(manifest);
  return std::make_shared<const Service>(*decode_service(kube::to_text(manifest)));
}

const auto kNoChange = [](Json&) {};
const auto kOtherLabel = [](Json& service) {
  service["metadata"]["labels"][std::string(job::kControllerLabel)] = "another-operator";
};
const auto kOwned = [](Json& service) {
  service["metadata"]["ownerReferences"] = Json::array(
      {{{"apiVersion", "apps/v1"}, {"kind", "Deployment"}, {"name", "x"}, {"uid", "u"}}});
};

TEST_CASE("a namespace's Service is ours if it has our labels and no owner",
          "[controller][services]") {
  CHECK(is_shared_service(*a_shared_service()));
  CHECK_FALSE(is_shared_service(*a_shared_service(kOtherLabel)));
  CHECK_FALSE(is_shared_service(*a_shared_service(kOwned)));
  CHECK_FALSE(is_shared_service(
      *a_shared_service([](Json& service) { service["metadata"]["name"] = "another"; })));
}

TEST_CASE("which Services an attempt uses", "[controller][services]") {
  struct Row {
    std::string when;
    bool flag;      // --services=shared
    bool is_begun;  // it has a PodGroup
    ServiceMode stored;
    bool is_taken;
    ServiceMode want;
  };
  using enum ServiceMode;
  const auto row = GENERATE(values<Row>({
      {"it is about to begin", true, false, kNone, false, kShared},
      {"it is about to begin with per-pod", false, false, kNone, false, kPerPod},
      {"the name is taken by another owner", true, false, kNone, true, kPerPod},
      {"the flag has changed before it began", false, false, kShared, false, kPerPod},
      {"the flag has changed before it began", true, false, kPerPod, false, kShared},
      {"it goes on", true, true, kShared, false, kShared},
      {"the flag has changed since", false, true, kShared, false, kShared},
      {"the flag has changed since", true, true, kPerPod, false, kPerPod},
      {"the Service has got another owner", true, true, kShared, true, kPerPod},
      {"the name is free again", true, true, kPerPod, false, kPerPod},
      {"a version without modes began it", true, true, kNone, false, kPerPod},
  }));
  INFO("when " << row.when);
  World world(a_job(1, 0));
  if (row.is_begun) world.make_gang();
  world.seen.shared_services = row.flag;
  world.seen.job.status.services = row.stored;
  world.seen.shared_service = a_shared_service(row.is_taken ? kOwned : std::function(kNoChange));
  CHECK(service_mode(world.seen, current_attempt(world.seen)) == row.want);
}

// ---- the Service of the namespace

World a_shared_world(int collectors = 1) {
  World world(a_job(collectors, 0));
  world.seen.shared_services = true;
  return world;
}

TEST_CASE("a job creates the namespace's Service before its first pods", "[controller][services]") {
  World world = a_shared_world();
  world.settle();
  CHECK(world.seen.job.status.services == ServiceMode::kShared);
  CHECK(world.seen.shared_service == nullptr);  // a job that waits needs none
  world.plan();
  world.settle();
  CHECK(world.created == Strings{"podgroup dqn-1", "service rl",
                                 "pod " + world.name(Role::kCollector), "pod dqn-coordinator"});
  CHECK(is_shared_service(*world.seen.shared_service));
  CHECK(world.seen.services.empty());
  for (const auto& pod : world.seen.pods) CHECK(pod->is_named_by_namespace);
  CHECK(world.settle() == 0);

  SECTION("and keeps it when it ends") {
    world.run_all();
    world.settle();
    world.end("dqn-coordinator", true);
    world.settle();
    CHECK(world.seen.job.status.phase == job::Phase::kSucceeded);
    CHECK(world.seen.shared_service != nullptr);
  }
  SECTION("and creates it again when it was deleted") {
    world.seen.shared_service = nullptr;
    world.created.clear();
    CHECK(world.settle() == 1);
    CHECK(world.created == Strings{"service rl"});
  }
  SECTION("and restores it when it was edited") {
    world.seen.shared_service = a_shared_service([](Json& service) {
      service["spec"]["selector"] = {{"app", "another"}};
    });
    const Actions actions = reconcile(world.seen).actions;
    REQUIRE(actions.size() == 1);
    CHECK(std::get<UpdateSharedService>(actions[0]).resource_version == "7");
    world.apply(actions);
    CHECK(world.settle() == 0);
  }
  SECTION("and when it was replaced by one that is not headless") {
    world.seen.shared_service =
        a_shared_service([](Json& service) { service["spec"]["clusterIP"] = "10.0.0.7"; });
    const Actions actions = reconcile(world.seen).actions;
    REQUIRE(actions.size() == 2);
    CHECK(std::get<DeleteServices>(actions[0]).targets ==
          std::vector<Target>{{"rl", "uid-shared", false, "7"}});
    CHECK(std::holds_alternative<CreateSharedService>(actions[1]));
  }
}

TEST_CASE("a job that finds the namespace's Service creates none", "[controller][services]") {
  World world = a_shared_world();
  world.seen.shared_service = a_shared_service();
  world.make_gang();
  CHECK(world.pod_names().size() == 2);
  CHECK(std::count(world.created.begin(), world.created.end(), "service rl") == 0);
}

TEST_CASE("pods keep the kind of Services that their attempt started with",
          "[controller][services]") {
  const bool was_shared = GENERATE(true, false);
  World world(a_job(1, 0));
  world.seen.shared_services = was_shared;
  world.seen.job.spec.backoff_limit = 1;
  world.start();
  world.created.clear();
  world.seen.shared_services = !was_shared;
  CHECK(world.settle() == 0);
  world.seen.job.spec.collector->replicas = 2;  // also those that come later
  world.settle();
  world.plan();
  world.settle();
  CHECK(world.pod_names().size() == 3);
  for (const auto& pod : world.seen.pods) CHECK(pod->is_named_by_namespace == was_shared);
  CHECK(world.service_names() == (was_shared ? Strings{} : world.pod_names()));

  world.end("dqn-coordinator", false);  // the next attempt follows the flag
  world.settle();
  world.seen.now += std::chrono::minutes(1);
  world.make_gang();
  REQUIRE(world.seen.job.status.attempt == 2);
  CHECK(world.pod_names().size() == 3);
  for (const auto& pod : world.seen.pods) CHECK(pod->is_named_by_namespace != was_shared);
  CHECK(world.service_names() == (was_shared ? world.pod_names() : Strings{}));
}

TEST_CASE("pods of a version without --services keep their Services", "[controller][services]") {
  World world(a_job(1, 0));
  world.start();
  world.seen.job.status.services = ServiceMode::kNone;
  world.seen.shared_services = true;
  world.created.clear();
  world.deleted.clear();
  world.settle();
  CHECK(world.seen.job.status.services == ServiceMode::kPerPod);
  CHECK(world.service_names() == world.pod_names());
  CHECK(world.created.empty());
  CHECK(world.deleted.empty());
}

TEST_CASE("a pod with its own hostname or subdomain has a Service of its own",
          "[controller][services]") {
  const auto& [field, value] = GENERATE(values<std::pair<std::string, Json>>({
      {"hostname", "worker"},
      {"subdomain", "workers"},
      {"setHostnameAsFQDN", true},
  }));
  INFO("field " << field);
  World world = a_shared_world();
  Json pod_template = world.seen.job.spec.collector->pod_template;
  pod_template["spec"][field] = value;
  world.seen.job.spec.collector->pod_template = pod_template;
  world.make_gang();
  const std::string collector = world.name(Role::kCollector);
  CHECK(world.service_names() == Strings{collector});
  CHECK(world.seen.shared_service != nullptr);  // the coordinator's
  world.created.clear();
  world.seen.services.clear();
  world.settle();
  CHECK(world.created == Strings{"service " + collector});
}

// ---- a name that belongs to another owner

TEST_CASE("a Service of another owner is not touched, and pods have their own",
          "[controller][services]") {
  const bool is_later = GENERATE(true, false);
  INFO("while the job runs: " << is_later);
  World world = a_shared_world();
  world.seen.job.spec.backoff_limit = 1;
  if (is_later) world.start();
  const auto taken =
      a_shared_service(GENERATE(true, false) ? std::function<void(Json&)>(kOwned) : kOtherLabel);
  world.seen.shared_service = taken;
  world.start();
  CHECK(world.seen.shared_service == taken);
  CHECK(world.seen.job.status.services == ServiceMode::kPerPod);
  CHECK(world.service_names() == world.pod_names());
  const auto* condition = find_condition(world.seen.job.status, kPerPodServices);
  REQUIRE(condition != nullptr);
  CHECK(condition->status);
  CHECK(condition->reason == kServiceNameTaken);
  CHECK(condition->message.starts_with("service rl/rl belongs to another owner: each pod"));

  world.seen.shared_service = nullptr;  // it is free again
  CHECK(world.settle() == 0);
  world.end("dqn-coordinator", false);
  world.settle();
  world.seen.now += std::chrono::minutes(1);
  world.make_gang();
  REQUIRE(world.seen.job.status.attempt == 2);
  CHECK(world.seen.job.status.services == ServiceMode::kShared);
  CHECK(find_condition(world.seen.job.status, kPerPodServices) == nullptr);
  CHECK(world.service_names().empty());
}

TEST_CASE("with --services=per-pod no condition says that pods have their own",
          "[controller][services]") {
  World world(a_job(1, 0));
  world.seen.shared_service = a_shared_service(kOwned);
  world.start();
  CHECK(world.service_names() == world.pod_names());
  CHECK(find_condition(world.seen.job.status, kPerPodServices) == nullptr);
}

TEST_CASE("the namespace's Service goes with its last job", "[controller][services]") {
  CHECK(unused_shared_service(a_shared_service(), false) == Target{"rl", "uid-shared", false, "7"});
  CHECK_FALSE(unused_shared_service(a_shared_service(), true));
  CHECK_FALSE(unused_shared_service(nullptr, false));
  CHECK_FALSE(unused_shared_service(a_shared_service(kOwned), false));
  CHECK_FALSE(unused_shared_service(a_shared_service([](Json& service) {
                                      service["metadata"]["deletionTimestamp"] =
                                          "2026-11-23T01:00:00Z";
                                    }),
                                    false));
}

// ---- against an API server

struct SharedCluster : testing::ControllerCluster {
  SharedCluster() : ControllerCluster(true) { create_job(1, 0); }
  // Another job of the namespace, as its own worker meets it; with the caches as they are.
  void process(const std::string& key) { controller->worker.process(key); }
  Json service() const { return api.get(kube::kServices, "rl", "rl"); }
  Strings services() const { return names(kube::kServices); }
};

TEST_CASE("two jobs of one namespace create one Service", "[controller][services]") {
  SharedCluster cluster;
  cluster.api.add(kube::kNervexJobs, "rl",
                  {{"metadata", {{"name", "two"}}},
                   {"spec", {{"coordinator", {{"template", testing::a_template()}}}}}});
  cluster.settle();
  for (int i = 0; i < 5; ++i) {
    cluster.sync();
    cluster.process("rl/two");
  }
  cluster.plan();
  cluster.sync();
  // The cache lacks what another worker creates at this moment.
  cluster.api.add(kube::kServices, "rl", job::shared_service_manifest("rl"));
  cluster.process(kJobKey);
  cluster.process("rl/two");
  CHECK(cluster.settle() >= 0);
  CHECK(cluster.names(kube::kPods) == Strings{job::pod_name(cluster.job(), Role::kCollector, {}),
                                              "dqn-coordinator", "two-coordinator"});
  CHECK(cluster.services() == Strings{"rl"});
  CHECK(cluster.job().status.services == ServiceMode::kShared);
}

TEST_CASE("a Service without our labels causes a conflict at creation", "[controller][services]") {
  SharedCluster cluster;
  const Json theirs = cluster.api.add(kube::kServices, "rl", {{"metadata", {{"name", "rl"}}}});
  cluster.plan_and_run();
  CHECK(cluster.service() == theirs);
  const auto status = cluster.job().status;
  CHECK(status.services == ServiceMode::kPerPod);
  CHECK(status.attempt == 1);
  CHECK(status.phase == job::Phase::kRunning);
  CHECK(find_condition(status, kPerPodServices)->reason == kServiceNameTaken);
  CHECK(cluster.services().size() == 3);  // theirs and one for each pod
}

TEST_CASE("a namespace whose name no Service can have", "[controller][services]") {
  SharedCluster cluster;
  cluster.api.fail_next(
      [](const kube::ApiRequest& request) {
        return request.method == "POST" && request.path.ends_with("/services") &&
               request.body.find("\"ownerReferences\"") == std::string::npos;
      },
      {Code::kInvalid, "Service \"1rl\" is invalid: metadata.name"}, Applied::kNo, 100);
  cluster.plan_and_run();
  const auto status = cluster.job().status;
  CHECK(status.services == ServiceMode::kPerPod);
  CHECK(status.attempt == 1);
  CHECK(find_condition(status, kPerPodServices)->reason == kInvalidServiceName);
  CHECK(find_condition(status, kPerPodServices)->message.find("is invalid") != std::string::npos);
  CHECK(cluster.services() == cluster.names(kube::kPods));
}

TEST_CASE("a Service that a quota refuses is reported, and does not switch to one per pod",
          "[controller][services]") {
  SharedCluster cluster;
  cluster.api.fail_next("POST", "/services", {Code::kForbidden, "exceeded quota"}, Applied::kNo,
                        100);
  cluster.plan_and_run();
  CHECK(cluster.names(kube::kPods).empty());
  CHECK(cluster.services().empty());
  CHECK(cluster.job().status.reason == "FailedCreate");
  CHECK(find_condition(cluster.job().status, kPerPodServices) == nullptr);
}

TEST_CASE("a controller that crashes around the write of the namespace's Service continues",
          "[controller][services]") {
  const Applied applied = GENERATE(Applied::kYes, Applied::kNo);
  SharedCluster cluster;
  cluster.settle();
  cluster.plan();
  cluster.api.fail_next("POST", "/services", {Code::kTransient, "killed"}, applied);
  cluster.sync();
  cluster.process(kJobKey);
  CHECK(cluster.names(kube::kPods).empty());
  cluster.restart();
  CHECK(cluster.settle() >= 0);
  CHECK(cluster.services() == Strings{"rl"});
  CHECK(cluster.names(kube::kPods).size() == 2);
}

TEST_CASE("the last job takes the namespace's Service with it", "[controller][services]") {
  SharedCluster cluster;
  cluster.plan_and_run();
  REQUIRE(cluster.services() == Strings{"rl"});
  SECTION("when it is deleted") {
    cluster.api.remove(kube::kNervexJobs, "rl", "dqn");
    CHECK(cluster.settle() >= 0);
    CHECK(cluster.services().empty());
  }
  SECTION("when it was deleted while no controller ran") {
    cluster.api.remove(kube::kNervexJobs, "rl", "dqn");
    cluster.restart();
    cluster.process(orphans_key("rl"));
    CHECK(cluster.services().empty());
  }
  SECTION("also if the answer is lost") {
    cluster.api.remove(kube::kNervexJobs, "rl", "dqn");
    cluster.api.fail_next("DELETE", "/services", {Code::kTransient, "timeout"},
                          GENERATE(Applied::kYes, Applied::kNo));
    CHECK(cluster.settle() >= 0);
    CHECK(cluster.services().empty());
  }
  SECTION("but not while another job is there") {
    cluster.api.add(kube::kNervexJobs, "rl",
                    {{"metadata", {{"name", "two"}}},
                     {"spec", {{"coordinator", {{"template", testing::a_template()}}}}}});
    cluster.api.remove(kube::kNervexJobs, "rl", "dqn");
    CHECK(cluster.settle() >= 0);
    CHECK(cluster.services() == Strings{"rl"});
  }
  SECTION("but not one that is another by now") {
    cluster.api.remove(kube::kNervexJobs, "rl", "dqn");
    cluster.sync();
    cluster.api.change(kube::kServices, "rl", "rl",
                       {{"metadata", {{"annotations", {{"a", "b"}}}}}});
    cluster.process(kJobKey);
    CHECK(cluster.services() == Strings{"rl"});
    CHECK(cluster.settle() >= 0);  // in the version that is there now
    CHECK(cluster.services().empty());
  }
}

TEST_CASE("a Service that is deleted while a new job arrives is created again",
          "[controller][services]") {
  SharedCluster cluster;
  cluster.plan_and_run();
  // The worker of a deleted job has found no other job.
  const auto target =
      unused_shared_service(cluster.controller->stores.services.get("rl/rl"), false);
  REQUIRE(target);
  kube::DeleteOptions options;
  options.resource_version = target->resource_version;
  REQUIRE(kube::delete_object(cluster.api, kube::kServices, "rl", "rl", target->uid, options));
  CHECK(cluster.settle() >= 0);
  CHECK(cluster.services() == Strings{"rl"});
}

}  // namespace
}  // namespace nervex::controller
