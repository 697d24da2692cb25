#include "controller/observe/observe.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/controller/cluster.h"
#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using testing::ControllerCluster;
using testing::kJobKey;

constexpr unsigned kAllButJobs = ~1U;

// A running job with two collectors; one was requested while it ran, by a user, or by the
// coordinator through nervex-server.
struct GrownCluster : ControllerCluster {
  explicit GrownCluster(bool by_request) {
    create_job(1, 0);
    plan_and_run();
    before = job();
    job::Requests requests;
    requests.next_collector = job::kFirstRequestedOrdinal + 1;
    requests.entries = {testing::an_entry(1, job::Role::kCollector, 1)};
    const Json growth = by_request ? Json{{"requests", job::encode_requests(requests)}}
                                   : Json{{"collector", {{"replicas", 2}}}};
    change_spec(growth);
    plan_and_run();
    api.clear_writes();
  }

  // Another process, whose watch of jobs has not reported the growth.
  void take_over_with_the_old_job() {
    controller = std::make_unique<testing::Process>(api, clock);
    controller->stores.jobs.put(kJobKey, before);
    sync_some(kAllButJobs);
  }

  int reads_of_job(const std::function<void()>& work) {
    reads = 0;
    api.fail_next(
        [this](const kube::ApiRequest& request) {
          reads += request.method == "GET" && request.path.ends_with("/nervexjobs/dqn") ? 1 : 0;
          return false;
        },
        {Code::kInternal, "never"});
    work();
    return reads;
  }

  job::Job before;
  int reads = 0;  // of the job
};

TEST_CASE("a cache that lacks the job's growth deletes nothing of it", "[controller][confirm]") {
  const bool by_request = GENERATE(true, false);
  CAPTURE(by_request);
  GrownCluster cluster(by_request);
  REQUIRE(cluster.names(kube::kPods).size() == 3);
  cluster.take_over_with_the_old_job();
  const Json group = cluster.api.get(kube::kPodGroups, "rl", "dqn-1");

  CHECK(cluster.controller->worker.process(kJobKey) == Outcome::kError);
  CHECK(cluster.api.writes().empty());
  // The cache has what was read live, although its watch has reported nothing yet.
  for (int round = 0; round < 5; ++round) {
    cluster.sync_some(kAllButJobs);
    CHECK(cluster.controller->worker.process(kJobKey) != Outcome::kError);
  }
  CHECK(cluster.names(kube::kPods).size() == 3);
  CHECK(cluster.api.get(kube::kPodGroups, "rl", "dqn-1")["spec"] == group["spec"]);
  CHECK(cluster.api.writes("DELETE", "").empty());
}

TEST_CASE("objects that the live job does not want either are deleted, after one read",
          "[controller][confirm]") {
  GrownCluster cluster(false);
  REQUIRE(cluster.names(kube::kPods).size() == 3);
  cluster.change_spec({{"collector", {{"replicas", 1}}}});
  cluster.sync();
  const int reads = cluster.reads_of_job(
      [&] { CHECK(cluster.controller->worker.process(kJobKey) == Outcome::kRequeue); });
  CHECK(reads == 1);
  CHECK(cluster.api.writes("DELETE", "/pods/").size() == 1);
  CHECK(cluster.settle() >= 0);
  CHECK(cluster.names(kube::kPods).size() == 2);
}

TEST_CASE("a deleted job that lets its objects live meanwhile loses none",
          "[controller][confirm]") {
  GrownCluster cluster(false);
  const auto keep_with = [&](const Json& finalizers) {
    cluster.api.change(kube::kNervexJobs, "rl", "dqn",
                       {{"metadata", {{"finalizers", finalizers}}}});
  };
  keep_with(Json::array({"example.com/keep"}));
  REQUIRE(
      kube::delete_object(cluster.api, kube::kNervexJobs, "rl", "dqn", cluster.before.meta.uid));
  cluster.sync();
  REQUIRE(cluster.job().meta.deleting);
  keep_with(Json::array({"example.com/keep", "orphan"}));
  cluster.api.clear_writes();

  CHECK(cluster.controller->worker.process(kJobKey) == Outcome::kError);
  CHECK(cluster.api.writes("DELETE", "").empty());
}

TEST_CASE("only a change of spec, status or the job itself stops a removal",
          "[controller][confirm]") {
  GrownCluster cluster(false);
  cluster.change_spec({{"collector", {{"replicas", 1}}}});
  cluster.sync();
  Outcome want = Outcome::kError;
  SECTION("a label") {
    cluster.api.change(kube::kNervexJobs, "rl", "dqn",
                       {{"metadata", {{"labels", {{"team", "rl"}}}}}});
    want = Outcome::kRequeue;
  }
  SECTION("the spec") { cluster.change_spec({{"collector", {{"replicas", 2}}}}); }
  SECTION("the status") {
    cluster.api.change(kube::kNervexJobs, "rl", "dqn", {{"status", {{"attempt", 2}}}});
  }
  SECTION("the job was deleted") { cluster.api.remove(kube::kNervexJobs, "rl", "dqn"); }
  SECTION("the API server does not answer") {
    cluster.api.fail_next("GET", "/nervexjobs/dqn", {Code::kTransient, "timeout"});
  }
  // The status goes first in this round, and its precondition would stop a stale job as well.
  const auto deletes = [&] { return cluster.api.writes("DELETE", "/pods").size(); };
  const Outcome outcome = cluster.controller->worker.process(kJobKey);
  if (want == Outcome::kError) {
    CHECK(outcome == want);
    CHECK(deletes() == 0);
    CHECK(cluster.api.writes("PATCH", "/podgroups").empty());
  } else {
    // Its version has moved on, so that the status is refused once.
    cluster.settle();
    CHECK(deletes() == 1);
  }
}

TEST_CASE("ordinary reconciles need no live read", "[controller][confirm]") {
  ControllerCluster cluster;
  const auto watched = [&](const std::function<void()>& work) {
    int reads = 0;
    cluster.api.fail_next(
        [&reads](const kube::ApiRequest& request) {
          reads += request.method == "GET" && request.path.ends_with("/nervexjobs/dqn") ? 1 : 0;
          return false;
        },
        {Code::kInternal, "never"});
    work();
    return reads;
  };
  CHECK(watched([&] {
          cluster.create_job(2, 1);
          cluster.plan_and_run();
          cluster.change_spec({{"collector", {{"replicas", 3}}}});
          cluster.settle();
          cluster.plan();
          cluster.settle();
          cluster.end_pod("dqn-coordinator", true);
          cluster.settle();
        }) == 0);
  CHECK(cluster.job().status.phase == job::Phase::kSucceeded);
}

}  // namespace
}  // namespace nervex::controller
