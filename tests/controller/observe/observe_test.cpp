#include "controller/observe/observe.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "controller/decide/objects/pod_group.h"
#include "job/names.h"
#include "tests/controller/cluster.h"
#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using testing::ControllerCluster;
using testing::kJobKey;
using testing::RunningCluster;

const ObserveOptions kOptions{"server:8080", "nervex-system/aggregator-config"};

Result<std::optional<Observed>> look(ControllerCluster& cluster) {
  const Stores& stores = cluster.controller->stores;
  const JobPtr job = stores.jobs.get(kJobKey);
  if (!job) return std::optional<Observed>();
  Observed seen = observe_caches(stores, kOptions, *job, cluster.clock.now());
  std::optional<Round> round;
  if (auto read = observe_live(cluster.api, stores, seen, round); !read) return read.error();
  return std::optional(std::move(seen));
}

TEST_CASE("a job that does not exist needs no decision", "[controller][observe]") {
  ControllerCluster cluster;
  const auto seen = look(cluster);
  REQUIRE(seen);
  CHECK_FALSE(seen->has_value());
}

TEST_CASE("a job is observed with its own objects only", "[controller][observe]") {
  RunningCluster cluster;
  cluster.api.add(kube::kPods, "rl", {{"metadata", {{"name", "dqn-stranger"}}}});
  cluster.add_aggregator_config();
  cluster.sync();
  const auto seen = look(cluster);
  REQUIRE((seen && *seen));
  CHECK((*seen)->pods.size() == 2);
  CHECK((*seen)->services.size() == 2);
  CHECK((*seen)->pod_groups.size() == 1);
  CHECK((*seen)->aggregator_config != nullptr);
  CHECK_FALSE((*seen)->coordinator_is_gone);
}

// Its owner has the job's name and another uid.
Json of_deleted_job(const std::string& name, const char* owner = "dqn") {
  return {{"metadata",
           {{"name", name},
            {"ownerReferences",
             {{{"apiVersion", job::kApiVersion},
               {"kind", job::kKind},
               {"name", owner},
               {"uid", "of-before"},
               {"controller", true}}}}}}};
}

TEST_CASE("a job waits for the objects of a deleted job with its name", "[controller][observe]") {
  struct Row {
    const kube::ResourceKind& kind;
    const char* name;
    const char* remains;
  };
  const Row row = GENERATE(Row{kube::kPods, "dqn-coordinator", "pod dqn-coordinator"},
                           Row{kube::kPods, "dqn-aggregator", "pod dqn-aggregator"},
                           Row{kube::kServices, "dqn-aggregator", "service dqn-aggregator"},
                           Row{kube::kServices, "dqn-coordinator", "service dqn-coordinator"},
                           Row{kube::kPodGroups, "dqn-1", "podgroup dqn-1"});
  CAPTURE(row.remains);
  ControllerCluster cluster;
  cluster.add_aggregator_config();
  cluster.api.add(row.kind, "rl", of_deleted_job(row.name));
  cluster.create_job(1, 0);
  cluster.settle();
  const job::Job waiting = cluster.job();
  const auto* scheduled = find_condition(waiting.status, "Scheduled");
  REQUIRE(scheduled != nullptr);
  CHECK(scheduled->reason == "PreviousJobTerminating");
  CHECK(
      scheduled->message ==
      std::string(row.remains) +
          " of the deleted job of the same name still exists: this job starts when it is deleted");
  CHECK(cluster.api.writes("POST", "/podgroups").empty());
  CHECK(cluster.api.writes("PUT", "/status").size() == 1);

  cluster.api.remove(row.kind, "rl", row.name);
  cluster.settle();
  CHECK(cluster.job().status.reason == "Queued");
  CHECK(cluster.api.writes("POST", "/podgroups").size() == 1);  // its PodGroup
}

TEST_CASE("a job that waits for a pod of a deleted job says how long, and how to end that",
          "[controller][observe]") {
  ControllerCluster cluster;
  const SysTime until = cluster.clock.now() + std::chrono::seconds(40);
  Json pod = of_deleted_job("dqn-coordinator");
  pod["metadata"]["deletionTimestamp"] = to_rfc3339(until);
  pod["metadata"]["finalizers"] = {"example.com/hold"};
  pod["metadata"]["labels"] = {{std::string(job::kGroupLabel), std::string(job::kGroupLabelValue)}};
  pod["spec"]["nodeName"] = "n7";
  cluster.api.add(kube::kPods, "rl", pod);
  cluster.create_job(1, 0);
  cluster.settle();
  const auto told = [&] { return find_condition(cluster.job().status, "Scheduled")->message; };
  CHECK(told() == "pod dqn-coordinator of the deleted job of the same name is terminating until " +
                      to_rfc3339(until) +
                      ": this job starts when it is deleted; to delete it now: kubectl delete pod "
                      "-n rl dqn-coordinator --now");
  cluster.clock.advance(std::chrono::seconds(70));
  cluster.settle();  // nothing has changed but the time
  CHECK(
      told() ==
      "pod dqn-coordinator of the deleted job of the same name should have ended at " +
          to_rfc3339(until) +
          " and still exists on node n7: this job starts when it is deleted; finalizer "
          "example.com/hold keeps it: remove finalizers whose owner no longer exists with kubectl "
          "edit pod -n rl dqn-coordinator");
}

TEST_CASE("a back-off far in the future is ignored permanently", "[controller][observe]") {
  ControllerCluster cluster;
  cluster.create_job(1, 0);
  cluster.settle();
  const auto wrong = cluster.clock.now() + std::chrono::hours(1);
  cluster.api.change(kube::kNervexJobs, "rl", "dqn",
                     {{"status", {{"nextAttemptTime", to_rfc3339(wrong)}}}});
  cluster.settle();
  const Json stored = cluster.api.get(kube::kNervexJobs, "rl", "dqn");
  CHECK_FALSE(stored["status"].contains("nextAttemptTime"));
  cluster.plan_and_run();
  CHECK(cluster.job().status.phase == job::Phase::kRunning);
}

TEST_CASE("objects of other owners and unneeded names block nothing", "[controller][observe]") {
  ControllerCluster cluster;
  cluster.api.add(kube::kPods, "rl", of_deleted_job("dqn-collector-bcdfg"));
  cluster.api.add(kube::kPods, "rl", of_deleted_job("dqn-coordinator", "another"));
  cluster.api.add(kube::kPods, "rl", of_deleted_job("dqn-aggregator"));  // no config: none is made
  cluster.create_job(1, 0);
  cluster.settle();
  CHECK(cluster.job().status.reason == "Queued");
}

TEST_CASE("a job that waits for a deleted one can be suspended and resumed",
          "[controller][observe]") {
  ControllerCluster cluster;
  cluster.api.add(kube::kPods, "rl", of_deleted_job("dqn-coordinator"));
  cluster.create_job(1, 0);
  cluster.settle();
  cluster.change_spec({{"suspend", true}});
  cluster.settle();
  CHECK(cluster.job().status.reason == "Suspended");
  cluster.change_spec({{"suspend", false}});
  cluster.settle();
  CHECK(cluster.job().status.reason == "PreviousJobTerminating");
  const auto writes = cluster.api.writes().size();
  cluster.restart();
  cluster.settle();
  CHECK(cluster.api.writes().size() == writes);
  cluster.api.remove(kube::kPods, "rl", "dqn-coordinator");
  cluster.settle();
  CHECK(cluster.job().status.reason == "Queued");
  CHECK(cluster.names(kube::kPodGroups) == std::vector<std::string>{"dqn-2"});
}

TEST_CASE("a timeout ends the wait and leaves the deleted job's objects alone",
          "[controller][observe]") {
  ControllerCluster cluster;
  cluster.api.add(kube::kPods, "rl", of_deleted_job("dqn-coordinator"));
  cluster.create_job(1, 0);
  cluster.change_spec({{"scheduleTimeoutSeconds", 5}});
  cluster.settle();
  cluster.clock.advance(std::chrono::seconds(6));
  cluster.settle();
  CHECK(cluster.job().status.phase == job::Phase::kFailed);
  CHECK(cluster.job().status.reason == "ScheduleTimeout");
  CHECK(cluster.names(kube::kPods) == std::vector<std::string>{"dqn-coordinator"});
}

TEST_CASE("a pod that is only missing from the cache is not lost", "[controller][observe]") {
  RunningCluster cluster;
  Stores& stores = cluster.controller->stores;
  const std::string collector = job::pod_name(cluster.job(), job::Role::kCollector, {0, 0});
  const auto version = std::to_string(cluster.api.resource_version());
  SECTION("it is there") {
    stores.pods.erase("rl/" + collector, version);
    const auto seen = look(cluster);
    REQUIRE((seen && *seen));
    CHECK((*seen)->pods.size() == 2);
  }
  SECTION("it is gone") {
    cluster.api.remove(kube::kPods, "rl", collector);
    cluster.sync();
    const auto seen = look(cluster);
    REQUIRE((seen && *seen));
    CHECK((*seen)->pods.size() == 1);
  }
  SECTION("the API server does not answer: nothing is decided") {
    stores.pods.erase("rl/" + collector, version);
    cluster.api.fail_next("GET", "/pods/", {Code::kTransient, "timeout"});
    const auto seen = look(cluster);
    REQUIRE_FALSE(seen);
    CHECK(seen.error().code == Code::kTransient);
  }
}

TEST_CASE("a coordinator that is missing from the cache is read live", "[controller][observe]") {
  RunningCluster cluster;
  Stores& stores = cluster.controller->stores;
  SECTION("it is there") {
    stores.pods.erase("rl/dqn-coordinator", std::to_string(cluster.api.resource_version()));
    const auto seen = look(cluster);
    REQUIRE((seen && *seen));
    CHECK_FALSE((*seen)->coordinator_is_gone);
    CHECK((*seen)->pods.size() == 2);
  }
  SECTION("it is gone") {
    cluster.api.remove(kube::kPods, "rl", "dqn-coordinator");
    cluster.sync();
    const auto seen = look(cluster);
    REQUIRE((seen && *seen));
    CHECK((*seen)->coordinator_is_gone);
  }
  SECTION("its name belongs to another object") {
    cluster.api.remove(kube::kPods, "rl", "dqn-coordinator");
    cluster.api.add(kube::kPods, "rl", {{"metadata", {{"name", "dqn-coordinator"}}}});
    cluster.sync();
    const auto seen = look(cluster);
    REQUIRE((seen && *seen));
    CHECK((*seen)->coordinator_is_gone);
  }
  SECTION("the API server does not answer") {
    cluster.api.remove(kube::kPods, "rl", "dqn-coordinator");
    cluster.sync();
    cluster.api.fail_next("GET", "/pods/", {Code::kTransient, "timeout"});
    const auto seen = look(cluster);
    REQUIRE_FALSE(seen);
    CHECK(seen.error().code == Code::kTransient);
  }
}

// It ran unobserved: the controller was down.
TEST_CASE("a coordinator that has made a call is known to have run", "[controller][observe]") {
  ControllerCluster cluster;
  cluster.create_job(1, 0);
  cluster.settle();
  cluster.plan();
  cluster.settle();
  REQUIRE(cluster.job().status.phase == job::Phase::kCreated);
  cluster.api.remove(kube::kPods, "rl", "dqn-coordinator");

  int attempt = 1;
  std::chrono::seconds after_creation{5};
  bool want = true;
  SECTION("in this attempt") {}
  SECTION("in the one before") {
    attempt = 0;
    want = false;
  }
  SECTION("of the job whose manifest it was made from") {
    after_creation = -after_creation;
    want = false;
  }
  const SysTime created = cluster.controller->stores.pod_groups.all().front()->meta.created;
  const Json call = {
      {"attempt", attempt}, {"method", "POST"}, {"time", to_rfc3339(created + after_creation)}};
  cluster.change_spec({{"requests", {{"calls", Json::array({call})}}}});
  cluster.sync();
  const auto seen = look(cluster);
  REQUIRE((seen && *seen));
  CHECK((*seen)->coordinator_is_gone == want);
}

TEST_CASE("the pods that PodGroups ask for are counted", "[controller][observe]") {
  RunningCluster cluster;
  const GroupPods& pods = cluster.controller->stores.group_pods;  // its own writes are counted
  const auto group = cluster.controller->stores.pod_groups.all().front();
  const std::int64_t its = count_pods(group->spec);
  CHECK(its > 1);
  CHECK(pods.count("rl").of_namespace == its);
  CHECK(pods.count("rl").all == its);
  CHECK(pods.count("other").of_namespace == 0);
  CHECK(pods.count("other").all == its);
  SECTION("until the controller has deleted its job's") {
    cluster.end_pod("dqn-coordinator", true);
    cluster.settle();  // what it deletes itself is not reported by a watch
    REQUIRE(cluster.names(kube::kPodGroups).empty());
  }
  SECTION("until others have") {
    cluster.api.remove(kube::kPodGroups, "rl", group->meta.name);
    cluster.sync();
    cluster.controller->stores.group_pods.recount("rl", group->meta.name);
  }
  CHECK(pods.count("rl").of_namespace == 0);
  CHECK(pods.count("rl").all == 0);
}

TEST_CASE("jobs that start at one time do not exceed the limit of pods together",
          "[controller][observe]") {
  kube::Store<gang::PodGroup> groups;
  GroupPods pods(groups);
  pods.set_limit(160'000);
  std::vector<GroupPods::Claim> held;
  const auto hold = [&](const char* ns, const char* name, std::int64_t count) {
    auto claimed = pods.claim(ns, name, count);
    if (!claimed) return false;
    held.push_back(*std::move(claimed));
    return true;
  };
  REQUIRE(hold("rl", "a", 100'000));
  CHECK(pods.count("rl").of_namespace == 100'000);
  const auto refused = pods.claim("rl", "b", 60'001);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kTransient);
  { CHECK(pods.claim("rl", "b", 60'000)); }  // and it could not be written
  CHECK(pods.count("rl").of_namespace == 100'000);
  CHECK(pods.claim("rl", "b", 60'001, true));  // of a job that has begun

  for (const char* ns : {"x", "y", "z"}) REQUIRE(hold(ns, "a", 160'000));
  REQUIRE(hold("rl", "c", 60'000));
  CHECK(pods.count("rl").all == 640'000);
  CHECK_FALSE(pods.claim("other", "a", 10'001));
  CHECK(pods.claim("other", "a", 10'000));  // the share that others cannot take
  held.clear();
  CHECK(pods.count("rl").all == 0);
}

TEST_CASE("a PodGroup that was deleted while the job runs is observed", "[controller][observe]") {
  RunningCluster cluster;
  const auto group = cluster.controller->stores.pod_groups.all().front();
  SECTION("it is gone") {
    cluster.api.remove(kube::kPodGroups, "rl", group->meta.name);
    cluster.sync();
    const auto seen = look(cluster);
    REQUIRE((seen && *seen));
    CHECK((*seen)->pod_group_is_gone);
    CHECK_FALSE((*seen)->coordinator_is_gone);
  }
  SECTION("only the cache lacks it") {
    cluster.controller->stores.pod_groups.erase(group->meta.key(),
                                                std::to_string(cluster.api.resource_version()));
    const auto seen = look(cluster);
    REQUIRE_FALSE(seen);
    CHECK(seen.error().code == Code::kTransient);
  }
}

TEST_CASE("the node of a deleted coordinator is read live", "[controller][observe]") {
  RunningCluster cluster;
  bool want = false;
  const auto add_node = [&](const char* ready) {
    cluster.api.add(
        kube::kNodes, "",
        {{"metadata", {{"name", "n1"}}},
         {"status", {{"conditions", Json::array({{{"type", "Ready"}, {"status", ready}}})}}}});
  };
  SECTION("it is well") { add_node("True"); }
  SECTION("it does not answer") {
    add_node("Unknown");
    want = true;
  }
  SECTION("it is gone") { want = true; }
  cluster.api.remove(kube::kPods, "rl", "dqn-coordinator");
  cluster.sync();
  const auto seen = look(cluster);
  REQUIRE((seen && *seen));
  CHECK((*seen)->coordinator_is_gone);
  CHECK((*seen)->coordinator_node_is_lost == want);
}

TEST_CASE("while its node may not be read, a deleted coordinator ends no attempt",
          "[controller][observe]") {
  RunningCluster cluster;
  cluster.api.fail_next("GET", "/nodes/", {Code::kUnauthorized, "403 not yet"});
  cluster.api.remove(kube::kPods, "rl", "dqn-coordinator");
  cluster.sync();
  const auto seen = look(cluster);
  REQUIRE_FALSE(seen);
  CHECK(seen.error().code == Code::kUnauthorized);
}

TEST_CASE("a coordinator that was marked before it was deleted is observed with its last state",
          "[controller][observe]") {
  RunningCluster cluster;
  Stores& stores = cluster.controller->stores;
  kube::Pod last = *stores.pods.get("rl/dqn-coordinator");
  last.disruption_target = true;
  bool want = true;
  SECTION("of this attempt") {}
  SECTION("of an earlier attempt: ignored") {
    last.meta.annotations = {{"nervex.sensetime.com/pod-group-uid", "another"}};
    want = false;
  }
  stores.disrupted_coordinators.put(last.meta.key(), last);
  cluster.api.remove(kube::kPods, "rl", "dqn-coordinator");
  cluster.sync();
  const auto seen = look(cluster);
  REQUIRE((seen && *seen));
  CHECK(((*seen)->last_coordinator != nullptr) == want);
}

// An attempt that has just ended: its pods and PodGroup are left over.
struct EndedAttempt : RunningCluster {
  EndedAttempt() {
    change_spec({{"backoffLimit", 3}});
    end_pod("dqn-coordinator", false);
    sync();
    controller->worker.process(kJobKey);  // the next attempt's number is written
    sync();
  }
};

TEST_CASE("stale objects are deleted only if a live read confirms it", "[controller][observe]") {
  EndedAttempt cluster;
  REQUIRE(cluster.job().status.attempt == 2);
  SECTION("it does") {
    CHECK(look(cluster).has_value());
    cluster.settle();
    CHECK(cluster.names(kube::kPods).empty());
    CHECK(cluster.names(kube::kPodGroups).empty());
  }
  SECTION("the job is in another attempt") {
    cluster.api.change(kube::kNervexJobs, "rl", "dqn", {{"status", {{"attempt", 3}}}});
    const auto seen = look(cluster);
    REQUIRE_FALSE(seen);
    CHECK(seen.error().code == Code::kTransient);
  }
  SECTION("only the cache lacks the attempt's PodGroup") {
    Json group = cluster.api.get(kube::kPodGroups, "rl", "dqn-1");
    group["metadata"]["name"] = "dqn-2";
    cluster.api.add(kube::kPodGroups, "rl", group);
    const auto seen = look(cluster);
    REQUIRE_FALSE(seen);
    CHECK(seen.error().code == Code::kTransient);
  }
  SECTION("the cache has a PodGroup of the attempt that was created again since") {
    cluster.clock.advance(std::chrono::minutes(1));
    cluster.settle();
    cluster.plan();
    cluster.settle();
    REQUIRE(cluster.names(kube::kPods).size() == 2);
    const Json group = cluster.api.get(kube::kPodGroups, "rl", "dqn-2");
    cluster.api.remove(kube::kPodGroups, "rl", "dqn-2");
    cluster.api.add(kube::kPodGroups, "rl", group);  // with another uid
    cluster.api.change(
        kube::kPods, "rl", "dqn-coordinator",
        {{"metadata", {{"annotations", {{"nervex.sensetime.com/pod-group-uid", "the new"}}}}}});
    cluster.sync_some(2U);
    const auto seen = look(cluster);
    REQUIRE_FALSE(seen);
    CHECK(seen.error().code == Code::kTransient);
  }
}

TEST_CASE("a coordinator that never ran is not read live", "[controller][observe]") {
  ControllerCluster cluster;
  cluster.create_job(0, 0);
  cluster.settle();
  cluster.api.fail_next("GET", "/pods/", {Code::kTransient, "timeout"});
  CHECK(look(cluster).has_value());
}

}  // namespace
}  // namespace nervex::controller
