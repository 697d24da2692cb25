#include "webhook/warnings.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

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
  const auto row = GENERATE_COPY(values<Row>({
      {"it asks for nothing", Json::object(), {}},
      {"it is suspended", {{"suspend", true}}, {}},
      {"defaults say nothing", {{"suspend", false}, {"holdSeconds", 600}}, {}},
      {"it has a deadline", {{"activeDeadlineSeconds", 60}}, {}},
      {"it wants room to be held",
       {{"learner", {{"replicas", 1}, {"minReplicas", 2}}}},
       {"spec.learner.minReplicas: no room is held for them in this version"}},
      {"its pods are to be spread",
       {{"collector", spread}},
       {"spec.collector.template: topologySpreadConstraints is not planned for: the gang may start "
        "in part"}},
      {"its pods share the node's ports",
       {{"learner", host_port}},
       {"spec.learner.template: hostPort is not planned for: the gang may start in part"}},
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
