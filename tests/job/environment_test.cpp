#include "job/environment.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/support/job_builders.h"

namespace nervex::job {
namespace {

using testing::a_job;
using testing::a_template;

PodContext a_context(bool has_aggregator) {
  PodContext context;
  context.server_url = "nervex-server.nervex-system:8080";
  context.has_aggregator = has_aggregator;
  context.aggregator_template = a_template();
  return context;
}

TEST_CASE("a pod finds its own port, its job's addresses and the server's", "[job][environment]") {
  const Job job = a_job(1, 1);
  const std::string collector = pod_name(job, Role::kCollector, {0, 0});
  CHECK(environment_of(job, Role::kCollector, {0, 0}, a_context(true)) ==
        Environment{{"COLLECTOR_PORT", "22270"},
                    {"KUBERNETES_POD_NAMESPACE", "rl"},
                    {"KUBERNETES_POD_NAME", collector},
                    {"KUBERNETES_SERVER_URL", "nervex-server.nervex-system:8080"},
                    {"KUBERNETES_NERVEX_SERVER_URL", "nervex-server.nervex-system:8080"},
                    {"KUBERNETES_COORDINATOR_URL", "dqn-coordinator.rl:22273"},
                    {"KUBERNETES_AGGREGATOR_URL", "dqn-aggregator.rl:22272"}});
}

TEST_CASE("a job without an aggregator advertises none", "[job][environment]") {
  const auto environment = environment_of(a_job(), Role::kCoordinator, {}, a_context(false));
  CHECK(environment.back().first == "KUBERNETES_COORDINATOR_URL");
  CHECK(environment.front() == std::pair<std::string, std::string>{"COORDINATOR_PORT", "22273"});
}

TEST_CASE("declared ports are advertised", "[job][environment]") {
  Job job = a_job();
  job.spec.coordinator_template["spec"]["containers"][0]["ports"] =
      Json::array({{{"name", "nervex-port"}, {"containerPort", 80}}});
  const auto environment = environment_of(job, Role::kCoordinator, {}, a_context(false));
  CHECK(environment.front().second == "80");
  CHECK(environment.back().second == "dqn-coordinator.rl:80");
}

TEST_CASE("the user's variables stay, but for those of ours", "[job][environment]") {
  Json container = Json::parse(R"({"env":[
    {"name":"COORDINATOR_PORT","valueFrom":{"fieldRef":{"fieldPath":"x"}}},
    {"name":"MINE","value":"1"}]})");
  append_environment(container, {{"COORDINATOR_PORT", "80"}, {"KUBERNETES_POD_NAME", "p"}});
  CHECK(container["env"] == Json::parse(R"([{"name":"MINE","value":"1"},
    {"name":"COORDINATOR_PORT","value":"80"},{"name":"KUBERNETES_POD_NAME","value":"p"}])"));
}

TEST_CASE("an env that is no list is replaced", "[job][environment]") {
  Json container = {{"env", "text"}};
  append_environment(container, {{"A", "1"}});
  CHECK(container["env"].size() == 1);
}

}  // namespace
}  // namespace nervex::job
