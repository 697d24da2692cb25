#include "controller/decide/objects/start_needs.h"

#include <iterator>
#include <string>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

namespace nervex::controller {
namespace {

using job::Role;

Json a_pod(const Json& labels, const Json& affinity_term) {
  Json pod = {{"metadata", {{"labels", labels}}}, {"spec", Json::object()}};
  if (!affinity_term.is_null()) {
    pod["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] =
        Json::array({affinity_term});
  }
  return pod;
}

Json a_term(const Json& labels) {
  return {{"labelSelector", {{"matchLabels", labels}}}, {"topologyKey", "zone"}};
}

TEST_CASE("required affinity to other pods is read, to the gang's own it is met",
          "[controller][start-needs]") {
  struct Row {
    std::string when;
    Json term;
    std::string path;  // "": nothing is read
  };
  const std::string pods = "/api/v1/namespaces/rl/pods?labelSelector=app%3Dcache&limit=100";
  Json all = a_term({{"app", "cache"}});
  all["namespaceSelector"] = Json::object();
  Json other = a_term({{"app", "cache"}});
  other["namespaces"] = Json::array({"infra"});
  Json some = a_term({{"app", "cache"}});
  some["namespaceSelector"] = {{"matchLabels", {{"team", "a"}}}};
  Json own_elsewhere = a_term({{"role", "learner"}});
  own_elsewhere["namespaces"] = Json::array({"infra"});
  const auto row = GENERATE_COPY(values<Row>({
      {"it selects other pods", a_term({{"app", "cache"}}), pods},
      {"it selects the pod itself", a_term({{"role", "learner"}}), ""},
      {"it selects another pod of the gang", a_term({{"role", "coordinator"}}), ""},
      {"it selects such pods in another namespace", own_elsewhere,
       "/api/v1/namespaces/infra/pods?labelSelector=role%3Dlearner&limit=100"},
      {"all namespaces", all, "/api/v1/pods?labelSelector=app%3Dcache&limit=100"},
      {"one other namespace", other,
       "/api/v1/namespaces/infra/pods?labelSelector=app%3Dcache&limit=100"},
      {"namespaces by label: not to be told from here", some, ""},
  }));
  INFO("when " << row.when);
  const std::vector<DryRunPod> gang = {
      {Role::kCoordinator, a_pod({{"role", "coordinator"}}, Json())},
      {Role::kLearner, a_pod({{"role", "learner"}}, row.term)}};
  const auto needs = list_start_needs(gang, "rl");
  REQUIRE(needs.size() == (row.path.empty() ? 0U : 1U));
  if (!row.path.empty()) CHECK(needs[0].path == row.path);
}

TEST_CASE("claims and claim templates are read once each", "[controller][start-needs]") {
  Json pod = a_pod(Json::object(), Json());
  pod["spec"]["resourceClaims"] =
      Json::array({{{"name", "a"}, {"resourceClaimName", "gpus"}},
                   {{"name", "b"}, {"resourceClaimTemplateName", "each"}}});
  const auto needs = list_start_needs({{Role::kLearner, pod}, {Role::kCollector, pod}}, "rl");
  REQUIRE(needs.size() == 2);
  CHECK(needs[0].path == "/apis/resource.k8s.io/v1/namespaces/rl/resourceclaims/gpus");
  CHECK(needs[0].blocker.message ==
        "ResourceClaim gpus, which the learner's template names, does not exist");
  CHECK(needs[1].path == "/apis/resource.k8s.io/v1/namespaces/rl/resourceclaimtemplates/each");
}

TEST_CASE("one job cannot delay the answers of others by many needs", "[controller][start-needs]") {
  Json pod = a_pod({}, Json());
  for (int i = 0; i < 1'000; ++i) {
    pod["spec"]["resourceClaims"].push_back({{"resourceClaimName", "c" + std::to_string(i)}});
  }
  CHECK(std::ssize(list_start_needs({{Role::kLearner, pod}}, "rl")) == kMostStartNeeds);
}

TEST_CASE("a need is unmet only if the API server says so", "[controller][start-needs]") {
  const StartNeed claim{"/x", false, {"ResourceClaim", "gpus", ""}};
  const auto error = [](Code code, const char* message) {
    return Result<std::string>(Error{code, message});
  };
  CHECK(is_unmet(claim, error(Code::kNotFound,
                              "GET /x: 404 resourceclaims.resource.k8s.io \"gpus\" not found")));
  CHECK_FALSE(is_unmet(claim, error(Code::kNotFound, "GET /x: 404 page not found")));
  CHECK_FALSE(is_unmet(claim, error(Code::kForbidden, "GET /x: 403")));
  CHECK_FALSE(is_unmet(claim, error(Code::kTransient, "timeout")));
  CHECK_FALSE(is_unmet(claim, std::string("{}")));

  const StartNeed affinity{"/pods", true, {"PodAffinity", "", ""}};
  CHECK(is_unmet(affinity, std::string(R"({"items":[]})")));
  CHECK(is_unmet(affinity, std::string(R"({"items":[{"spec":{}}]})")));
  CHECK(is_unmet(
      affinity,
      std::string(R"({"items":[{"spec":{"nodeName":"n"},"status":{"phase":"Failed"}}]})")));
  CHECK_FALSE(is_unmet(affinity, std::string(R"({"items":[{"spec":{"nodeName":"n"}}]})")));
  CHECK_FALSE(is_unmet(affinity, std::string(R"({"metadata":{"continue":"x"},"items":[]})")));
  CHECK_FALSE(is_unmet(affinity, error(Code::kForbidden, "GET /pods: 403")));
}

}  // namespace
}  // namespace nervex::controller
