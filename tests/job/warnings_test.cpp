#include "job/warnings.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "job/pod_manifest.h"

namespace nervex::job {
namespace {

using Warnings = std::vector<std::string>;

TEST_CASE("a reservation longer than the cluster allows causes a warning", "[job][warnings]") {
  const Json job = {{"spec", {{"reservationSeconds", 3601}}}};
  CHECK(reservation_seconds_warnings(job, 3600) ==
        std::vector<std::string>{"spec.reservationSeconds: this cluster reserves capacity for at "
                                 "most 3600 s: more has no effect"});
  CHECK(reservation_seconds_warnings(job, 3601).empty());
  CHECK(warnings_on_create(job).size() == 1);
}

TEST_CASE("a rule that restarts the coordinator causes a warning", "[job][warnings]") {
  const auto warnings = [](const std::string& container, const std::string& action) {
    const Json rule = {{"action", action}, {"exitCodes", {{"operator", "In"}, {"values", {42}}}}};
    Json containers = {{{"name", "nervex-container"}}, {{"name", "beside"}}};
    for (Json& one : containers) {
      one["resources"] = {{"requests", {{"cpu", "1"}}}};
      if (one["name"] == container) one["restartPolicyRules"] = Json::array({rule});
    }
    return warnings_on_create(
        {{"spec", {{"coordinator", {{"template", {{"spec", {{"containers", containers}}}}}}}}}});
  };
  const Warnings want{
      "spec.coordinator.template.spec: a restart of the coordinator restarts the whole job"};
  CHECK(warnings("nervex-container", "Restart") == want);
  CHECK(warnings("beside", "RestartAllContainers") == want);
  CHECK(warnings("beside", "Restart").empty());
}

TEST_CASE("fields without effect cause a warning", "[job][warnings]") {
  struct Row {
    std::string when;
    Json spec;
    Warnings want;
  };
  const Json spread = {
      {"replicas", 1},
      {"template",
       {{"spec",
         {{"topologySpreadConstraints",
           {{{"maxSkew", 1}, {"labelSelector", {{"matchLabels", {{"a", "b"}}}}}}}}}}}}};
  const auto apart = [](const Json& selected, const Json& labels) -> Json {
    const Json term{{"labelSelector", {{"matchLabels", selected}}},
                    {"topologyKey", "kubernetes.io/hostname"}};
    return {
        {"replicas", 1},
        {"template",
         {{"metadata", {{"labels", labels}}},
          {"spec",
           {{"affinity",
             {{"podAntiAffinity",
               {{"requiredDuringSchedulingIgnoredDuringExecution", Json::array({term})}}}}}}}}}};
  };
  const auto row = GENERATE_COPY(values<Row>({
      {"it asks for nothing", Json::object(), {}},
      {"it has limits",
       {{"suspend", true}, {"activeDeadlineSeconds", 60}, {"reservationSeconds", 600}},
       {}},
      {"it reserves capacity", {{"learner", {{"replicas", 1}, {"reservedReplicas", 2}}}}, {}},
      {"it reserves capacity for no time",
       {{"reservationSeconds", 0}, {"collector", {{"reservedReplicas", 2}}}},
       {"spec.reservationSeconds: with 0, capacity of reservedReplicas is released when the "
        "coordinator runs"}},
      {"its pods are to be spread, which is planned", {{"collector", spread}}, {}},
      {"its devices are claimed",
       {{"learner",
         {{"replicas", 1}, {"template", {{"spec", {{"resourceClaims", {{{"name", "gpu"}}}}}}}}}}},
       {"spec.learner.template: resourceClaims is best effort: left to kube-scheduler, not "
        "planned"}},
      {"its pods take ports of their nodes, which is planned",
       {{"learner",
         {{"replicas", 1},
          {"template",
           {{"spec",
             {{"containers",
               {{{"resources", {{"requests", {{"cpu", 1}}}}},
                 {"ports", {{{"containerPort", 80}, {"hostPort", 80}}}}}}}}}}}}}},
       {}},
      {"its pods keep apart from each other, which is planned",
       {{"learner", apart({{"app", "rl"}}, {{"app", "rl"}})},
        {"collector", apart({{"nervexjob-name", "dqn"}}, Json::object())}},
       {}},
      {"its pods keep apart from others",
       {{"learner", apart({{"app", "other"}}, {{"app", "rl"}})}},
       {"spec.learner.template: podAntiAffinity is best effort: left to kube-scheduler, not "
        "planned"}},
  }));
  INFO("when " << row.when);
  const auto warnings =
      warnings_for({{"metadata", {{"name", "dqn"}, {"namespace", "rl"}}}, {"spec", row.spec}});
  CHECK(warnings == row.want);
  for (const auto& warning : warnings) CHECK(warning.size() < 120);
}

TEST_CASE("silent changes of templates cause a warning", "[job][warnings]") {
  struct Row {
    std::string when;
    std::string patch;  // of a job without warnings
    Warnings want;
  };
  const std::string main = "spec.coordinator.template.spec.containers[0]";
  const auto row = GENERATE_COPY(values<Row>({
      {"nothing is", "[]", {}},
      {"the main container asks for nothing",
       R"([{"op": "remove", "path": "/spec/coordinator/template/spec/containers/0/resources"}])",
       {main + ".resources: no requests or limits: planned as if it needed nothing"}},
      {"the pod asks for all its containers",
       R"([{"op": "remove", "path": "/spec/coordinator/template/spec/containers/0/resources"},
           {"op": "add", "path": "/spec/coordinator/template/spec/resources",
            "value": {"requests": {"cpu": "4"}}}])",
       {}},
      {"a variable is the controller's",
       R"([{"op": "add", "path": "/spec/coordinator/template/spec/containers/0/env",
            "value": [{"name": "A"}, {"name": "WORLD_SIZE", "value": "1"}]}])",
       {main + ".env[1]: WORLD_SIZE may be set by the controller"}},
      {"the port stands at a sidecar",
       R"([{"op": "add", "path": "/spec/coordinator/template/spec/containers/-",
            "value": {"name": "side", "ports": [{"name": "nervex-port", "containerPort": 1}]}}])",
       {"spec.coordinator.template.spec.containers[1].ports[0]: ignored: nervex-port belongs in "
        "the main container"}},
      {"another scheduler is named",
       R"([{"op": "add", "path": "/spec/coordinator/template/spec/schedulerName", "value": "x"}])",
       {"spec.coordinator.template.spec.schedulerName: replaced by nervex-scheduler"}},
      {"a priority is copied from a running pod",
       R"([{"op": "add", "path": "/spec/coordinator/template/spec/priority", "value": 0},
           {"op": "add", "path": "/spec/coordinator/template/spec/preemptionPolicy",
            "value": "PreemptLowerPriority"}])",
       {"spec.coordinator.template.spec.priority: the cluster sets it from the class: leave it out",
        "spec.coordinator.template.spec.preemptionPolicy: the cluster sets it from the class: "
        "leave it out"}},
      {"our scheduler is named",
       R"([{"op": "add", "path": "/spec/coordinator/template/spec/schedulerName",
            "value": "nervex-scheduler"}])",
       {}},
      {"a role has a template and no replicas",
       R"([{"op": "replace", "path": "/spec/collector/replicas", "value": 0}])",
       {"spec.collector: no replicas or reservedReplicas: the job starts even if no collector "
        "fits"}},
      {"a role has capacity reserved",
       R"([{"op": "replace", "path": "/spec/collector/replicas", "value": 0},
           {"op": "add", "path": "/spec/collector/reservedReplicas", "value": 1}])",
       {}},
  }));
  INFO("when " << row.when);
  const Json job = Json::parse(R"({
    "metadata": {"name": "dqn"},
    "spec": {
      "coordinator": {"template": {"spec": {"containers": [
        {"name": "nervex-container", "resources": {"requests": {"cpu": 1}}}]}}},
      "collector": {"replicas": 1, "template": {"spec": {"containers": [
        {"name": "main", "resources": {"limits": {"cpu": 1}}}]}}}}})");
  const auto warnings = warnings_for(job.patch(Json::parse(row.patch)));
  CHECK(warnings == row.want);
  for (const auto& warning : warnings) CHECK(warning.size() < 120);
}

TEST_CASE("reserved variables are those that the controller sets", "[job][warnings]") {
  Json job = Json::parse(R"({"spec": {"coordinator": {"template": {"spec": {"containers": [
    {"name": "nervex-container", "resources": {"requests": {"cpu": 1}}}]}}}}})");
  Json& env = job["spec"]["coordinator"]["template"]["spec"]["containers"][0]["env"];
  Job made;
  made.spec.coordinator_template = job["spec"]["coordinator"]["template"];
  PodContext context;
  context.has_aggregator = true;
  context.server_token = true;
  const Json pod = pod_manifest(made, {}, context);
  for (const Json& variable : pod["spec"]["containers"][0]["env"]) {
    INFO(variable);
    env = Json::array({variable});
    CHECK(warnings_for(job).size() == 1);
  }
}

TEST_CASE("an AggregatorConfig gets the same warnings as a job", "[job][warnings]") {
  const Json config = Json::parse(R"({"kind": "AggregatorConfig", "spec": {"aggregator": {
    "template": {"spec": {"schedulerName": "other", "containers": [
      {"name": "main", "image": "i", "env": [{"name": "A"}, {"name": "A"}, {"name": "MASTER_PORT"}],
       "resources": {"requests": {"memory": "64m"}, "limits": {"nvidia/gpu": 1}}},
      {"name": "side", "image": "I", "ports": [{"name": "nervex-port"}]}]}}}}})");
  const std::string pod = "spec.aggregator.template.spec.";
  const std::string main = pod + "containers[0].";
  CHECK(warnings_for(config) ==
        Warnings{
            main + "env[2]: MASTER_PORT may be set by the controller",
            pod + "containers[1].ports[0]: ignored: nervex-port belongs in the main container",
            pod + "schedulerName: replaced by nervex-scheduler",
            main + "env[1]: set twice, the last one wins: A",
            main + "resources.limits[nvidia/gpu]: did you mean nvidia.com/gpu?",
            main + "resources.requests[memory]: did you mean 64Mi? 64m is a fractional byte value",
            pod + "containers[1].image: contains capital letters: no node can pull it: I"});
  CHECK(warnings_on_create(config) == warnings_for(config));
}

TEST_CASE("an object of any shape causes no failure", "[job][warnings]") {
  for (const char* text : {"null", "[]", "{}", R"({"spec":5})", R"({"spec":{"collector":[]}})"}) {
    INFO(text);
    CHECK(warnings_for(Json::parse(text)).empty());
  }
}

}  // namespace
}  // namespace nervex::job
