#include "controller/decide/objects/direct_placement.h"
#include "controller/decide/reasons.h"

#include <algorithm>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "controller/decide/reconcile.h"
#include "gang/slot.h"
#include "job/names.h"
#include "tests/controller/cluster.h"
#include "tests/controller/world.h"
#include "tests/support/fake_rules.h"
#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using job::Role;
using testing::a_job;
using testing::Applied;
using testing::World;

World a_direct_world(int collectors = 2, int learners = 1) {
  World world(a_job(collectors, learners));
  world.seen.direct_placement = true;
  return world;
}

// The pods that were created with a node, and no pin beside it.
std::vector<Json> find_created_pods(const Actions& actions) {
  std::vector<Json> pods;
  for (const auto& action : actions) {
    if (const auto* create = std::get_if<CreatePods>(&action)) {
      pods.insert(pods.end(), create->manifests.begin(), create->manifests.end());
    }
  }
  return pods;
}

std::vector<Json> next_pods(World& world) {
  world.look();
  return find_created_pods(reconcile(world.seen).actions);
}

std::string spec_node_name(const Json& pod) { return kube::string_at(pod, {"spec", "nodeName"}); }

std::string role_label(const Json& pod) {
  return kube::string_at(pod, {"metadata", "labels", std::string(job::kRoleLabel)});
}

int created_with_node(const std::vector<Json>& pods) {
  return static_cast<int>(std::count_if(
      pods.begin(), pods.end(), [](const Json& pod) { return !spec_node_name(pod).empty(); }));
}

bool asks_for_it(const World& world) { return world.seen.pod_groups.at(0)->spec.direct_placement; }

// ---- does the planner know all of a template?

TEST_CASE("which templates the planner knows completely", "[controller][direct]") {
  struct Row {
    std::string when;
    Json fields;
    bool want;
  };
  const Json expression{{"key", "a"}, {"operator", "Exists"}};
  const Json node_affinity{
      {"requiredDuringSchedulingIgnoredDuringExecution",
       {{"nodeSelectorTerms", Json::array({{{"matchExpressions", Json::array({expression})}}})}}}};
  const auto row = GENERATE_COPY(values<Row>({
      {"there is nothing special", Json::object(), true},
      {"it selects nodes", {{"nodeSelector", {{"pool", "gpu"}}}}, true},
      {"it has affinity to nodes", {{"affinity", {{"nodeAffinity", node_affinity}}}}, true},
      {"it tolerates taints", {{"tolerations", {{{"operator", "Exists"}}}}}, true},
      {"it is in its node's network", {{"hostNetwork", true}}, true},
      {"it names our scheduler", {{"schedulerName", "nervex-scheduler"}}, true},
      {"it names another one", {{"schedulerName", "default-scheduler"}}, false},
      {"it names a node", {{"nodeName", "n1"}}, false},
      {"it has gates", {{"schedulingGates", {{{"name", "x"}}}}}, false},
      {"it has no gates", {{"schedulingGates", Json::array()}}, true},
      {"it spreads", {{"topologySpreadConstraints", {{{"maxSkew", 1}}}}}, false},
      {"it has resource claims", {{"resourceClaims", {{{"name", "gpu"}}}}}, false},
      {"its runtime class may choose nodes", {{"runtimeClassName", "kata"}}, false},
      {"it is of a native gang", {{"schedulingGroup", {{"podGroupName", "x"}}}}, false},
      {"it has an unknown field", {{"placedBy", "magic"}}, false},
      {"it has affinity to pods",
       {{"affinity", {{"podAffinity", {{"x", Json::array({1})}}}}}},
       false},
      {"it would rather be apart",
       {{"affinity",
         {{"podAntiAffinity",
           {{"preferredDuringSchedulingIgnoredDuringExecution", Json::array({1})}}}}}},
       false},
      {"its affinity is damaged", {{"affinity", "x"}}, false},
      {"its affinity is empty", {{"affinity", {{"podAffinity", Json::object()}}}}, true},
  }));
  INFO("when " << row.when);
  Json spec = testing::a_template()["spec"];
  spec.update(row.fields);
  CHECK(is_known_to_planner(spec) == row.want);
}

TEST_CASE("which volumes are available on any node", "[controller][direct]") {
  CHECK(are_known_volumes(Json::array()));
  CHECK(are_known_volumes(Json::parse(
      R"([{"name": "a", "emptyDir": {}}, {"name": "b", "configMap": {}}, {"name": "c", "nfs": {}}])")));
  for (const char* kind : {"persistentVolumeClaim", "ephemeral", "csi", "awsElasticBlockStore"}) {
    INFO(kind);
    CHECK_FALSE(are_known_volumes(Json::array({{{"name", "a"}, {kind, Json::object()}}})));
  }
  CHECK_FALSE(are_known_volumes(Json::array({3})));
}

// ---- which jobs ask for it?

Json apart_by(const std::string& label, const std::string& value) {
  return {{"podAntiAffinity",
           {{"requiredDuringSchedulingIgnoredDuringExecution",
             Json::array({{{"topologyKey", "kubernetes.io/hostname"},
                           {"labelSelector", {{"matchLabels", {{label, value}}}}}}})}}}};
}

void keep_apart(job::Job& job, Role role, const std::string& label, const std::string& value) {
  Json pod_template = role_spec(job.spec, role)->pod_template.get();
  pod_template["spec"]["affinity"] = apart_by(label, value);
  (role == Role::kCollector ? job.spec.collector : job.spec.learner)->pod_template = pod_template;
}

TEST_CASE("which jobs ask for direct placement", "[controller][direct]") {
  struct Row {
    std::string when;
    std::function<void(World&)> change;
    bool want;
  };
  const std::string role(job::kRoleLabel);
  const std::string job_label(job::kJobLabel);
  const auto row = GENERATE_COPY(values<Row>({
      {"nothing is special", [](World&) {}, true},
      {"the flag is not given", [](World& world) { world.seen.direct_placement = false; }, false},
      {"the job has but a coordinator", [](World& world) { world.seen.job = a_job(0, 0); }, false},
      {"the last attempt was not made whole in time",
       [](World& world) {
         world.seen.job.status.last_attempt = job::LastAttempt{
             1, std::string(gang::kReasonHealingTimeout), std::nullopt, "", world.seen.now};
       },
       false},
      {"the last attempt failed by itself",
       [](World& world) {
         world.seen.job.status.last_attempt =
             job::LastAttempt{1, std::string(kCoordinatorFailed), 1, "", world.seen.now};
       },
       true},
      {"a role without base replicas spreads",
       [](World& world) {
         world.seen.job = a_job(2, 0);
         Json spreads = testing::a_template();
         spreads["spec"]["topologySpreadConstraints"] = Json::array({{{"maxSkew", 1}}});
         world.seen.job.spec.learner->pod_template = spreads;
       },
       true},
      {"the coordinator spreads",
       [](World& world) {
         world.seen.job.spec.coordinator_template["spec"]["topologySpreadConstraints"] =
             Json::array({{{"maxSkew", 1}}});
       },
       false},
      {"the aggregator spreads",
       [](World& world) {
         AggregatorConfig config;
         config.meta.name = "aggregator-config";
         Json spreads = testing::a_template();
         spreads["spec"]["topologySpreadConstraints"] = Json::array({{{"maxSkew", 1}}});
         config.pod_template = spreads;
         world.seen.aggregator_config = std::make_shared<const AggregatorConfig>(config);
       },
       false},
      {"the job's volumes are claims",
       [](World& world) {
         world.seen.job.spec.volumes =
             Json::array({{{"name", "data"}, {"persistentVolumeClaim", {{"claimName", "data"}}}}});
       },
       false},
      {"collectors keep apart from one another",
       [role](World& world) { keep_apart(world.seen.job, Role::kCollector, role, "collector"); },
       true},
      {"collectors keep apart from learners alone",
       [role](World& world) { keep_apart(world.seen.job, Role::kCollector, role, "learner"); },
       false},
      {"collectors keep apart from all pods of the job",
       [job_label](World& world) {
         keep_apart(world.seen.job, Role::kCollector, job_label, "dqn");
       },
       false},
  }));
  INFO("when " << row.when);
  World world = a_direct_world();
  row.change(world);
  world.settle();
  CHECK(asks_for_it(world) == row.want);
}

// ---- which pods are created with their node?

TEST_CASE("workers of a gang that is committed with its plan are created with their node",
          "[controller][direct]") {
  World world = a_direct_world();
  world.add_aggregator_config();
  world.settle();
  world.plan_directly();
  const std::vector<Json> pods = next_pods(world);
  REQUIRE(pods.size() == 5);
  for (const Json& pod : pods) {
    const bool is_coordinator = role_label(pod) == "coordinator";
    CHECK(spec_node_name(pod) == (is_coordinator ? "" : "n1"));
    CHECK((kube::find(pod, {"spec", "affinity"}) != nullptr) == is_coordinator);
    CHECK(kube::string_at(pod, {"spec", "schedulerName"}) == job::kSchedulerName);
  }
  CHECK(role_label(pods.back()) == "coordinator");
  world.settle();
  world.run_all();
  world.settle();
  CHECK(world.seen.job.status.phase == job::Phase::kRunning);
  CHECK(world.settle() == 0);
}

TEST_CASE("no pod is created with its node before the commit was seen", "[controller][direct]") {
  World world = a_direct_world();
  world.settle();
  world.plan();  // a planner that does not know enough, or an older one
  const std::vector<Json> pods = next_pods(world);
  CHECK(pods.size() == 4);
  CHECK(created_with_node(pods) == 0);

  SECTION("nor after an ordinary one") {
    world.commit();
    CHECK(created_with_node(next_pods(world)) == 0);
  }
}

TEST_CASE("pods created after a crash are created the same way", "[controller][direct]") {
  World world = a_direct_world();
  world.settle();
  world.plan_directly();
  world.settle();
  world.remove_pod(world.name(Role::kCollector, 1));  // never made
  world.remove_pod("dqn-coordinator");
  world.seen.job.status.created_through = {};
  const std::vector<Json> pods = next_pods(world);
  REQUIRE(pods.size() == 2);
  CHECK(spec_node_name(pods[0]) == "n1");
  CHECK(spec_node_name(pods[1]).empty());
}

TEST_CASE("successors, moved slots and replicas that come later go through kube-scheduler",
          "[controller][direct]") {
  World world = a_direct_world();
  world.settle();
  world.plan_directly();
  world.settle();
  world.run_all();
  world.settle();

  SECTION("a pod that its kubelet has rejected has a successor") {
    world.change_pod(world.name(Role::kCollector), [](kube::Pod& pod) {
      pod.phase = kube::PodPhase::kFailed;
      pod.reason = "OutOfcpu";
    });
    world.settle();
    world.plan_directly("n2");
    const std::vector<Json> pods = next_pods(world);
    REQUIRE(pods.size() == 1);
    CHECK(created_with_node(pods) == 0);
  }
  SECTION("base replicas are raised") {
    world.seen.job.spec.collector->replicas = 4;
    ++world.seen.job.meta.generation;
    world.settle();
    world.plan_directly();
    const std::vector<Json> pods = next_pods(world);
    CHECK(pods.size() == 2);
    CHECK(created_with_node(pods) == 0);
  }
  SECTION("the coordinator asks for more") {
    world.seen.job.spec.requests.entries = {testing::an_entry(1, Role::kCollector, 2)};
    world.seen.job.spec.requests.next_collector = job::kFirstRequestedOrdinal + 2;
    world.settle();
    world.plan_directly();
    const std::vector<Json> pods = next_pods(world);
    CHECK(pods.size() == 2);
    CHECK(created_with_node(pods) == 0);
  }
}

TEST_CASE("direct placement of a PodGroup can be withdrawn and never returns",
          "[controller][direct]") {
  World world = a_direct_world();
  world.settle();
  CHECK(asks_for_it(world));

  SECTION("the flag was removed") {
    world.seen.direct_placement = false;
    world.settle();
    CHECK_FALSE(asks_for_it(world));
    world.seen.direct_placement = true;
    CHECK(world.settle() == 0);
    CHECK_FALSE(asks_for_it(world));
  }
  SECTION(
      "the template has changed of a PodGroup of an earlier version, half of whose pods are "
      "there") {
    world.change_group([](gang::PodGroup& group) { group.meta.annotations = {}; });
    world.plan_directly();
    world.settle();
    world.remove_pod(world.name(Role::kCollector, 1));
    world.remove_pod("dqn-coordinator");
    world.seen.job.status.created_through = {};
    world.seen.job.spec.learner->pod_template["spec"]["runtimeClassName"] = "kata";
    ++world.seen.job.meta.generation;
    world.settle();
    CHECK_FALSE(asks_for_it(world));
    world.plan_directly();
    const std::vector<Json> pods = next_pods(world);
    CHECK(pods.size() == 2);
    CHECK(created_with_node(pods) == 0);
    world.settle();
    world.run_all();
    world.settle();
    CHECK(world.seen.job.status.attempt == 1);
    CHECK(world.settle() == 0);
  }
  SECTION("it was created without") {
    World before = a_direct_world();
    before.seen.direct_placement = false;
    before.settle();
    before.seen.direct_placement = true;
    CHECK(before.settle() == 0);
    CHECK_FALSE(asks_for_it(before));
  }
}

// ---- the API server refuses such pods

struct DirectCluster : testing::ControllerCluster {
  DirectCluster() {
    direct_placement = true;
    restart();
    create_job(2, 1);
    settle();
    plan();
  }

  // From now on pods with a node are refused, except the first ones.
  void refuse_nodes(int allowed, const Error& error) {
    const auto is_refused = [allowed](const kube::ApiRequest& request) mutable {
      if (request.method != "POST" || !request.path.ends_with("/pods")) return false;
      return !spec_node_name(*kube::parse_json(request.body)).empty() && allowed-- <= 0;
    };
    api.fail_next(is_refused, error, Applied::kNo, 1'000);
  }

  int bound_by_creation() const { return created_with_node(api.list(kube::kPods)); }
};

TEST_CASE("a job whose pods must not name a node goes through kube-scheduler",
          "[controller][direct]") {
  DirectCluster cluster;
  cluster.refuse_nodes(0, testing::refuse(422, "Invalid", "pods \"x\" is invalid: no-node-names"));
  cluster.settle();
  const auto told = cluster.job().status;
  const auto* condition = job::find_condition(told, kDirectPlacementRefused);
  REQUIRE(condition != nullptr);
  CHECK(condition->status);
  CHECK(condition->message.find("no-node-names") != std::string::npos);
  const auto reasons = cluster.event_reasons();
  CHECK(std::count(reasons.begin(), reasons.end(), kDirectPlacementRefused) == 1);
  CHECK(told.attempt == 1);

  cluster.plan();  // of the spec without it
  SECTION("in another process, too") { cluster.restart(); }
  cluster.settle();
  CHECK(cluster.api.list(kube::kPods).size() == 4);
  CHECK(cluster.bound_by_creation() == 0);
  cluster.run_pods();
  cluster.settle();
  CHECK(cluster.job().status.phase == job::Phase::kRunning);
  CHECK(cluster.settle() == 0);
}

TEST_CASE("existing pods stay when the rest is refused", "[controller][direct]") {
  DirectCluster cluster;
  cluster.refuse_nodes(2, testing::refuse(403, "Forbidden", "pods \"x\" is forbidden: no more"));
  cluster.settle();
  cluster.plan();
  cluster.settle();
  CHECK(cluster.api.list(kube::kPods).size() == 4);
  CHECK(cluster.bound_by_creation() == 2);
  CHECK(cluster.job().status.attempt == 1);
  cluster.run_pods();
  cluster.settle();
  CHECK(cluster.job().status.phase == job::Phase::kRunning);
}

TEST_CASE("the start timeout also applies to workers created on their nodes",
          "[controller][direct]") {
  using namespace std::chrono_literals;
  World world = a_direct_world(1, 0);
  world.seen.job.spec.start_timeout_seconds = 30;
  world.seen.now = std::chrono::floor<std::chrono::seconds>(world.seen.now);
  world.settle();
  world.plan_directly();
  world.settle();
  REQUIRE(asks_for_it(world));
  REQUIRE(!world.pod_names().empty());
  // Its kubelet does nothing, so the coordinator is not bound.
  CHECK(world.seen.job.status.active_since == world.seen.now);
  world.seen.now += 30s;
  world.settle();
  CHECK(world.seen.job.status.reason == "StartTimeout");
  CHECK(world.pod_names().empty());
}

}  // namespace
}  // namespace nervex::controller
