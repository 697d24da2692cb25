#include "controller/decide/attempt/creation_failures.h"

#include <algorithm>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "gang/pod_group.h"
#include "job/names.h"
#include "job/slots.h"
#include "tests/controller/cluster.h"
#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using job::Role;
using testing::Applied;
using testing::ControllerCluster;
using testing::kNamespace;
using Strings = std::vector<std::string>;

const Error kQuota{Code::kForbidden, "403 pods is forbidden: exceeded quota"};

// The job runs with its coordinator alone, and may grow.
struct GrowingCluster : ControllerCluster {
  GrowingCluster() {
    create_job(0, 0);
    start_planned();
    run_pods();
    settle();
    api.clear_writes();
  }

  void start_planned() {
    CHECK(settle() >= 0);
    plan();
    CHECK(settle() >= 0);
  }
  void request(std::vector<job::RequestEntry> entries) {
    job::Requests requests;
    requests.entries = std::move(entries);
    requests.next_collector = requests.next_learner = job::kFirstRequestedOrdinal + 100;
    change_spec({{"requests", job::encode_requests(requests)}});
  }
  // Some rounds of a controller that is refused every time, which settle() would wait for.
  void keep_trying() {
    for (int i = 0; i < 10; ++i) {
      sync();
      controller->worker.process(testing::kJobKey);
      plan();
    }
  }
  // Until refused.clear().
  void refuse(const std::string& pod) {
    refused.push_back(pod);
    api.fail_next(
        [this](const kube::ApiRequest& r) {
          if (r.method != "POST" || !r.path.ends_with("/pods")) return false;
          const std::string name = kube::string_at(*kube::parse_json(r.body), {"metadata", "name"});
          return std::find(refused.begin(), refused.end(), name) != refused.end();
        },
        kQuota, Applied::kNo, 1'000'000);
  }
  std::string name(Role role, int ordinal, int incarnation = 0) const {
    return job::pod_name(job(), role, {ordinal, incarnation});
  }
  Strings gangs() const {
    Strings names;
    for (const auto& object : api.list(kube::kPodGroups)) {
      const gang::PodGroup group = *gang::decode_pod_group(object);
      for (const auto& gang : group.spec.gangs) names.push_back(gang.name);
    }
    return names;
  }
  const job::Condition& condition(const char* type) {
    status = job().status;
    const auto* found = find_condition(status, type);
    REQUIRE(found != nullptr);
    return *found;
  }

  Strings refused;
  job::Status status;
};

constexpr int kFirst = job::kFirstRequestedOrdinal;

// The pod that the controller tried to create first, as if it had been, and were bound.
Json pod_of_first(const GrowingCluster& cluster) {
  Json pod = cluster.api.writes("POST", "/pods").back().body;
  pod["spec"]["nodeName"] = "n1";
  return pod;
}

TEST_CASE("a request with a refused pod has no pods at all", "[controller][requeue]") {
  GrowingCluster cluster;
  const int pods_before = GENERATE(0, 1, 2);  // that can be created before the refused one
  cluster.request({testing::an_entry(1, Role::kCollector, 3)});
  cluster.refuse(cluster.name(Role::kCollector, kFirst + pods_before));
  cluster.start_planned();
  CHECK(cluster.names(kube::kPods) == Strings{"dqn-coordinator"});
  CHECK(cluster.gangs() == Strings{"base"});  // its capacity is free
  const job::Job job = cluster.job();
  CHECK(job.status.attempt == 1);
  CHECK(job.status.phase == job::Phase::kRunning);
  CHECK(job.status.reason == "FailedCreate");
  REQUIRE(job.status.requeued_gangs.size() == 1);
  CHECK(job.status.requeued_gangs[0].name == "request-1");
  CHECK(job.status.replaced.empty());  // none of them ran: a refusal that lasts uses up no names
  CHECK_FALSE(cluster.condition("PodsCreated").status);
  CHECK(cluster.condition("PodsCreated").message.find("exceeded quota") != std::string::npos);
  CHECK_FALSE(cluster.condition("RequestsScheduled").status);
  CHECK(cluster.condition("RequestsScheduled").reason == "BackOff");

  SECTION("and has all of them after the refusal ends") {
    cluster.refused.clear();
    cluster.clock.advance(std::chrono::seconds(11));
    cluster.start_planned();
    Strings want = {"dqn-coordinator"};
    for (int i = 0; i < 3; ++i) {
      want.push_back(cluster.name(Role::kCollector, kFirst + i));
    }
    std::sort(want.begin(), want.end());
    CHECK(cluster.names(kube::kPods) == want);
    CHECK(cluster.job().status.requeued_gangs.empty());
    CHECK(cluster.condition("PodsCreated").status);
    CHECK(cluster.condition("RequestsScheduled").status);
  }
  SECTION("and preempts nothing for a while") {
    cluster.refused.clear();
    const SysTime requeue_at = job.status.requeued_gangs[0].requeue_at;
    cluster.clock.advance(std::chrono::seconds(11));
    cluster.settle();
    const auto group = *gang::decode_pod_group(cluster.api.list(kube::kPodGroups).front());
    REQUIRE(group.spec.gangs.size() == 2);
    CHECK_FALSE(group.spec.gangs[0].preempt_after);
    CHECK(group.spec.gangs[1].preempt_after == requeue_at + std::chrono::minutes(1));
    // An older CustomResourceDefinition drops the field: it is not written again.
    Json gangs = gang::encode_spec(group.spec).at("gangs");
    for (Json& gang : gangs) gang.erase("preemptAfter");
    cluster.api.change(kube::kPodGroups, kNamespace, group.meta.name,
                       {{"spec", {{"gangs", gangs}}}});
    cluster.api.clear_writes();
    CHECK(cluster.settle() >= 0);
    CHECK(cluster.api.writes("PATCH", "/podgroups").empty());
  }
  SECTION("and is retried after 10 s, then 20 s") {
    cluster.clock.advance(std::chrono::seconds(9));
    cluster.api.clear_writes();
    cluster.start_planned();
    CHECK(cluster.api.writes("POST", "/pods").empty());
    cluster.clock.advance(std::chrono::seconds(2));
    cluster.start_planned();
    const auto again = cluster.job().status.requeued_gangs;
    REQUIRE(again.size() == 1);
    CHECK(again[0].count == 2);
    CHECK(again[0].requeue_at - cluster.clock.now() == std::chrono::seconds(20));
  }
  SECTION("and is forgotten when the job ends") {
    cluster.end_pod("dqn-coordinator", true);
    cluster.settle();
    REQUIRE(is_final(cluster.job().status.phase));
    CHECK(cluster.job().status.requeued_gangs.empty());
  }
  SECTION("and is forgotten when it is no longer requested") {
    cluster.request({});
    cluster.start_planned();
    CHECK(cluster.job().status.requeued_gangs.empty());
    CHECK(cluster.condition("PodsCreated").status);
  }
}

TEST_CASE("only the refused gang is requeued", "[controller][requeue]") {
  GrowingCluster cluster;
  cluster.request({testing::an_entry(1, Role::kCollector, 1),
                   testing::an_entry(2, Role::kCollector, 2, kFirst + 1)});
  cluster.refuse(cluster.name(Role::kCollector, kFirst + 2));
  cluster.start_planned();
  CHECK(cluster.names(kube::kPods).size() == 2);
  CHECK(cluster.gangs() == Strings{"base", "request-1"});
}

TEST_CASE("added base replicas are requeued as one gang", "[controller][requeue]") {
  GrowingCluster cluster;
  for (const auto& object : cluster.api.list(kube::kPodGroups)) {
    Json gangs = object["status"]["gangs"];
    for (auto& gang : gangs) gang["committed"] = true;
    cluster.api.change(kube::kPodGroups, kNamespace, kube::string_at(object, {"metadata", "name"}),
                       {{"status", {{"gangs", gangs}}}});
  }
  cluster.change_spec({{"collector", {{"replicas", 3}}}});
  cluster.refuse(cluster.name(Role::kCollector, 1));
  cluster.start_planned();
  CHECK(cluster.names(kube::kPods) == Strings{"dqn-coordinator"});
  CHECK(cluster.job().status.attempt == 1);
  cluster.refused.clear();
  cluster.clock.advance(std::chrono::seconds(11));
  cluster.start_planned();
  CHECK(cluster.names(kube::kPods).size() == 4);
  CHECK(cluster.job().status.requeued_gangs.empty());
}

TEST_CASE("a multi-GPU learner is requeued as a whole", "[controller][requeue]") {
  GrowingCluster cluster;
  cluster.add_aggregator_config();
  cluster.request({testing::multi_gpu_entry(1, {kFirst}, {8, 2})});
  cluster.refuse(cluster.name(Role::kDdpLearner, kFirst + 1));
  cluster.start_planned();
  CHECK(cluster.names(kube::kPods) == Strings{"dqn-coordinator"});
  cluster.refused.clear();
  cluster.clock.advance(std::chrono::seconds(11));
  cluster.start_planned();
  CHECK(cluster.names(kube::kPods).size() == 4);
}

constexpr int kOther = kFirst + 2;  // a learner takes as many ordinals as it has ddp-learners

// One request for two multi-GPU learners, of an aggregator and two ddp-learners each. They run.
struct LearnerCluster : GrowingCluster {
  LearnerCluster() {
    add_aggregator_config();
    request({testing::multi_gpu_entry(1, {kFirst, kOther}, {8, 2})});
    start_planned();
    run_pods();
    settle();
    REQUIRE(pods_of_learner(kFirst, 0) == 3);
    REQUIRE(pods_of_learner(kOther, 0) == 3);
  }
  std::ptrdiff_t pods_of_learner(int ordinal, int incarnation) const {
    const Strings pods = names(kube::kPods);
    const auto count = [&](Role role, int number) {
      return std::count(pods.begin(), pods.end(), name(role, number, incarnation));
    };
    return count(Role::kAggregator, ordinal) + count(Role::kDdpLearner, ordinal) +
           count(Role::kDdpLearner, ordinal + 1);
  }
  void lose(Role role, int ordinal, int incarnation = 0) {
    api.remove(kube::kPods, kNamespace, name(role, ordinal, incarnation));
  }
  // The first refusal ends a round, and the requeued gang is planned before the next.
  void try_all() {
    for (int i = 0; i < 3; ++i) start_planned();
  }
};

TEST_CASE("a multi-GPU learner whose replacement is refused is requeued alone, as a whole",
          "[controller][requeue]") {
  LearnerCluster cluster;
  const auto pods_of_learner = [&](int ordinal, int incarnation) {
    return cluster.pods_of_learner(ordinal, incarnation);
  };
  cluster.refuse(cluster.name(Role::kDdpLearner, kFirst + 1, 1));
  cluster.api.remove(kube::kPods, kNamespace, cluster.name(Role::kDdpLearner, kFirst));
  cluster.start_planned();
  CHECK(pods_of_learner(kFirst, 0) + pods_of_learner(kFirst, 1) == 0);
  CHECK(pods_of_learner(kOther, 0) == 3);
  const auto requeued = cluster.job().status.requeued_gangs;
  REQUIRE(requeued.size() == 1);
  CHECK(requeued[0].name == "request-1");
  CHECK(requeued[0].learner == kFirst);
  CHECK_FALSE(cluster.condition("RequestsScheduled").status);
  CHECK(cluster.condition("RequestsScheduled").message.find("learner 4096 of request-1") == 0);

  SECTION("also if its entry is merged into another one meanwhile") {
    cluster.request({testing::multi_gpu_entry(0, {kFirst, kOther}, {8, 2})});
    cluster.start_planned();
    CHECK(pods_of_learner(kFirst, 1) == 0);
    CHECK(pods_of_learner(kOther, 0) == 3);
  }
  SECTION("and starts again after the refusal ends") {
    cluster.refused.clear();
    cluster.clock.advance(std::chrono::seconds(11));
    cluster.start_planned();
    CHECK(pods_of_learner(kFirst, 1) == 3);
    CHECK(pods_of_learner(kOther, 0) == 3);
    CHECK(cluster.job().status.requeued_gangs.empty());
  }
}

TEST_CASE("a learner that is refused repeatedly waits longer each time", "[controller][requeue]") {
  LearnerCluster cluster;
  const bool are_both = GENERATE(false, true);  // then its gang is in the PodGroup no more
  for (int incarnation = 1; incarnation < 6; ++incarnation) {
    cluster.refuse(cluster.name(Role::kDdpLearner, kFirst + 1, incarnation));
    if (are_both) cluster.refuse(cluster.name(Role::kDdpLearner, kOther + 1, incarnation));
  }
  cluster.lose(Role::kDdpLearner, kFirst);
  if (are_both) cluster.lose(Role::kDdpLearner, kOther);
  cluster.try_all();
  for (int count = 1; count < 4; ++count) {
    INFO("time " << count);
    const auto requeued = cluster.job().status.requeued_gangs;
    REQUIRE(requeued.size() == (are_both ? 2 : 1));
    for (const auto& one : requeued) {
      CHECK(one.learner.has_value());
      CHECK(one.count == count);
    }
    cluster.clock.advance(std::chrono::seconds(10 * (1 << count)));
    cluster.try_all();
  }
}

TEST_CASE("a restarted learner stays when another one of its gang is refused again",
          "[controller][requeue]") {
  LearnerCluster cluster;
  for (int incarnation = 1; incarnation < 6; ++incarnation) {
    cluster.refuse(cluster.name(Role::kDdpLearner, kOther + 1, incarnation));
  }
  cluster.refuse(cluster.name(Role::kDdpLearner, kFirst + 1, 1));
  cluster.lose(Role::kDdpLearner, kFirst);
  cluster.lose(Role::kDdpLearner, kOther);
  cluster.try_all();
  REQUIRE(cluster.job().status.requeued_gangs.size() == 2);
  std::erase(cluster.refused, cluster.name(Role::kDdpLearner, kFirst + 1, 1));
  for (int time = 0; time < 3; ++time) {
    cluster.clock.advance(std::chrono::seconds(61));
    cluster.try_all();
    CHECK(cluster.pods_of_learner(kFirst, 1) == 3);
    CHECK(cluster.pods_of_learner(kOther, 1) == 0);
    const auto requeued = cluster.job().status.requeued_gangs;
    REQUIRE(requeued.size() == 1);
    CHECK(requeued[0].learner == kOther);
  }
}

TEST_CASE("a refused replica under a new ordinal requeues nothing else", "[controller][requeue]") {
  GrowingCluster cluster;
  cluster.request({testing::an_entry(1, Role::kCollector, 2)});
  cluster.start_planned();
  cluster.run_pods();
  cluster.settle();
  // As nervex-server does when the first one has had all its incarnations.
  constexpr int kFresh = kFirst + 50;
  cluster.refuse(cluster.name(Role::kCollector, kFresh));
  job::Requests requests;
  requests.entries = {testing::an_entry(1, Role::kCollector, 2)};
  requests.entries[0].slots[0] = {kFresh, 0};
  requests.moved = {{1, Role::kCollector, kFirst, kFresh}};
  requests.next_collector = requests.next_learner = kFirst + 100;
  cluster.change_spec({{"requests", job::encode_requests(requests)}});
  cluster.keep_trying();
  CHECK(cluster.names(kube::kPods) ==
        Strings{cluster.name(Role::kCollector, kFirst + 1), "dqn-coordinator"});
  CHECK(cluster.job().status.requeued_gangs.empty());
  CHECK_FALSE(cluster.condition("PodsCreated").status);
}

TEST_CASE("a complete gang keeps running when a replacement pod is refused",
          "[controller][requeue]") {
  GrowingCluster cluster;
  cluster.request({testing::an_entry(1, Role::kCollector, 2)});
  cluster.start_planned();
  cluster.run_pods();
  cluster.settle();
  cluster.refuse(cluster.name(Role::kCollector, kFirst, 1));
  cluster.api.remove(kube::kPods, kNamespace, cluster.name(Role::kCollector, kFirst));
  cluster.keep_trying();
  CHECK(cluster.names(kube::kPods).size() == 2);
  CHECK(cluster.job().status.requeued_gangs.empty());
  CHECK_FALSE(cluster.condition("PodsCreated").status);
}

TEST_CASE("a bound pod of a requeued gang is deleted, and its slot continues",
          "[controller][requeue]") {
  GrowingCluster cluster;
  cluster.request({testing::an_entry(1, Role::kCollector, 2)});
  cluster.api.fail_next("POST", "/pods", {Code::kTransient, "not now"}, Applied::kNo, 1);
  CHECK(cluster.settle() >= 0);
  cluster.plan();
  cluster.refuse(cluster.name(Role::kCollector, kFirst + 1));
  cluster.sync();
  cluster.controller->worker.process(
      testing::kJobKey);  // the first pod fails, and no other is tried
  cluster.sync();
  // The first one comes, is bound at once, and the second one is refused.
  cluster.api.add(kube::kPods, kNamespace, pod_of_first(cluster));
  cluster.start_planned();
  CHECK(cluster.names(kube::kPods) == Strings{"dqn-coordinator"});
  CHECK(cluster.job().status.replaced.size() == 1);
}

// -- what could not be healed in time

// The planner says so of one gang, after the pod's node was lost.
void give_up(GrowingCluster& cluster, const std::string& gang, const std::string& lost_pod) {
  cluster.api.change(kube::kPods, kNamespace, lost_pod,
                     {{"status",
                       {{"conditions", Json::array({{{"type", kube::kNodeLostCondition},
                                                     {"status", "True"},
                                                     {"message", "not Ready"}}})}}}});
  cluster.start_planned();  // it is replaced, and its successor waits
  const gang::PodGroup group = *gang::decode_pod_group(cluster.api.list(kube::kPodGroups).front());
  gang::PodGroupStatus status = group.status;
  for (auto& status_gang : status.gangs) {
    if (status_gang.name != gang) continue;
    status_gang.reason = gang::kReasonHealingTimeout;
    status_gang.message = "it lost node n1";
  }
  cluster.api.change(kube::kPodGroups, kNamespace, group.meta.name,
                     {{"status", gang::encode_status(status)}});
}

TEST_CASE("a request that could not be healed is requeued as a whole, and starts again",
          "[controller][requeue]") {
  GrowingCluster cluster;
  cluster.request({testing::an_entry(1, Role::kCollector, 3)});
  cluster.start_planned();
  cluster.run_pods();
  cluster.settle();
  give_up(cluster, "request-1", cluster.name(Role::kCollector, kFirst));
  CHECK(cluster.settle() >= 0);
  CHECK(cluster.names(kube::kPods) == Strings{"dqn-coordinator"});
  CHECK(cluster.gangs() == Strings{"base"});
  const job::Job job = cluster.job();
  CHECK(job.status.attempt == 1);
  CHECK(job.status.phase == job::Phase::kRunning);
  REQUIRE(job.status.requeued_gangs.size() == 1);
  CHECK(job.status.requeued_gangs[0].count == 1);
  CHECK(cluster.condition("RequestsScheduled").reason == "BackOff");
  CHECK(cluster.condition("RequestsScheduled")
            .message.starts_with(
                "request-1: lost pods could not be replaced in time; it is retried at "));
  const Strings events = cluster.event_reasons();
  CHECK(std::count(events.begin(), events.end(), "Requeued") == 1);

  cluster.clock.advance(std::chrono::seconds(11));
  cluster.start_planned();
  for (int i = 0; i < 3; ++i) {
    const Strings pods = cluster.names(kube::kPods);
    CHECK(std::count(pods.begin(), pods.end(), cluster.name(Role::kCollector, kFirst + i, 1)) == 1);
  }
  CHECK(cluster.job().status.requeued_gangs.empty());
}

TEST_CASE("a request that is preempted is requeued although all its pods run",
          "[controller][requeue]") {
  GrowingCluster cluster;
  cluster.request({testing::an_entry(1, Role::kCollector, 3)});
  cluster.start_planned();
  cluster.run_pods();
  cluster.settle();
  gang::PodGroup group = *gang::decode_pod_group(cluster.api.list(kube::kPodGroups).front());
  for (auto& gang : group.status.gangs) {
    if (gang.name != "request-1") continue;
    gang.reason = gang::kReasonPreempted;
    gang.message = "preempted: queue vision reclaims capacity within its quota";
  }
  cluster.api.change(kube::kPodGroups, kNamespace, group.meta.name,
                     {{"status", gang::encode_status(group.status)}});
  CHECK(cluster.settle() >= 0);
  CHECK(cluster.names(kube::kPods) == Strings{"dqn-coordinator"});
  CHECK(cluster.gangs() == Strings{"base"});
  CHECK(cluster.job().status.attempt == 1);
  CHECK(cluster.condition("RequestsScheduled")
            .message.starts_with("request-1: another gang got its capacity; it is retried at "));
}

TEST_CASE("a finished pod gets no placement when its gang is requeued and starts again",
          "[controller][requeue]") {
  GrowingCluster cluster;
  cluster.request({testing::an_entry(1, Role::kCollector, 3)});
  cluster.start_planned();
  cluster.run_pods();
  cluster.settle();
  const std::string finished = cluster.name(Role::kCollector, kFirst + 1);
  cluster.end_pod(finished, true);
  CHECK(cluster.settle() >= 0);
  give_up(cluster, "request-1", cluster.name(Role::kCollector, kFirst));
  CHECK(cluster.settle() >= 0);
  CHECK(cluster.names(kube::kPods) == Strings{finished, "dqn-coordinator"});
  CHECK(cluster.gangs() == Strings{"base"});

  cluster.clock.advance(std::chrono::seconds(11));
  cluster.start_planned();
  const gang::PodGroup group = *gang::decode_pod_group(cluster.api.list(kube::kPodGroups).front());
  const gang::Gang* gang = gang::find_gang(group.spec, "request-1");
  REQUIRE(gang != nullptr);
  CHECK(gang->members.front().slots == std::vector<gang::SlotId>{{kFirst, 1}, {kFirst + 2, 1}});
  Strings want = {finished, "dqn-coordinator", cluster.name(Role::kCollector, kFirst, 1),
                  cluster.name(Role::kCollector, kFirst + 2, 1)};
  std::sort(want.begin(), want.end());
  CHECK(cluster.names(kube::kPods) == want);
  CHECK(cluster.job().status.requeued_gangs.empty());
  CHECK(cluster.condition("RequestsScheduled").status);
}

TEST_CASE("a multi-GPU learner that could not be healed is requeued alone",
          "[controller][requeue]") {
  LearnerCluster cluster;
  give_up(cluster, "request-1", cluster.name(Role::kDdpLearner, kFirst + 1));
  CHECK(cluster.settle() >= 0);
  CHECK(cluster.pods_of_learner(kFirst, 0) + cluster.pods_of_learner(kFirst, 1) == 0);
  CHECK(cluster.pods_of_learner(kOther, 0) == 3);
  const auto requeued = cluster.job().status.requeued_gangs;
  REQUIRE(requeued.size() == 1);
  CHECK(requeued[0].learner == kFirst);
  cluster.clock.advance(std::chrono::seconds(11));
  cluster.start_planned();
  CHECK(cluster.pods_of_learner(kFirst, 1) + cluster.pods_of_learner(kFirst, 2) == 3);
  CHECK(cluster.pods_of_learner(kOther, 0) == 3);
}

TEST_CASE("a refused Service requeues no gang", "[controller][requeue]") {
  GrowingCluster cluster;
  cluster.add_aggregator_config();
  const bool is_learner = GENERATE(false, true);
  cluster.request({is_learner ? testing::multi_gpu_entry(1, {kFirst}, {8})
                              : testing::an_entry(1, Role::kCollector, 2)});
  cluster.start_planned();
  cluster.run_pods();
  cluster.settle();
  cluster.api.fail_next("POST", "/services", kQuota, Applied::kNo, 1'000'000);
  cluster.api.remove(kube::kServices, kNamespace,
                     cluster.name(is_learner ? Role::kDdpLearner : Role::kCollector, kFirst));
  cluster.keep_trying();
  CHECK(cluster.names(kube::kPods).size() == 3);
  CHECK(cluster.job().status.requeued_gangs.empty());
  CHECK_FALSE(cluster.condition("PodsCreated").status);
}

TEST_CASE("a start whose creation fails does not report a missing aggregator",
          "[controller][requeue]") {
  ControllerCluster cluster;
  cluster.add_aggregator_config();
  cluster.create_job(1, 0);
  cluster.settle();
  cluster.plan();
  cluster.api.fail_next("POST", "/pods", kQuota, Applied::kNo, 1);
  cluster.settle();
  const auto status = cluster.job().status;
  CHECK(status.attempt == 2);
  CHECK(find_condition(status, "AggregatorMissing") == nullptr);
  CHECK(status.reason == "FailedCreate");
}

TEST_CASE("a transient error requeues nothing", "[controller][requeue]") {
  GrowingCluster cluster;
  const auto code = GENERATE(Code::kUnauthorized, Code::kTransient);
  cluster.request({testing::an_entry(1, Role::kCollector, 2)});
  CHECK(cluster.settle() >= 0);
  cluster.plan();
  cluster.api.fail_next("POST", "/pods", {code, "not now"}, Applied::kNo, 5);
  CHECK(cluster.settle() >= 0);
  CHECK(cluster.names(kube::kPods).size() == 3);
  CHECK(cluster.job().status.requeued_gangs.empty());
}

}  // namespace
}  // namespace nervex::controller
