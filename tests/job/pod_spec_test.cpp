#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "job/pod_manifest.h"
#include "tests/support/job_builders.h"

namespace nervex::job {
namespace {

using testing::a_job;
using testing::a_template;
using testing::an_entry;

TEST_CASE("each role has its template", "[job][pod_spec]") {
  const Job job = a_job(1, 1);
  PodContext context;
  context.aggregator_template = a_template("agg");
  const auto is = [&](Role role, const kube::SharedJson& pod_template) {
    return &role_template(job, role, context) == &pod_template.get();
  };
  CHECK(is(Role::kCoordinator, job.spec.coordinator_template));
  CHECK(is(Role::kCollector, job.spec.collector->pod_template));
  CHECK(is(Role::kLearner, job.spec.learner->pod_template));
  CHECK(is(Role::kDdpLearner, job.spec.learner->pod_template));
  CHECK(is(Role::kAggregator, context.aggregator_template));
  CHECK(role_template(a_job(), Role::kLearner, context).is_null());
}

TEST_CASE("a request's amounts replace the main container's, zero does not", "[job][pod_spec]") {
  struct Row {
    std::string when;
    std::string cpus, gpus, memory;
    Json want;
  };
  const auto row = GENERATE(values<Row>({
      {"nothing was asked for",
       "",
       "",
       "",
       {{"requests", {{"cpu", "1"}}}, {"limits", {{"nvidia.com/gpu", "1"}}}}},
      {"zero was asked for",
       "0",
       "0",
       "0Mi",
       {{"requests", {{"cpu", "1"}}}, {"limits", {{"nvidia.com/gpu", "1"}}}}},
      {"all was asked for",
       "0.5",
       "2",
       "200Mi",
       {{"requests", {{"cpu", "0.5"}, {"nvidia.com/gpu", "2"}, {"memory", "200Mi"}}},
        {"limits", {{"cpu", "0.5"}, {"nvidia.com/gpu", "2"}, {"memory", "200Mi"}}}}},
  }));
  INFO("when " << row.when);
  Job job = a_job(1, 1);
  Json& containers = job.spec.learner->pod_template["spec"]["containers"];
  containers.insert(containers.begin(), Json::object({{"name", "sidecar"}}));
  RequestEntry entry = an_entry(1, Role::kLearner, 1);
  entry.cpus = row.cpus;
  entry.gpus = row.gpus;
  entry.memory = row.memory;
  const Json spec = pod_spec(job, Role::kLearner, {}, &entry, {});
  CHECK(spec["containers"][0] == Json{{"name", "sidecar"}});
  CHECK(spec["containers"][1]["resources"] == row.want);
}

TEST_CASE("each pod of a multi-GPU learner has its share of the GPUs", "[job][pod_spec]") {
  const Job job = a_job(0, 1);
  PodContext context;
  context.aggregator_template = a_template();
  RequestEntry entry = an_entry(1, Role::kLearner, 1);
  entry.cpus = "4";
  entry.memory = "1Gi";
  entry.gpus = "10";
  entry.gpu_split = {8, 2};
  const auto resources = [&](Role role, Slot slot) {
    return pod_spec(job, role, slot, &entry, context)["containers"][0]["resources"];
  };
  const auto want = [](const char* gpus) {
    const Json amounts = {{"cpu", "4"}, {"memory", "1Gi"}, {"nvidia.com/gpu", gpus}};
    return Json{{"requests", amounts}, {"limits", amounts}};
  };
  CHECK(resources(Role::kDdpLearner, {4096, 0}) == want("8"));
  CHECK(resources(Role::kDdpLearner, {4097, 2}) == want("2"));
  // The aggregator is as its own template has it.
  CHECK(resources(Role::kAggregator, {4096, 0}) == Json{{"requests", {{"cpu", "1"}}}});
}

TEST_CASE("volumes go to the job's own roles, the priority class to every pod", "[job][pod_spec]") {
  Job job = a_job();
  job.spec.volumes = Json::parse(R"([{"name":"data","emptyDir":{}}])");
  job.spec.priority_class_name = "high";
  job.spec.coordinator_template["spec"]["volumes"] = Json::parse(R"([{"name":"own"}])");
  PodContext context;
  context.aggregator_template = a_template();
  const Json coordinator = pod_spec(job, Role::kCoordinator, {}, nullptr, context);
  CHECK(coordinator["volumes"] == Json::parse(R"([{"name":"own"},{"name":"data","emptyDir":{}}])"));
  CHECK(coordinator["priorityClassName"] == "high");
  const Json aggregator = pod_spec(job, Role::kAggregator, {}, nullptr, context);
  CHECK_FALSE(aggregator.contains("volumes"));
  CHECK(aggregator["priorityClassName"] == "high");
}

TEST_CASE("a nodeName becomes a constraint, so that the gang's plan decides", "[job][pod_spec]") {
  Job job = a_job();
  job.spec.coordinator_template["spec"]["nodeName"] = "n1";
  const Json spec = pod_spec(job, Role::kCoordinator, {}, nullptr, {});
  CHECK_FALSE(spec.contains("nodeName"));
  CHECK(spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
            ["nodeSelectorTerms"][0]["matchFields"][0]["values"][0] == "n1");
}

TEST_CASE("a role without a template has an empty spec", "[job][pod_spec]") {
  CHECK(pod_spec(a_job(), Role::kLearner, {}, nullptr, {}) == Json::object());
}

// ---- the pin

Json spec_with_terms(Json terms) {
  Json spec;
  spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
      ["nodeSelectorTerms"] = std::move(terms);
  return spec;
}

const Json kPin = Json::parse(R"({"key":"metadata.name","operator":"In","values":["n1"]})");

TEST_CASE("a pin is added to every non-empty term", "[job][pin]") {
  struct Row {
    std::string when;
    Json spec;
    Json want_terms;
  };
  const Json gpu = Json::parse(R"({"key":"gpu","operator":"Exists"})");
  const auto row = GENERATE_COPY(values<Row>({
      {"there is no affinity", Json::object(), Json::array({{{"matchFields", {kPin}}}})},
      {"affinity is not what it should be",
       {{"affinity", 7}},
       Json::array({{{"matchFields", {kPin}}}})},
      {"two terms are ORed",
       spec_with_terms(Json::array({{{"matchExpressions", {gpu}}}, {{"matchFields", {gpu}}}})),
       Json::array({{{"matchExpressions", {gpu}}, {"matchFields", {kPin}}},
                    {{"matchFields", {gpu, kPin}}}})},
      {"a term matches nothing", spec_with_terms(Json::array({Json::object()})),
       Json::array({Json::object()})},
  }));
  INFO("when " << row.when);
  Json spec = row.spec;
  pin_to_node(spec, "n1");
  CHECK(spec == spec_with_terms(row.want_terms));
}

TEST_CASE("a pin keeps other kinds of affinity", "[job][pin]") {
  Json spec = {{"affinity", {{"podAffinity", {{"kept", true}}}}}};
  pin_to_node(spec, "n1");
  CHECK(spec["affinity"]["podAffinity"]["kept"] == true);
}

}  // namespace
}  // namespace nervex::job
