#include "server/decide/listing.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <functional>

#include "server/decide/job_view.h"
#include "tests/server/builders.h"

namespace nervex::server {
namespace {

using job::Role;
using job::Slot;

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
  CHECK(list_replicas(job, "dqn-coordinator", kGroupUid, pods, 80) == want);
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
  kube::Pod pod = running_pod(job, Role::kCollector, {4096, 0});
  row.change(pod);
  const std::vector<PodPtr> pods = {share(pod)};
  CHECK(list_replicas(job, "c", kGroupUid, pods, 80).collectors.size() == (row.want ? 1 : 0));
}

TEST_CASE("one replica is listed alone", "[server][listing]") {
  const job::Job job = running_job();
  const kube::Pod learner = running_pod(job, Role::kLearner, {4096, 0});
  const auto one = list_one(job, learner, 80);
  REQUIRE(one);
  CHECK(*one == Listing{"rl", "dqn-coordinator", {}, {address(learner, 22271)}});

  CHECK_FALSE(list_one(job, running_pod(job, Role::kCoordinator), 80));
  kube::Pod gone = learner;
  gone.meta.deleting = true;
  CHECK_FALSE(list_one(job, gone, 80));
}

namespace {

// Two learners of 8 + 2 GPUs, all their pods running, between the job's own pods.
struct TwoLearners {
  job::Job job = running_job();
  std::vector<PodPtr> pods;

  TwoLearners() {
    job.spec.learner->pod_template["spec"]["containers"][0]["ports"] =
        Json::array({{{"name", "nervex-port"}, {"containerPort", 100}}});
    job.spec.requests.entries = {testing::an_entry(1, Role::kLearner, 0)};
    auto& entry = job.spec.requests.entries[0];
    entry.gpu_split = {8, 2};
    entry.slots = {{4096, 0}, {4098, 1}};
    for (const auto& replica : wanted_replicas(job, Role::kLearner)) {
      for (const auto& pod : job::replica_pods(replica))
        pods.push_back(shared_pod(job, pod.role, pod.slot));
    }
    pods.push_back(shared_pod(job, Role::kAggregator));
    pods.push_back(shared_pod(job, Role::kCoordinator));
  }

  kube::Pod pod(Role role, job::Slot slot) const { return running_pod(job, role, slot); }
  void replace(const kube::Pod& by) {
    for (auto& pod : pods) {
      if (pod->meta.name == by.meta.name) pod = share(by);
    }
  }
  std::vector<std::string> gpus(const kube::Pod& pod, int first_port, int count) const {
    std::vector<std::string> urls;
    for (int i = 0; i < count; ++i) urls.push_back(address(pod, first_port + i));
    return urls;
  }
};

}  // namespace

TEST_CASE("a multi-GPU learner is listed as its aggregator", "[server][listing][gpus]") {
  const TwoLearners learners;
  const Listing listing =
      list_replicas(learners.job, "dqn-coordinator", kGroupUid, learners.pods, 80);
  CHECK(listing == Listing{"rl",
                           "dqn-coordinator",
                           {},
                           {address(learners.pod(Role::kAggregator, {4096, 0}), 80),
                            address(learners.pod(Role::kAggregator, {4098, 1}), 80)}});
  for (const auto& replica : wanted_replicas(learners.job, Role::kLearner)) {
    const job::ReplicaPod face = addressed_pod(replica);
    const std::string name = job::pod_name(learners.job, face.role, face.slot);
    const std::string url = replica_address(learners.job, face.role, name, 80);
    CHECK(std::count(listing.learners.begin(), listing.learners.end(), url) == 1);
  }
}

TEST_CASE("a multi-GPU learner is shown as long as its aggregator is", "[server][listing][gpus]") {
  TwoLearners learners;
  kube::Pod gone = learners.pod(Role::kAggregator, {4096, 0});
  gone.meta.deleting = true;
  learners.replace(gone);
  kube::Pod failed = learners.pod(Role::kDdpLearner, {4098, 1});
  failed.phase = kube::PodPhase::kFailed;
  learners.replace(failed);
  CHECK(list_replicas(learners.job, "c", kGroupUid, learners.pods, 80).learners ==
        std::vector<std::string>{address(learners.pod(Role::kAggregator, {4098, 1}), 80)});
}

TEST_CASE("the listing of an aggregator has its own GPUs, by global rank",
          "[server][listing][gpus]") {
  const TwoLearners learners;
  auto want = learners.gpus(learners.pod(Role::kDdpLearner, {4098, 1}), 100, 8);
  const auto second = learners.gpus(learners.pod(Role::kDdpLearner, {4099, 1}), 108, 2);
  want.insert(want.end(), second.begin(), second.end());
  CHECK(list_aggregator(learners.job, learners.pod(Role::kAggregator, {4098, 1}), learners.pods) ==
        Listing{"rl", "dqn-coordinator", {}, want});
}

TEST_CASE("the listing of an aggregator has what it can reach", "[server][listing][gpus]") {
  struct Row {
    std::string when;
    std::function<void(TwoLearners&)> change;
    std::size_t want;
  };
  const auto row = GENERATE(values<Row>({
      {"all is well", [](TwoLearners&) {}, 10},
      {"its second pod has failed",
       [](TwoLearners& learners) {
         kube::Pod pod = learners.pod(Role::kDdpLearner, {4097, 0});
         pod.phase = kube::PodPhase::kFailed;
         learners.replace(pod);
       },
       8},
      {"its first pod is of an older attempt",
       [](TwoLearners& learners) {
         learners.replace(running_pod(learners.job, Role::kDdpLearner, {4096, 0}, "uid-dqn-0"));
       },
       2},
      {"pods of the learner that came in its place are there too",
       [](TwoLearners& learners) {
         learners.pods.push_back(share(learners.pod(Role::kDdpLearner, {4096, 1})));
       },
       10},
      {"the learner is no longer asked for",
       [](TwoLearners& learners) {
         learners.job.spec.requests.entries[0].slots = {{4098, 1}};
       },
       0},
  }));
  INFO("when " << row.when);
  TwoLearners learners;
  row.change(learners);
  const auto aggregator = learners.pod(Role::kAggregator, {4096, 0});
  CHECK(list_aggregator(learners.job, aggregator, learners.pods).learners.size() == row.want);
}

TEST_CASE("the job's own aggregator has no learners and is none", "[server][listing][gpus]") {
  const TwoLearners learners;
  const kube::Pod aggregator = learners.pod(Role::kAggregator, {});
  CHECK(list_aggregator(learners.job, aggregator, learners.pods).learners.empty());
  CHECK_FALSE(list_one(learners.job, aggregator, 80));
}

TEST_CASE("each pod of a multi-GPU learner is found by its name", "[server][listing][gpus]") {
  const TwoLearners learners;
  const kube::Pod aggregator = learners.pod(Role::kAggregator, {4096, 0});
  const kube::Pod second = learners.pod(Role::kDdpLearner, {4097, 0});
  CHECK(list_one(learners.job, aggregator, 80)->learners ==
        std::vector<std::string>{address(aggregator, 80)});
  CHECK(list_one(learners.job, second, 80)->learners == learners.gpus(second, 108, 2));
}

TEST_CASE("a pod is released when the job has let its slot go", "[server][released]") {
  struct Row {
    std::string when;
    Role role;
    Slot slot;
    bool want;
  };
  const auto row = GENERATE(values<Row>({
      {"it is wanted", Role::kCollector, {4096, 1}, false},
      {"a later incarnation is wanted", Role::kCollector, {4096, 0}, true},
      {"the job is older than the replacement", Role::kCollector, {4096, 2}, false},
      {"it was removed", Role::kCollector, {4097, 0}, true},
      {"the job is older than the request", Role::kCollector, {4098, 0}, false},
      {"it is a base replica", Role::kCollector, {0, 0}, false},
      {"it was a base replica", Role::kCollector, {1, 0}, true},
      {"it is the coordinator", Role::kCoordinator, {}, false},
      {"it is the job's aggregator", Role::kAggregator, {}, false},
      {"it is a multi-GPU learner's aggregator", Role::kAggregator, {4096, 0}, false},
      {"it is a multi-GPU learner's part", Role::kDdpLearner, {4097, 0}, false},
      {"a multi-GPU learner was removed", Role::kAggregator, {4098, 0}, true},
  }));
  INFO("when " << row.when);
  job::Job job = running_job(2, 0);
  job.spec.requests.entries = {testing::an_entry(1, Role::kCollector, 1),
                               testing::multi_gpu_entry(2, {4096}, {8, 2})};
  job.spec.requests.entries[0].slots[0].incarnation = 1;
  job.spec.requests.next_collector = 4098;
  job.spec.requests.next_learner = 4100;
  job.spec.requests.base = {{1, Role::kCollector, {1, 0}, true},
                            {0, Role::kCollector, {0, 0}, true}};  // of another attempt
  CHECK(Released(job).has(running_pod(job, row.role, row.slot)) == row.want);
}

TEST_CASE("while requests are lost, what they may have wanted is not released",
          "[server][released]") {
  job::Job job = running_job();
  job.spec.requests.next_collector = 4100;  // of requests made since
  const kube::Pod pod = running_pod(job, Role::kCollector, {4096, 0});
  CHECK(Released(job).has(pod));
  job.status.conditions = {{"RequestsLost", true, "RequestsLost", "", {}, 0}};
  CHECK_FALSE(Released(job).has(pod));
}

}  // namespace nervex::server
