#include "kube/model/anti_affinity.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "kube/model/pod.h"
#include "kube/model/resources.h"

namespace nervex::kube {
namespace {

const Labels kLabels{{"app", "rl"}, {"role", "learner"}};

std::vector<std::string> resources_for(const std::string& term, std::string_view ns = "team-a") {
  return self_anti_affinity(Json::array({*parse_json(term)}), ns, kLabels);
}

TEST_CASE("a pod keeps apart from its kind where a required term selects the pod itself",
          "[kube][anti_affinity]") {
  struct Row {
    std::string when;
    std::string term;
    bool counts;
  };
  const auto row = GENERATE(values<Row>({
      {"its labels match", R"({"labelSelector":{"matchLabels":{"app":"rl"}},"topologyKey":"z"})",
       true},
      {"the selector is empty: it selects every pod", R"({"labelSelector":{},"topologyKey":"z"})",
       true},
      {"there is no selector: it selects none", R"({"topologyKey":"z"})", false},
      {"there is no topology key", R"({"labelSelector":{}})", false},
      {"a label differs",
       R"({"labelSelector":{"matchLabels":{"app":"rl","role":"collector"}},"topologyKey":"z"})",
       false},
      {"expressions match",
       R"({"labelSelector":{"matchExpressions":[
           {"key":"role","operator":"In","values":["learner","collector"]},
           {"key":"app","operator":"Exists"},{"key":"gone","operator":"DoesNotExist"},
           {"key":"app","operator":"NotIn","values":["x"]}]},"topologyKey":"z"})",
       true},
      {"an expression does not match",
       R"({"labelSelector":{"matchExpressions":[{"key":"role","operator":"NotIn",
           "values":["learner"]}]},"topologyKey":"z"})",
       false},
      {"its namespace is named",
       R"({"labelSelector":{},"namespaces":["team-b","team-a"],"topologyKey":"z"})", true},
      {"only other namespaces are named",
       R"({"labelSelector":{},"namespaces":["team-b"],"topologyKey":"z"})", false},
      {"all namespaces are selected",
       R"({"labelSelector":{},"namespaceSelector":{},"topologyKey":"z"})", true},
      {"namespaces are selected by labels, which are not known",
       R"({"labelSelector":{},"namespaceSelector":{"matchLabels":{"a":"b"}},"topologyKey":"z"})",
       false},
      {"labels are added when the pod is created",
       R"({"labelSelector":{},"matchLabelKeys":["hash"],"topologyKey":"z"})", false},
  }));
  INFO("when " << row.when);
  const auto resources = resources_for(row.term);
  CHECK(resources.size() == (row.counts ? 1 : 0));
  for (const auto& resource : resources) CHECK(parse_topology_key(resource) == "z");
}

TEST_CASE("equal terms give one resource, however they are written", "[kube][anti_affinity]") {
  const auto one =
      resources_for(R"({"labelSelector":{"matchLabels":{"app":"rl"}},"topologyKey":"z"})");
  CHECK(resources_for(R"({"topologyKey":"z","namespaces":[],
               "labelSelector":{"matchExpressions":[],"matchLabels":{"app":"rl"}}})") == one);
  CHECK(resources_for(R"({"labelSelector":{"matchExpressions":[
               {"key":"app","operator":"In","values":["rl"]}]},"topologyKey":"z"})") == one);
  CHECK(resources_for(
            R"({"labelSelector":{"matchLabels":{"role":"learner"}},"topologyKey":"z"})") != one);
  CHECK(resources_for(R"({"labelSelector":{"matchLabels":{"app":"rl"}},"topologyKey":"y"})") !=
        one);
  CHECK(resources_for(R"({"labelSelector":{"matchLabels":{"app":"rl"}},"topologyKey":"z"})",
                      "team-b") != one);
}

TEST_CASE("a pod as the API server sends it has the resource that its template had",
          "[kube][anti_affinity]") {
  const std::string affinity =
      R"({"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
          {"labelSelector":{"matchLabels":{"app":"rl"}},"topologyKey":"z"}]}})";
  const std::string pod = R"({"metadata":{"name":"p","namespace":"team-a",
      "labels":{"app":"rl","role":"learner"}},"spec":{"affinity":)" +
                          affinity + R"(,"containers":[]}})";
  const auto decoded = decode_pod(pod, {});
  REQUIRE(decoded);
  Resources want{{"pods", 1}};
  want.set(
      resources_for(R"({"labelSelector":{"matchLabels":{"app":"rl"}},"topologyKey":"z"})").at(0),
      1);
  CHECK(decoded->requests == want);
  CHECK(decoded->meta.labels.empty());  // none is kept for it
}

TEST_CASE("self anti-affinity is named as a resource for users", "[kube][anti_affinity]") {
  CHECK(format_need("podAntiAffinity:kubernetes.io/hostname#1", 1) ==
        "a node of its own (podAntiAffinity)");
  CHECK(format_need("podAntiAffinity:topology.kubernetes.io/zone#1", 1) ==
        "a topology.kubernetes.io/zone of its own (podAntiAffinity)");
  CHECK(parse_topology_key("hostPort:TCP/80").empty());
  CHECK(parse_topology_key("cpu").empty());
}

}  // namespace
}  // namespace nervex::kube
