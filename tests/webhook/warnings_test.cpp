#include "webhook/review.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/support/job_builders.h"

namespace nervex::webhook {
namespace {

using Warnings = std::vector<std::string>;

TEST_CASE("a job is warned of what it asks for in vain", "[webhook][warnings]") {
  struct Row {
    std::string when;
    Json spec;
    Warnings want;
  };
  const Json spread = {
      {"template", {{"spec", {{"topologySpreadConstraints", {{{"maxSkew", 1}}}}}}}}};
  const Json host_port = {
      {"template",
       {{"spec", {{"containers", {{{"ports", {{{"containerPort", 80}, {"hostPort", 80}}}}}}}}}}}};
  const auto host_network = [](const Json& ports) {
    const Json container = {{"name", "nervex-container"}, {"ports", ports}};
    return Json{{"template",
                 {{"spec", {{"hostNetwork", true}, {"containers", Json::array({container})}}}}}};
  };
  const auto with_gpus = [](const char* gpus) {
    return testing::with_gpus(testing::a_template(), gpus);
  };
  const auto row = GENERATE_COPY(values<Row>({
      {"it asks for nothing", Json::object(), {}},
      {"it has limits",
       {{"suspend", true}, {"activeDeadlineSeconds", 60}, {"holdSeconds", 600}},
       {}},
      {"it reserves capacity", {{"learner", {{"replicas", 1}, {"minReplicas", 2}}}}, {}},
      {"it reserves capacity for learners with several GPUs",
       {{"learner", {{"minReplicas", 2}, {"template", with_gpus("2")}}}},
       {"spec.learner.minReplicas: no capacity is reserved for the aggregators of multi-GPU "
        "learners"}},
      {"its learners have one GPU, or are base replicas",
       {{"collector", {{"minReplicas", 2}, {"template", with_gpus("1")}}},
        {"learner", {{"minReplicas", 2}, {"replicas", 2}, {"template", with_gpus("8")}}}},
       {}},
      {"it reserves capacity for no time",
       {{"holdSeconds", 0}, {"collector", {{"minReplicas", 2}}}},
       {"spec.holdSeconds: with 0, capacity of minReplicas is given back when the coordinator "
        "runs"}},
      {"its pods are to be spread",
       {{"collector", spread}},
       {"spec.collector.template: topologySpreadConstraints is not planned for: the gang may start "
        "in part"}},
      {"its pods take ports of their nodes",
       {{"learner", host_port}},
       {"spec.learner.template: host ports 80 are not planned: the gang may start in part",
        "spec.learner.template: let each pod fill a node (all its GPUs), or do without hostPort"}},
      {"its pods are in their nodes' network, and the controller declares the port",
       {{"collector", host_network(Json::array())}},
       {"spec.collector.template: hostNetwork ports 22270 are not planned: the gang may start in "
        "part",
        "spec.collector.template: let each pod fill a node (all its GPUs), or do without "
        "hostNetwork"}},
      {"they declare ports themselves, some of them as host ports",
       {{"coordinator", host_network({{{"name", "nervex-port"}, {"containerPort", 80}},
                                      {{"containerPort", 2222}, {"hostPort", 2222}}})}},
       {"spec.coordinator.template: hostNetwork ports 80, 2222 are not planned: the gang may start "
        "in part",
        "spec.coordinator.template: let each pod fill a node (all its GPUs), or do without "
        "hostNetwork"}},
      {"they declare many",
       {{"coordinator", host_network({{{"name", "nervex-port"}, {"containerPort", 50001}},
                                      {{"containerPort", 50002}},
                                      {{"containerPort", 50003}},
                                      {{"containerPort", 50004}},
                                      {{"containerPort", 50005}}})}},
       {"spec.coordinator.template: hostNetwork ports 50001, 50002, 50003... are not planned: the "
        "gang may start in part",
        "spec.coordinator.template: let each pod fill a node (all its GPUs), or do without "
        "hostNetwork"}},
  }));
  INFO("when " << row.when);
  const auto warnings = warnings_for({{"spec", row.spec}});
  CHECK(warnings == row.want);
  for (const auto& warning : warnings) CHECK(warning.size() < 120);
}

TEST_CASE("an object of any shape is survived", "[webhook][warnings]") {
  for (const char* text : {"null", "[]", "{}", R"({"spec":5})", R"({"spec":{"collector":[]}})"}) {
    INFO(text);
    CHECK(warnings_for(Json::parse(text)).empty());
  }
}

}  // namespace
}  // namespace nervex::webhook
