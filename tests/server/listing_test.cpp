#include "server/listing.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <functional>

#include "tests/server/builders.h"

namespace nervex::server {
namespace {

using job::Role;

std::string address(const kube::Pod& pod, int port) {
  return pod.meta.name + ".rl:" + std::to_string(port);
}

}  // namespace

TEST_CASE("a job's listing names its collectors and learners by address", "[server][listing]") {
  job::Job job = running_job();
  job.spec.collector->pod_template["spec"]["containers"][0]["ports"] =
      Json::array({{{"name", "nervex-port"}, {"containerPort", 80}}});
  const std::vector<PodPtr> pods = {
      shared_pod(job, Role::kAggregator), shared_pod(job, Role::kCollector, {4096, 0}),
      shared_pod(job, Role::kCoordinator), shared_pod(job, Role::kLearner, {0, 0})};

  const Listing want{"rl", "dqn-coordinator", {address(*pods[1], 80)}, {address(*pods[3], 22271)}};
  CHECK(list_replicas(job, "dqn-coordinator", kGroupUid, pods) == want);
}

TEST_CASE("a replica is listed as long as a client could reach it", "[server][listing]") {
  struct Row {
    std::string when;
    std::function<void(kube::Pod&)> change;
    bool want;
  };
  const auto row = GENERATE(values<Row>({
      {"it runs", [](kube::Pod&) {}, true},
      {"it waits for its node", [](kube::Pod& p) { p.phase = kube::PodPhase::kPending; }, true},
      {"it is being deleted", [](kube::Pod& p) { p.meta.deleting = true; }, false},
      {"it has failed", [](kube::Pod& p) { p.phase = kube::PodPhase::kFailed; }, false},
      {"it has succeeded", [](kube::Pod& p) { p.phase = kube::PodPhase::kSucceeded; }, false},
      {"its main container has ended beside a sidecar",
       [](kube::Pod& p) {
         p.containers = {{"nervex-container", false, 0, true, 0, "Completed", ""},
                         {"sidecar", true, 0, false, 0, "", ""}};
       },
       false},
      {"it is of an older attempt",
       [](kube::Pod& p) {
         p.meta.annotations[std::string(gang::kPodGroupUidAnnotation)] = "uid-dqn-0";
       },
       false},
  }));
  INFO("when " << row.when);
  const job::Job job = running_job();
  kube::Pod pod = pod_of(job, Role::kCollector, {4096, 0});
  row.change(pod);
  const std::vector<PodPtr> pods = {share(pod)};
  CHECK(list_replicas(job, "c", kGroupUid, pods).collectors.size() == (row.want ? 1 : 0));
}

TEST_CASE("one replica is listed alone", "[server][listing]") {
  const job::Job job = running_job();
  const kube::Pod learner = pod_of(job, Role::kLearner, {4096, 0});
  const auto one = list_one(job, learner);
  REQUIRE(one);
  CHECK(*one == Listing{"rl", "dqn-coordinator", {}, {address(learner, 22271)}});

  CHECK_FALSE(list_one(job, pod_of(job, Role::kCoordinator)));
  kube::Pod gone = learner;
  gone.meta.deleting = true;
  CHECK_FALSE(list_one(job, gone));
}

}  // namespace nervex::server
