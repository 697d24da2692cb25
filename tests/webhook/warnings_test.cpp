#include "webhook/review.h"

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
  const auto apart = [](const Json& selected, const Json& labels) -> Json {
    const Json term{{"labelSelector", {{"matchLabels", selected}}},
                    {"topologyKey", "kubernetes.io/hostname"}};
    return {
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
       {{"suspend", true}, {"activeDeadlineSeconds", 60}, {"holdSeconds", 600}},
       {}},
      {"it reserves capacity", {{"learner", {{"replicas", 1}, {"minReplicas", 2}}}}, {}},
      {"it reserves capacity for no time",
       {{"holdSeconds", 0}, {"collector", {{"minReplicas", 2}}}},
       {"spec.holdSeconds: with 0, capacity of minReplicas is given back when the coordinator "
        "runs"}},
      {"its pods are to be spread",
       {{"collector", spread}},
       {"spec.collector.template: topologySpreadConstraints is best effort: left to "
        "kube-scheduler, not planned"}},
      {"its devices are claimed",
       {{"learner", {{"template", {{"spec", {{"resourceClaims", {{{"name", "gpu"}}}}}}}}}}},
       {"spec.learner.template: resourceClaims is best effort: left to kube-scheduler, not "
        "planned"}},
      {"its pods take ports of their nodes, which is planned",
       {{"learner",
         {{"template",
           {{"spec",
             {{"containers", {{{"ports", {{{"containerPort", 80}, {"hostPort", 80}}}}}}}}}}}}}},
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

TEST_CASE("an object of any shape is survived", "[webhook][warnings]") {
  for (const char* text : {"null", "[]", "{}", R"({"spec":5})", R"({"spec":{"collector":[]}})"}) {
    INFO(text);
    CHECK(warnings_for(Json::parse(text)).empty());
  }
}

}  // namespace
}  // namespace nervex::webhook
