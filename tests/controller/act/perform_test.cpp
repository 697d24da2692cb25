#include "controller/act/perform.h"

#include <algorithm>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "controller/act/writes.h"
#include "job/names.h"
#include "kube/model/merge_patch.h"
#include "kube/model/watch.h"
#include "tests/controller/cluster.h"

namespace nervex::controller {
namespace {

using job::Phase;
using testing::Applied;
using testing::ControllerCluster;
using testing::kJobKey;
using Strings = std::vector<std::string>;

const Error kLost{Code::kTransient, "connection reset"};

// One collector and the coordinator, planned, nothing made yet.
struct PlannedCluster : ControllerCluster {
  PlannedCluster() {
    create_job(1, 0);
    settle();
    plan();
    sync();
    api.clear_writes();
  }
  void process() { controller->worker.process(kJobKey); }
  // After the longest back-off.
  void try_again() {
    clock.advance(std::chrono::minutes(6));
    settle();
    plan();
    CHECK(settle() >= 0);
  }
  std::string collector() const {
    return nervex::job::pod_name(job(), nervex::job::Role::kCollector, {0, 0});
  }
  Json someone_elses(const std::string& name) const {
    return {{"metadata", {{"name", name}, {"labels", {{"group-name", "nervex.sensetime.com"}}}}}};
  }
};

TEST_CASE("writes of one round are in order, the coordinator last", "[controller][perform]") {
  PlannedCluster cluster;
  cluster.process();
  Strings paths;
  for (const auto& write : cluster.api.writes()) {
    paths.push_back(write.method + " " + write.path.substr(write.path.rfind('/') + 1) + " " +
                    kube::string_at(write.body, {"metadata", "name"}));
  }
  CHECK(paths == Strings{"PUT status dqn", "POST services " + cluster.collector(),
                         "POST services dqn-coordinator", "POST pods " + cluster.collector(),
                         "POST pods dqn-coordinator"});
}

TEST_CASE("written objects are in the cache before the watch reports them",
          "[controller][perform]") {
  PlannedCluster cluster;
  cluster.process();
  const std::size_t writes = cluster.api.writes().size();
  cluster.process();  // without a sync
  CHECK(cluster.api.writes().size() == writes);
}

TEST_CASE("a write whose reply was lost is found by a live read", "[controller][perform]") {
  const Applied applied = GENERATE(Applied::kYes, Applied::kNo);
  const std::string path = GENERATE("/pods", "/services", "/status", "/events");
  INFO("path " << path << ", applied " << (applied == Applied::kYes));
  PlannedCluster cluster;
  cluster.api.fail_next("", path, kLost, applied);
  cluster.process();
  if (path == "/pods") {
    // Only one of the two pods was tried: the rest waits.
    CHECK(cluster.api.writes("POST", "/pods").size() == 1);
    cluster.process();  // the cache knows nothing of a pod that may be there
    CHECK(cluster.names(kube::kPods).size() == 2);
  }
  CHECK(cluster.settle() >= 0);
  CHECK(cluster.names(kube::kPods) == Strings{cluster.collector(), "dqn-coordinator"});
  CHECK(cluster.names(kube::kServices).size() == 2);
}

TEST_CASE("a name that is taken by another object is reported, and that object is not touched",
          "[controller][perform]") {
  const kube::ResourceKind kind = GENERATE(kube::kPods, kube::kServices);
  PlannedCluster cluster;
  const Json before = cluster.api.add(kind, "rl", cluster.someone_elses("dqn-coordinator"));
  cluster.process();
  CHECK(cluster.api.get(kind, "rl", "dqn-coordinator") == before);
  CHECK(cluster.job().status.reason == "FailedCreate");
  const auto status = cluster.job().status;
  CHECK(find_condition(status, "PodsCreated")->message.find("does not belong to this job") !=
        std::string::npos);
  // The created objects are deleted, and nothing is written until the retry is due.
  CHECK(cluster.settle() >= 0);
  cluster.api.clear_writes();
  for (int i = 0; i < 5; ++i) cluster.process();
  CHECK(cluster.api.writes().empty());

  SECTION("and the name is used when it is free again") {
    cluster.api.remove(kind, "rl", "dqn-coordinator");
    cluster.try_again();
    CHECK(cluster.names(kube::kPods).size() == 2);
    CHECK(cluster.job().status.reason == "Starting");
    CHECK(cluster.controller->queues.jobs.failures(kJobKey) == 0);
  }
}

TEST_CASE("a worker's name that is taken by another object costs an incarnation",
          "[controller][perform]") {
  const kube::ResourceKind kind = GENERATE(kube::kPods, kube::kServices);
  PlannedCluster cluster;
  const std::string collector = cluster.collector();
  const Json before = cluster.api.add(kind, "rl", cluster.someone_elses(collector));
  for (int i = 0; i < 3; ++i) {
    CHECK(cluster.settle() >= 0);
    cluster.plan();
  }
  CHECK(cluster.settle() >= 0);
  const auto replaced = cluster.job().status.replaced;
  REQUIRE(replaced.size() == 1);
  CHECK(replaced[0].slot == nervex::job::Slot{0, 1});
  const std::string next =
      nervex::job::pod_name(cluster.job(), nervex::job::Role::kCollector, {0, 1});
  CHECK_FALSE(cluster.api.get(kube::kPods, "rl", next).is_null());
  CHECK_FALSE(cluster.api.get(kube::kServices, "rl", next).is_null());
  CHECK(cluster.api.get(kind, "rl", collector) == before);
}

TEST_CASE("a pod missing from the cache still blocks the next pod of its slot",
          "[controller][perform]") {
  PlannedCluster cluster;
  cluster.settle();
  cluster.run_pods();
  cluster.settle();
  // Its slot's next incarnation is asked for, and the cache takes the pod for gone.
  const std::string before = cluster.collector();
  nervex::job::Requests requests;
  requests.base = {{1, nervex::job::Role::kCollector, {0, 1}, false}};
  cluster.change_spec({{"requests", nervex::job::encode_requests(requests)}});
  cluster.api.terminate_pods_slowly();
  cluster.settle();
  cluster.plan();
  cluster.sync();
  cluster.controller->stores.pods.erase("rl/" + before,
                                        std::to_string(cluster.api.resource_version()));
  cluster.api.clear_writes();
  cluster.process();
  CHECK(cluster.api.writes("POST", "/pods").empty());

  cluster.api.remove(kube::kPods, "rl", before);
  cluster.settle();
  CHECK(cluster.api.writes("POST", "/pods").size() == 1);
}

TEST_CASE("pods of a gang that start one by one cause few status writes", "[controller][perform]") {
  ControllerCluster cluster;
  cluster.controller = std::make_unique<testing::Process>(cluster.api, cluster.clock, false,
                                                          std::chrono::seconds(2));
  cluster.create_job(64, 0);
  cluster.settle();
  cluster.plan();
  cluster.settle();
  CHECK(cluster.names(kube::kPods).size() == 65);
  const auto run = [&](const std::string& pod) {
    const Json ready = Json::array({{{"type", "Ready"}, {"status", "True"}}});
    cluster.api.change(kube::kPods, "rl", pod,
                       {{"spec", {{"nodeName", "n1"}}},
                        {"status", {{"phase", "Running"}, {"conditions", ready}}}});
    cluster.clock.advance(std::chrono::milliseconds(30));  // all together less than two seconds
    cluster.settle();
  };
  for (const auto& pod : cluster.names(kube::kPods)) {
    if (pod != "dqn-coordinator") run(pod);
  }
  CHECK(cluster.api.writes("PUT", "/status").empty());
  run("dqn-coordinator");
  CHECK(cluster.api.writes("PUT", "/status").size() == 1);
  CHECK(cluster.job().status.phase == Phase::kRunning);
  CHECK(cluster.job().status.ready == 65);

  SECTION("and the last of them are reported in the end") {
    cluster.api.change(kube::kPods, "rl", cluster.names(kube::kPods).back(),
                       {{"status", {{"conditions", Json::array()}}}});
    cluster.settle();
    CHECK(cluster.job().status.ready == 64);  // a condition turned
    cluster.api.change(kube::kPods, "rl", cluster.names(kube::kPods)[1],
                       {{"status", {{"conditions", Json::array()}}}});
    cluster.settle();
    CHECK(cluster.job().status.ready == 64);
    cluster.clock.advance(std::chrono::seconds(2));
    cluster.settle();
    CHECK(cluster.job().status.ready == 63);
    cluster.api.clear_writes();
    cluster.settle();
    CHECK(cluster.api.writes().empty());
  }
}

TEST_CASE("a large job is created in several rounds, its coordinator in the last",
          "[controller][perform]") {
  ControllerCluster cluster;
  cluster.create_job(600, 0);
  cluster.settle();
  cluster.plan();
  cluster.sync();
  cluster.controller->worker.process(kJobKey);
  const auto few = cluster.names(kube::kPods);
  CHECK(few.size() == 250);
  CHECK(std::count(few.begin(), few.end(), "dqn-coordinator") == 0);
  CHECK(cluster.controller->queues.jobs.size() == 1);  // it goes on at once
  CHECK(cluster.settle() >= 0);
  CHECK(cluster.names(kube::kPods).size() == 601);
  const auto created = cluster.api.writes("POST", "/pods");
  CHECK(kube::string_at(created.back().body, {"metadata", "name"}) == "dqn-coordinator");
}

TEST_CASE("a job of 64 pods records few events", "[controller][perform]") {
  ControllerCluster cluster;
  cluster.create_job(63, 0);
  cluster.plan_and_run();
  for (const auto& name : cluster.names(kube::kPods)) {
    if (name != "dqn-coordinator") cluster.api.remove(kube::kPods, "rl", name);
  }
  cluster.plan_and_run();
  cluster.change_spec({{"collector", {{"replicas", 1}}}});
  cluster.settle();
  cluster.end_pod("dqn-coordinator", true);
  cluster.settle();
  CHECK(cluster.names(kube::kPods) == Strings{"dqn-coordinator"});
  CHECK(cluster.event_reasons().size() <= 25);
  const auto reasons = cluster.event_reasons();
  CHECK(std::count(reasons.begin(), reasons.end(), "PodsLost") == 1);
}

TEST_CASE("a pod of this job for another placement does not count as the wanted one",
          "[controller][perform]") {
  PlannedCluster cluster;
  Writes writes(cluster.api, cluster.controller->stores,
                *cluster.controller->stores.jobs.get(kJobKey));
  Json manifest = {
      {"metadata",
       {{"name", "p"},
        {"annotations", {{"nervex.sensetime.com/placement", "1"}}},
        {"ownerReferences", Json::array({{{"apiVersion", "nervex.sensetime.com/v1alpha1"},
                                          {"kind", "NerveXJob"},
                                          {"name", "dqn"},
                                          {"uid", cluster.job().meta.uid},
                                          {"controller", true}}})}}}};
  CHECK(writes.create_pod(manifest).has_value());
  CHECK(writes.create_pod(manifest).has_value());
  manifest["metadata"]["annotations"]["nervex.sensetime.com/placement"] = "2";
  CHECK(writes.create_pod(manifest).error().code == Code::kConflict);
}

TEST_CASE("a rejection by the API server is reported on the job with its message",
          "[controller][perform]") {
  PlannedCluster cluster;
  cluster.api.fail_next("POST", "/pods", {Code::kForbidden, "403 pods is forbidden: no quota"},
                        Applied::kNo, 100);
  for (int i = 0; i < 5; ++i) {
    cluster.process();
    cluster.sync();
  }
  const auto status = cluster.job().status;
  CHECK(status.phase == Phase::kCreated);
  CHECK(status.reason == "FailedCreate");
  CHECK(find_condition(status, "PodsCreated")->message ==
        "create pod rl/" + cluster.collector() + ": 403 pods is forbidden: no quota");
  CHECK(cluster.api.writes("POST", "/pods").size() == 1);  // one try, then the back-off
  CHECK(cluster.api.writes("PUT", "/status").size() == 2);
  CHECK(cluster.event_reasons() == Strings{"FailedCreate"});
}

TEST_CASE("a PodGroup that is too large to store is reported on the job at once",
          "[controller][perform]") {
  ControllerCluster cluster;
  cluster.create_job(1, 0);
  cluster.api.fail_next("POST", "/podgroups",
                        kube::status_error("POST", 500, "etcdserver: request is too large"));
  for (int i = 0; i < 2; ++i) {
    cluster.sync();
    cluster.controller->worker.process(kJobKey);
  }
  const auto status = cluster.job().status;
  CHECK(status.reason == "FailedCreate");
  const auto* condition = find_condition(status, "PodsCreated");
  REQUIRE(condition != nullptr);
  CHECK_FALSE(condition->status);
  CHECK(condition->message.find("etcdserver: request is too large") != std::string::npos);
}

TEST_CASE("a status that is too large to store is reported as an event", "[controller][perform]") {
  PlannedCluster cluster;
  cluster.api.fail_next("PUT", "/status", {Code::kInvalid, "etcdserver: request is too large"},
                        Applied::kNo, 100);
  cluster.process();
  cluster.process();
  const auto reasons = cluster.event_reasons();
  CHECK(std::count(reasons.begin(), reasons.end(), "FailedStatusUpdate") == 1);
}

TEST_CASE("a gang that cannot be created completely keeps no pods", "[controller][perform]") {
  PlannedCluster cluster;
  const Json taken = cluster.someone_elses("dqn-coordinator");
  cluster.api.add(kube::kPods, "rl", taken);  // so that the worker is made before it is met
  const auto queued = cluster.job().status.queued_since;
  const auto waiting = cluster.job().status.waiting_since;
  cluster.process();
  CHECK(cluster.api.writes("POST", "/pods").size() == 2);
  CHECK(cluster.settle() >= 0);
  CHECK(cluster.names(kube::kPods) == Strings{"dqn-coordinator"});  // another owner's
  CHECK(cluster.names(kube::kPodGroups).empty());
  auto status = cluster.job().status;
  CHECK(status.attempt == 2);
  CHECK(status.failed_attempts == 0);
  CHECK(status.queued_since == queued);
  CHECK(status.waiting_since == waiting);
  CHECK(status.last_attempt->reason == "FailedCreate");

  // Each try waits as long again as the refusal has lasted, which stays on the job meanwhile.
  const auto wait = [&] { return *cluster.job().status.next_attempt_time - cluster.clock.now(); };
  CHECK(wait() >= std::chrono::seconds(10));
  CHECK(wait() <= std::chrono::seconds(11));
  cluster.clock.advance(std::chrono::seconds(60));
  cluster.settle();
  CHECK(cluster.job().status.reason == "FailedCreate");
  cluster.plan();
  CHECK(cluster.settle() >= 0);
  CHECK(cluster.job().status.attempt == 3);
  CHECK(cluster.names(kube::kPods) == Strings{"dqn-coordinator"});  // another owner's
  CHECK(wait() >= std::chrono::seconds(60));
  CHECK(wait() <= std::chrono::seconds(61));

  cluster.api.remove(kube::kPods, "rl", "dqn-coordinator");
  cluster.try_again();
  CHECK(cluster.names(kube::kPods).size() == 2);
  status = cluster.job().status;
  CHECK(find_condition(status, "PodsCreated")->status);
  CHECK(status.reason == "Starting");
}

TEST_CASE("a status that was decided on an old version is not written", "[controller][perform]") {
  PlannedCluster cluster;
  cluster.change_spec({{"group", "changed"}});
  cluster.process();
  CHECK(cluster.api.writes().size() == 1);
  CHECK(cluster.api.writes()[0].error == Code::kConflict);
  CHECK(cluster.settle() >= 0);
  CHECK(cluster.names(kube::kPods).size() == 2);
}

TEST_CASE("a deletion is in the cache before the watch reports it", "[controller][perform]") {
  const bool is_slow = GENERATE(true, false);
  PlannedCluster cluster;
  if (is_slow) cluster.api.terminate_pods_slowly();
  cluster.settle();
  cluster.run_pods();
  cluster.settle();
  cluster.end_pod("dqn-coordinator", true);
  cluster.sync();
  cluster.process();  // the final status
  cluster.process();
  CHECK(cluster.api.writes("DELETE", "").size() == 4);
  cluster.process();
  CHECK(cluster.api.writes("DELETE", "").size() == 4);
}

TEST_CASE("a deletion that the API server rejects is reported once", "[controller][perform]") {
  PlannedCluster cluster;
  cluster.settle();
  cluster.end_pod("dqn-coordinator", true);
  cluster.sync();
  cluster.process();
  cluster.api.clear_writes();
  cluster.api.fail_next("DELETE", "/services", {Code::kForbidden, "403 no"}, Applied::kNo, 100);
  for (int i = 0; i < 4; ++i) cluster.process();
  CHECK(cluster.event_reasons() == Strings{"FailedDelete"});
  CHECK(cluster.api.writes("PUT", "/status").empty());
}

// A job of five pods whose coordinator has just succeeded, as its status says.
struct EndedCluster : ControllerCluster {
  EndedCluster() {
    create_job(3, 1);
    plan_and_run();
    end_pod("dqn-coordinator", true);
    process();
    api.clear_writes();
  }
  void process() {
    sync();
    controller->worker.process(kJobKey);
  }
};

// An admission policy, for example, protects it.
TEST_CASE("a pod that may not be deleted does not block other deletions", "[controller][perform]") {
  EndedCluster cluster;
  const std::string kept = cluster.names(kube::kPods).front();
  REQUIRE(kept.starts_with("dqn-collector-"));
  cluster.api.fail_next("DELETE", "/pods/" + kept, {Code::kForbidden, "403 protected"},
                        Applied::kNo, 100);
  for (int i = 0; i < 4; ++i) cluster.process();
  CHECK(cluster.names(kube::kPods) == Strings{kept, "dqn-coordinator"});
  CHECK(cluster.names(kube::kServices).empty());
  const auto told = cluster.event_reasons();
  CHECK(std::count(told.begin(), told.end(), "FailedDelete") == 1);
  CHECK(std::count(told.begin(), told.end(), "SuccessfulDelete") == 0);
}

TEST_CASE("a deletion that is forbidden is not tried for each pod", "[controller][perform]") {
  EndedCluster cluster;
  cluster.api.fail_next("DELETE", "/pods/", {Code::kTransient, "503"}, Applied::kNo, 100);
  cluster.process();
  CHECK(cluster.api.writes("DELETE", "/pods/").size() == 1);
}

TEST_CASE("a status write keeps the fields of a newer version and drops those that ended",
          "[controller][perform]") {
  ControllerCluster cluster;
  cluster.create_job(1, 0);
  cluster.settle();
  cluster.api.change(kube::kNervexJobs, "rl", "dqn", {{"status", {{"forecast", "soon"}}}});
  cluster.sync();
  job::Status status = cluster.job().status;
  REQUIRE(status.waiting_since.has_value());
  status.waiting_since.reset();
  status.reason = "Starting";
  CHECK_FALSE(
      cluster.controller->performer.perform(cluster.job(), {UpdateStatus{status}}).has_value());
  const Json stored = cluster.api.get(kube::kNervexJobs, "rl", "dqn")["status"];
  CHECK(stored["forecast"] == "soon");
  CHECK(stored["reason"] == "Starting");
  CHECK_FALSE(stored.contains("waitingSince"));
  CHECK(cluster.job().status == status);
}

TEST_CASE("a merge patch holds what differs and removes fields that are absent",
          "[controller][perform]") {
  const Json before = Json::parse(R"({"a":1,"b":[1],"c":"x"})");
  const Json after = Json::parse(R"({"a":1,"b":[1,2],"d":{}})");
  const Json patch = kube::merge_patch_between(before, after);
  CHECK(patch == Json::parse(R"({"b":[1,2],"c":null,"d":{}})"));
  Json patched = before;
  patched.merge_patch(patch);
  CHECK(patched == after);
}

TEST_CASE("a job is deleted in the version that was decided on, and in no other",
          "[controller][perform]") {
  ControllerCluster cluster;
  cluster.create_job(0, 0);
  cluster.settle();
  const job::Job seen = cluster.job();
  SECTION("no other writer") {
    CHECK_FALSE(cluster.controller->performer.perform(seen, {DeleteJob{}}).has_value());
    CHECK(cluster.names(kube::kNervexJobs).empty());
    CHECK(cluster.controller->stores.jobs.size() == 0);
  }
  SECTION("its ttlSecondsAfterFinished has changed") {
    cluster.change_spec({{"ttlSecondsAfterFinished", 9000}});
    const auto failed = cluster.controller->performer.perform(seen, {DeleteJob{}});
    REQUIRE(failed.has_value());
    CHECK(failed->error.code == Code::kConflict);
    CHECK(cluster.names(kube::kNervexJobs).size() == 1);
  }
}

}  // namespace
}  // namespace nervex::controller
