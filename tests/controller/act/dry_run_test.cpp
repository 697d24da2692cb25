#include "controller/act/dry_run.h"
#include "controller/decide/reasons.h"
#include "controller/decide/round/condition.h"

#include <thread>

#include <catch2/catch_test_macros.hpp>

#include "gang/pod_group.h"
#include "job/kept.h"
#include "tests/controller/cluster.h"
#include "tests/support/wait_until.h"

namespace nervex::controller {
namespace {

using testing::Applied;
using testing::ControllerCluster;
using testing::kJobKey;
using testing::kNamespace;

const Error kAccountRefused{Code::kForbidden,
                            "POST /api/v1/namespaces/rl/pods: 403 pods \"x\" is forbidden: error "
                            "looking up service account rl/trainer"};

// A job that does not fit, according to the planner.
struct WaitingCluster : ControllerCluster {
  explicit WaitingCluster(int collectors = 1, int learners = 1) {
    create_job(collectors, learners);
    settle();
    decide(false);
    settle();
    api.clear_writes();
  }
  // The planner's word on the base gang.
  void decide(bool fits) {
    gang::PodGroup group = *gang::decode_pod_group(api.list(kube::kPodGroups).at(0));
    gang::GangStatus base;
    base.name = gang::kBaseGang;
    base.planned = fits;
    base.reason = fits ? gang::kReasonPlanned : gang::kReasonUnschedulable;
    base.message = fits ? "" : "learner: does not fit";
    group.status.gangs = {base};
    group.status.observed_generation = group.meta.generation;
    api.change(kube::kPodGroups, kNamespace, group.meta.name,
               {{"status", gang::encode_status(group.status)}});
  }
  bool is_refused() const { return is_true(job().status, kPodsRefused); }
  bool answer() const { return controller->dry_runs.answer_next(); }
};

}  // namespace

TEST_CASE("pods are sent as dry runs, and nothing is stored", "[controller][dry-run]") {
  WaitingCluster cluster;
  REQUIRE(cluster.answer());
  CHECK(cluster.api.writes("POST", "/pods").size() == 3);
  CHECK(cluster.names(kube::kPods).empty());
  CHECK_FALSE(cluster.answer());  // asked once
  CHECK(cluster.settle() >= 0);
  CHECK_FALSE(cluster.answer());
  CHECK_FALSE(cluster.is_refused());
}

TEST_CASE("a refused dry run shows on the job in the next reconcile", "[controller][dry-run]") {
  WaitingCluster cluster;
  cluster.api.fail_next("POST", "/pods?dryRun=All", kAccountRefused, Applied::kNo, 3);
  REQUIRE(cluster.answer());
  const auto key = cluster.controller->queues.jobs.next();  // the answer brings the job up
  CHECK(key == kJobKey);
  CHECK(cluster.settle() >= 0);
  CHECK(cluster.is_refused());
  CHECK(cluster.job().status.attempt == 1);
  CHECK(cluster.api.list(kube::kPodGroups).size() == 1);  // it goes on waiting
}

TEST_CASE("after a crash the next process asks again", "[controller][dry-run]") {
  WaitingCluster cluster;
  cluster.restart();
  CHECK(cluster.settle() >= 0);
  cluster.api.fail_next("POST", "/pods?dryRun=All", kAccountRefused, Applied::kNo, 3);
  REQUIRE(cluster.answer());
  cluster.restart();  // it was not written yet
  CHECK(cluster.settle() >= 0);
  CHECK_FALSE(cluster.is_refused());
  cluster.api.fail_next("POST", "/pods?dryRun=All", kAccountRefused, Applied::kNo, 3);
  REQUIRE(cluster.answer());
  CHECK(cluster.settle() >= 0);
  CHECK(cluster.is_refused());

  cluster.restart();  // it was
  cluster.api.clear_writes();
  CHECK(cluster.settle() >= 0);
  CHECK(cluster.is_refused());
  CHECK(cluster.api.writes().empty());
  REQUIRE(cluster.answer());
  CHECK(cluster.settle() >= 0);
  CHECK_FALSE(cluster.is_refused());
}

TEST_CASE("after a role without an answer no other role is sent", "[controller][dry-run]") {
  WaitingCluster cluster;
  cluster.api.fail_next("POST", "/pods?dryRun=All", {Code::kTransient, "timed out"});
  REQUIRE(cluster.answer());
  CHECK(cluster.api.writes("POST", "/pods").size() == 1);
  CHECK(cluster.settle() >= 0);
  CHECK_FALSE(cluster.is_refused());
  cluster.clock.advance(std::chrono::minutes(1));
  CHECK(cluster.settle() >= 0);
  REQUIRE(cluster.answer());
  CHECK(cluster.api.writes("POST", "/pods").size() == 4);
}

TEST_CASE("a job with large templates is not asked about while others use the memory for them",
          "[controller][dry-run][memory]") {
  WaitingCluster cluster;
  Stores& stores = cluster.controller->stores;
  const auto cached = stores.jobs.get(kJobKey);
  const std::string uid = cached->meta.uid;
  job::Job large = job::left_out(job::packed(*cached));
  large.left_out_bytes = std::size_t{1} << 20U;
  {
    const auto all = stores.parsed_templates.take(large);
    REQUIRE(all);
    stores.jobs.erase(kJobKey);  // the same version is not stored again
    stores.jobs.put(kJobKey, large);
    REQUIRE(cluster.answer());
    CHECK(cluster.api.writes("POST", "/pods").empty());
    CHECK(stores.dry_runs.report_on(uid)->is_incomplete);  // it is asked again
  }
  CHECK(stores.parsed_templates.take(large).has_value());
}

TEST_CASE("a gang that is planned before the answer, and waits again, gets a new dry run",
          "[controller][dry-run]") {
  WaitingCluster cluster;
  cluster.decide(true);
  cluster.sync();
  REQUIRE(cluster.answer());
  CHECK(cluster.api.writes("POST", "/pods").empty());
  cluster.decide(false);  // its plan has expired
  CHECK(cluster.settle() >= 0);
  cluster.clock.advance(std::chrono::minutes(1));
  CHECK(cluster.settle() >= 0);
  REQUIRE(cluster.answer());
  CHECK(cluster.api.writes("POST", "/pods").size() == 3);
}

TEST_CASE("an answer for a changed or deleted job is dropped", "[controller][dry-run]") {
  WaitingCluster cluster;
  cluster.change_spec({{"group", "other"}});
  cluster.sync();
  REQUIRE(cluster.answer());
  CHECK(cluster.api.writes().empty());
  CHECK(cluster.settle() >= 0);  // the next question
  cluster.api.remove(kube::kNervexJobs, kNamespace, "dqn");
  cluster.sync();
  cluster.api.clear_writes();
  REQUIRE(cluster.answer());
  CHECK(cluster.api.writes().empty());
}

TEST_CASE("the dry-run thread answers questions and stops", "[controller][dry-run]") {
  WaitingCluster cluster;
  std::jthread thread([&](const std::stop_token& stop) { cluster.controller->dry_runs.run(stop); });
  CHECK(testing::wait_until([&] {
    const auto report = cluster.controller->stores.dry_runs.report_on(cluster.job().meta.uid);
    return report && report->is_answered;
  }));
}

namespace {

// The learner's pods name this claim, and have to run beside pods with app=cache.
struct NeedyCluster : WaitingCluster {
  NeedyCluster() {
    const Json claims = Json::array({{{"name", "gpu"}, {"resourceClaimName", "gpus"}}});
    const Json term = {{"labelSelector", {{"matchLabels", {{"app", "cache"}}}}},
                       {"topologyKey", "kubernetes.io/hostname"}};
    const Json affinity = {
        {"podAffinity", {{"requiredDuringSchedulingIgnoredDuringExecution", Json::array({term})}}}};
    const Json spec = {{"resourceClaims", claims}, {"affinity", affinity}};
    change_spec({{"learner", {{"template", {{"spec", spec}}}}}});
    settle();
    decide(false);  // of the PodGroup with the new templates
    settle();
    answer_all();
  }
  void answer_all() {
    while (answer()) settle();
    settle();
  }
  gang::StartCheck check() const {
    return gang::decode_pod_group(api.list(kube::kPodGroups).at(0))->spec.gangs[0].start_check;
  }
};

constexpr kube::ResourceKind kClaims{"resource.k8s.io", "v1", "resourceclaims"};

}  // namespace

TEST_CASE("a claim that does not exist, and an affinity that matches no pod, block the start",
          "[controller][dry-run][start-check]") {
  using State = gang::StartCheck::State;
  NeedyCluster cluster;
  REQUIRE(cluster.check().state == State::kBlocked);
  CHECK(cluster.check().blocker.kind == "ResourceClaim");
  CHECK(cluster.check().blocker.name == "gpus");
  cluster.api.add(kClaims, kNamespace, {{"metadata", {{"name", "gpus"}}}});
  cluster.clock.advance(std::chrono::seconds(61));
  cluster.settle();
  cluster.answer_all();
  REQUIRE(cluster.check().state == State::kBlocked);
  CHECK(cluster.check().blocker.kind == "PodAffinity");
  CHECK(cluster.check().blocker.message.find("app=cache") != std::string::npos);
  cluster.api.add(kube::kPods, kNamespace,
                  {{"metadata", {{"name", "cache-0"}, {"labels", {{"app", "cache"}}}}},
                   {"spec", {{"nodeName", "n1"}}},
                   {"status", {{"phase", "Running"}}}});
  cluster.clock.advance(std::chrono::seconds(61));
  cluster.settle();
  cluster.answer_all();
  CHECK(cluster.check().state == State::kPassed);
}

}  // namespace nervex::controller
