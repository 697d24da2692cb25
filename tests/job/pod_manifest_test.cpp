#include "job/pod_manifest.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/support/job_builders.h"

namespace nervex::job {
namespace {

using testing::a_job;
using testing::a_template;

PodContext a_context() {
  PodContext context;
  context.server_url = "server:8080";
  return context;
}

PodOrder an_order(Role role = Role::kCoordinator) {
  PodOrder order;
  order.role = role;
  order.node = "n1";
  order.annotations = {{"nervex.sensetime.com/slot", "coordinator/0"}};
  return order;
}

const Json& nth_container(const Json& pod, std::size_t i = 0) {
  return pod["spec"]["containers"][i];
}

TEST_CASE("a pod is made exactly as the contract says", "[job][pod_manifest][golden]") {
  Job job = a_job();
  job.spec.coordinator_template["metadata"] = Json::parse(
      R"({"labels":{"team":"a","pod-name":"mine"},"annotations":{"note":"kept"},"name":"ignored"})");
  CHECK(pod_manifest(job, an_order(), a_context()) == Json::parse(R"({
    "apiVersion": "v1", "kind": "Pod",
    "metadata": {
      "name": "dqn-coordinator", "namespace": "rl",
      "labels": {"team": "a", "group-name": "nervex.sensetime.com", "nervexjob-name": "dqn",
                 "controller-name": "nervex-operator", "replica-type": "coordinator",
                 "pod-name": "dqn-coordinator", "velero.io/exclude-from-backup": "true"},
      "annotations": {"note": "kept", "nervex.sensetime.com/slot": "coordinator/0"},
      "finalizers": ["nervex.sensetime.com/job-tracking"],
      "ownerReferences": [{"apiVersion": "nervex.sensetime.com/v1alpha1", "kind": "NerveXJob",
        "name": "dqn", "uid": "uid-dqn", "controller": true, "blockOwnerDeletion": true}]},
    "spec": {
      "containers": [{
        "name": "nervex-container", "image": "nervex:test",
        "resources": {"requests": {"cpu": "1"}},
        "ports": [{"name": "nervex-port", "containerPort": 22273, "protocol": "TCP"}],
        "env": [{"name": "COORDINATOR_PORT", "value": "22273"},
                {"name": "KUBERNETES_POD_NAMESPACE", "value": "rl"},
                {"name": "KUBERNETES_POD_NAME", "value": "dqn-coordinator"},
                {"name": "KUBERNETES_SERVER_URL", "value": "server:8080"},
                {"name": "KUBERNETES_NERVEX_SERVER_URL", "value": "server:8080"},
                {"name": "KUBERNETES_COORDINATOR_URL", "value": "dqn-coordinator.rl:22273"}]}],
      "restartPolicy": "Never",
      "schedulerName": "nervex-scheduler",
      "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
        {"nodeSelectorTerms": [{"matchFields":
          [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}}}}})"));
}

TEST_CASE("backups leave out a job's pods unless its template says otherwise",
          "[job][pod_manifest]") {
  constexpr const char* kLabel = "velero.io/exclude-from-backup";
  Job job = a_job(1, 1);
  for (const Role role : {Role::kCoordinator, Role::kCollector, Role::kLearner}) {
    CHECK(pod_manifest(job, an_order(role), a_context())["metadata"]["labels"][kLabel] == "true");
  }
  job.spec.coordinator_template["metadata"]["labels"][kLabel] = "false";
  CHECK(pod_manifest(job, an_order(), a_context())["metadata"]["labels"][kLabel] == "false");
  // Which domains its members count in, and so stored PodGroups, must not change.
  CHECK_FALSE(make_pod_labels(job, Role::kCollector, false, a_context()).contains(kLabel));
}

TEST_CASE("only the coordinator's restart policy is chosen for the user", "[job][pod_manifest]") {
  Job job = a_job(1, 0);
  CHECK(pod_manifest(job, an_order(Role::kCollector), a_context())["spec"].count("restartPolicy") ==
        0);
  job.spec.coordinator_template["spec"]["restartPolicy"] = "OnFailure";
  CHECK(pod_manifest(job, an_order(), a_context())["spec"]["restartPolicy"] == "OnFailure");
}

TEST_CASE("every regular container gets the environment, the main one the port",
          "[job][pod_manifest]") {
  Job job = a_job();
  Json& spec = job.spec.coordinator_template["spec"];
  spec["containers"].insert(spec["containers"].begin(), Json::object({{"name", "sidecar"}}));
  spec["initContainers"] = Json::parse(R"([{"name":"init"}])");
  const Json pod = pod_manifest(job, an_order(), a_context());
  CHECK(nth_container(pod, 0)["env"].size() == 6);
  CHECK_FALSE(nth_container(pod, 0).contains("ports"));
  CHECK(nth_container(pod, 1)["env"].size() == 6);
  CHECK(nth_container(pod, 1)["ports"].size() == 1);
  CHECK(pod["spec"]["initContainers"][0] == Json{{"name", "init"}});
}

TEST_CASE("kube-scheduler does not check the spread of a pinned pod again",
          "[job][pod_manifest][pin]") {
  struct Row {
    std::string when;
    Json written;
    Json want;
  };
  const auto row = GENERATE(values<Row>({
      {"it has the default policy",
       {{"maxSkew", 1}, {"whenUnsatisfiable", "DoNotSchedule"}},
       {{"maxSkew", 1}, {"whenUnsatisfiable", "DoNotSchedule"}}},
      {"it counts all nodes",
       {{"whenUnsatisfiable", "DoNotSchedule"}, {"nodeAffinityPolicy", "Ignore"}},
       {{"whenUnsatisfiable", "DoNotSchedule"}, {"nodeAffinityPolicy", "Honor"}}},
      {"it asks for a number of domains", {{"maxSkew", 2}, {"minDomains", 3}}, {{"maxSkew", 2}}},
      {"it is a preference",
       {{"whenUnsatisfiable", "ScheduleAnyway"}, {"nodeAffinityPolicy", "Ignore"}},
       {{"whenUnsatisfiable", "ScheduleAnyway"}, {"nodeAffinityPolicy", "Ignore"}}},
      {"it is no constraint", 5, 5},
  }));
  INFO("when " << row.when);
  Job job = a_job();
  Json pod_template = job.spec.coordinator_template.get();
  pod_template["spec"]["topologySpreadConstraints"] = Json::array({row.written});
  job.spec.coordinator_template = pod_template;
  PodOrder order = an_order();
  const auto spread = [&] {
    return pod_manifest(job, order, a_context())["spec"]["topologySpreadConstraints"][0];
  };
  CHECK(spread() == row.want);
  order.node.clear();  // a dry run
  CHECK(spread() == row.written);
}

TEST_CASE("a template's fields reach the pods of its role", "[job][pod_manifest]") {
  const Role role =
      GENERATE(Role::kCoordinator, Role::kAggregator, Role::kCollector, Role::kLearner);
  const Json extra = Json::parse(R"({
    "restartPolicy": "OnFailure", "terminationGracePeriodSeconds": 7, "hostNetwork": true,
    "initContainers": [{"name": "proxy", "restartPolicy": "Always", "env": [{"name": "A"}]}],
    "tolerations": [{"key": "gpu", "operator": "Exists"}],
    "volumes": [{"name": "mine", "emptyDir": {}}]})");
  Json made_from = a_template();
  made_from["metadata"] = {{"labels", {{"team", "a"}}}, {"annotations", {{"note", "kept"}}}};
  made_from["spec"].update(extra);
  made_from["spec"]["containers"].push_back({{"name", "sidecar"}});
  Job job = a_job(1, 1);
  job.spec.priority_class_name = "high";
  PodContext context = a_context();
  job.spec.coordinator_template = job.spec.collector->pod_template =
      job.spec.learner->pod_template = context.aggregator_template = made_from;

  const Json pod = pod_manifest(job, an_order(role), context);
  for (const auto& [field, value] : extra.items()) CHECK(pod["spec"][field] == value);
  CHECK(pod["spec"]["priorityClassName"] == "high");
  CHECK(pod["metadata"]["labels"]["team"] == "a");
  CHECK(pod["metadata"]["annotations"]["note"] == "kept");
  REQUIRE(pod["spec"]["containers"].size() == 2);
  CHECK(nth_container(pod, 1)["env"] == nth_container(pod, 0)["env"]);
}

TEST_CASE("a main container with another name is recorded in an annotation",
          "[job][pod_manifest]") {
  Job job = a_job();
  const std::string mark = "nervex.sensetime.com/main-container";
  job.spec.coordinator_template = a_template("train");
  job.spec.coordinator_template["metadata"]["annotations"][mark] = "other";
  CHECK(pod_manifest(job, an_order(), a_context())["metadata"]["annotations"][mark] == "train");
  job.spec.coordinator_template = a_template("nervex-container");
  job.spec.coordinator_template["metadata"]["annotations"][mark] = "other";
  const Json pod = pod_manifest(job, an_order(), a_context());
  CHECK_FALSE(pod["metadata"]["annotations"].contains(mark));
}

TEST_CASE("the main container's port is found, or the role's default", "[job][pod_manifest]") {
  struct Row {
    std::string when;
    Json containers;
    int want;
  };
  const auto row = GENERATE(values<Row>({
      {"nothing is declared", Json::parse(R"([{"name":"nervex-container"}])"), 22270},
      {"it is declared", Json::parse(R"([{"name":"nervex-container",
         "ports":[{"name":"web","containerPort":1},{"name":"nervex-port","containerPort":80}]}])"),
       80},
      {"a sidecar declares it", Json::parse(R"([{"name":"nervex-container"},
         {"name":"b","ports":[{"name":"nervex-port","containerPort":80}]}])"),
       22270},
      {"no container has the name",
       Json::parse(R"([{"name":"a","ports":[{"name":"nervex-port","containerPort":81}]},
         {"name":"b","ports":[{"name":"nervex-port","containerPort":80}]}])"),
       81},
      {"there is no container", Json::array(), 22270},
      {"containers are not what they should be", "text", 22270},
  }));
  INFO("when " << row.when);
  const Json spec = {{"containers", row.containers}};
  CHECK(main_port(spec, Role::kCollector) == row.want);
  CHECK(main_port(Json{{"spec", spec}}, Role::kCollector) == row.want);
}

TEST_CASE("templates of any shape give a pod without an exception", "[job][pod_manifest]") {
  const Json spec = GENERATE(values<Json>({
      nullptr,
      "text",
      Json::array({1}),
      {{"containers", Json::array({1, "x"})}},
      {{"containers", Json::array({{{"name", 3}, {"env", 4}, {"ports", 5}}})}},
      {{"containers", {{"a", 1}}}, {"affinity", "x"}, {"volumes", 3}, {"nodeName", 4}},
      {{"containers", Json::array({{{"name", "c"}, {"resources", "x"}}})},
       {"affinity", {{"nodeAffinity", 1}}}},
  }));
  INFO(spec.dump());
  Job job = a_job(0, 0);
  job.spec.learner->pod_template = {{"metadata", {{"labels", 1}}}, {"spec", spec}};
  job.spec.volumes = Json::parse(R"([{"name":"data"}])");
  RequestEntry entry = testing::an_entry(1, Role::kLearner, 1);
  entry.cpus = "1";
  PodOrder order = an_order(Role::kLearner);
  order.entry = &entry;
  CHECK(pod_manifest(job, order, a_context())["kind"] == "Pod");
  CHECK(service_manifest(job, Role::kLearner, {}, &entry, a_context())["kind"] == "Service");
}

TEST_CASE("a service is headless and leads to its pod, ready or not", "[job][pod_manifest]") {
  const Job job = a_job(1, 0);
  const std::string name = pod_name(job, Role::kCollector, {4096, 0});
  const Json service = service_manifest(job, Role::kCollector, {4096, 0}, nullptr, a_context());
  CHECK(service["metadata"]["name"] == name);
  CHECK(service["metadata"]["labels"].size() == 5);
  CHECK(service["metadata"]["ownerReferences"][0]["uid"] == "uid-dqn");
  CHECK(service["spec"] == Json::parse(R"({"clusterIP":"None","publishNotReadyAddresses":true,
    "selector":{"pod-name":")" + name + R"("},
    "ports":[{"name":"nervex-port","port":22270,"targetPort":22270,"protocol":"TCP"}]})"));
}

TEST_CASE("a namespace's service is headless, has no owner, and selects no pods",
          "[job][pod_manifest]") {
  const Json service = shared_service_manifest("rl");
  CHECK(service["metadata"] == Json::parse(R"({"name":"rl","namespace":"rl","labels":{
    "group-name":"nervex.sensetime.com","controller-name":"nervex-operator"}})"));
  CHECK(service["spec"] == Json::parse(R"({"clusterIP":"None","publishNotReadyAddresses":true,
    "ipFamilyPolicy":"SingleStack"})"));
}

TEST_CASE("a pod takes its name from the namespace's service unless its template has another",
          "[job][pod_manifest]") {
  struct Row {
    std::string when;
    Json spec;
    bool is_shared;
  };
  const auto row = GENERATE(values<Row>({
      {"the template says nothing", Json::object(), true},
      {"it says so expressly", {{"setHostnameAsFQDN", false}}, true},
      {"it has a hostname", {{"hostname", "worker"}}, false},
      {"it has a subdomain", {{"subdomain", "workers"}}, false},
      {"its hostname is to be the whole name", {{"setHostnameAsFQDN", true}}, false},
  }));
  INFO("when " << row.when);
  Job job = a_job(1, 0);
  Json pod_template = job.spec.collector->pod_template;
  pod_template["spec"].update(row.spec);
  job.spec.collector->pod_template = pod_template;
  PodContext context = a_context();
  const Json without = pod_manifest(job, an_order(Role::kCollector), context)["spec"];
  CHECK(without.value("hostname", "") == row.spec.value("hostname", ""));
  CHECK(without.value("subdomain", "") == row.spec.value("subdomain", ""));
  context.shared_names = true;
  const Json pod = pod_manifest(job, an_order(Role::kCollector), context);
  CHECK(can_share_name(pod_template) == row.is_shared);
  CHECK(pod["spec"].value("hostname", "") == (row.is_shared
                                                  ? pod["metadata"]["name"].get<std::string>()
                                                  : row.spec.value("hostname", "")));
  CHECK(pod["spec"].value("subdomain", "") ==
        (row.is_shared ? "rl" : row.spec.value("subdomain", "")));
}

TEST_CASE("a replica's address is pod.namespace:port", "[job][pod_manifest]") {
  CHECK(replica_url("dqn-learner-x2b7k", "rl", 80) == "dqn-learner-x2b7k.rl:80");
}

}  // namespace
}  // namespace nervex::job
