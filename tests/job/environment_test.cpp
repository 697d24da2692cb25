#include "job/pod_manifest.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <string>
#include <utility>
#include <vector>

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

using Environment = std::vector<std::pair<std::string, std::string>>;

Json container_env(const Job& job, Role role, Slot slot, const RequestEntry* entry,
                   const PodContext& context) {
  PodOrder order;
  order.role = role;
  order.slot = slot;
  order.entry = entry;
  return pod_manifest(job, order, context)["spec"]["containers"][0]["env"];
}

Environment decode_environment(const Job& job, Role role, Slot slot, const RequestEntry* entry,
                               const PodContext& context) {
  Environment environment;
  for (const Json& variable : container_env(job, role, slot, entry, context)) {
    environment.emplace_back(variable["name"], variable["value"]);
  }
  return environment;
}

TEST_CASE("a pod finds its own port, its job's addresses and the server's", "[job][environment]") {
  const Job job = a_job(1, 1);
  const std::string collector = pod_name(job, Role::kCollector, {0, 0});
  CHECK(decode_environment(job, Role::kCollector, {0, 0}, nullptr, a_context(true)) ==
        Environment{{"COLLECTOR_PORT", "22270"},
                    {"KUBERNETES_POD_NAMESPACE", "rl"},
                    {"KUBERNETES_POD_NAME", collector},
                    {"KUBERNETES_SERVER_URL", "nervex-server.nervex-system:8080"},
                    {"KUBERNETES_NERVEX_SERVER_URL", "nervex-server.nervex-system:8080"},
                    {"KUBERNETES_COORDINATOR_URL", "dqn-coordinator.rl:22273"},
                    {"KUBERNETES_AGGREGATOR_URL", "dqn-aggregator.rl:22272"}});
}

TEST_CASE("a job without an aggregator advertises none", "[job][environment]") {
  const auto environment =
      decode_environment(a_job(), Role::kCoordinator, {}, nullptr, a_context(false));
  CHECK(environment.back().first == "KUBERNETES_COORDINATOR_URL");
  CHECK(environment.front() == std::pair<std::string, std::string>{"COORDINATOR_PORT", "22273"});
}

TEST_CASE("declared ports are advertised", "[job][environment]") {
  Job job = a_job();
  job.spec.coordinator_template["spec"]["containers"][0]["ports"] =
      Json::array({{{"name", "nervex-port"}, {"containerPort", 80}}});
  const auto environment =
      decode_environment(job, Role::kCoordinator, {}, nullptr, a_context(false));
  CHECK(environment.front().second == "80");
  CHECK(environment.back().second == "dqn-coordinator.rl:80");
}

TEST_CASE("the pods of a multi-GPU learner get the environment to find each other",
          "[job][environment]") {
  const Job job = a_job(0, 1);
  RequestEntry entry = testing::an_entry(1, Role::kLearner, 1, 4100);
  entry.gpu_split = {8, 2};
  const bool has_aggregator = GENERATE(false, true);
  const auto environment = [&](Slot slot) {
    auto all = decode_environment(job, Role::kDdpLearner, slot, &entry, a_context(has_aggregator));
    return Environment(all.begin() + 6, all.end());
  };
  const std::string aggregator = pod_name(job, Role::kAggregator, {4100, 3}) + ".rl:22272";
  CHECK(environment({4100, 3}) == Environment{{"KUBERNETES_AGGREGATOR_URL", aggregator},
                                              {"WORLD_SIZE", "10"},
                                              {"LOCAL_WORLD_SIZE", "8"},
                                              {"START_RANK", "0"},
                                              {"MASTER_ADDR", "localhost"},
                                              {"MASTER_PORT", "10314"}});
  CHECK(environment({4101, 3}) ==
        Environment{{"KUBERNETES_AGGREGATOR_URL", aggregator},
                    {"WORLD_SIZE", "10"},
                    {"LOCAL_WORLD_SIZE", "2"},
                    {"START_RANK", "8"},
                    {"MASTER_ADDR", pod_name(job, Role::kDdpLearner, {4100, 3})},
                    {"MASTER_PORT", "10314"}});
}

TEST_CASE("where the namespace's service names pods, the master's address is its whole name",
          "[job][environment]") {
  const Job job = a_job(0, 1);
  RequestEntry entry = testing::an_entry(1, Role::kLearner, 1, 4100);
  entry.gpu_split = {8, 2};
  PodContext context = a_context(true);
  context.shared_names = true;
  const auto master = [&](Slot slot) {
    const auto all = decode_environment(job, Role::kDdpLearner, slot, &entry, context);
    return all.at(all.size() - 2);
  };
  CHECK(master({4100, 3}) == std::pair<std::string, std::string>{"MASTER_ADDR", "localhost"});
  CHECK(master({4101, 3}) ==
        std::pair<std::string, std::string>{"MASTER_ADDR",
                                            pod_name(job, Role::kDdpLearner, {4100, 3}) + ".rl"});
}

TEST_CASE("a ddp-learner's own port is its learner port", "[job][environment]") {
  RequestEntry entry = testing::an_entry(1, Role::kLearner, 1);
  entry.gpu_split = {2};
  const auto all =
      decode_environment(a_job(0, 1), Role::kDdpLearner, {4096, 0}, &entry, a_context(true));
  CHECK(all.front() == std::pair<std::string, std::string>{"LEARNER_PORT", "22271"});
}

TEST_CASE("the aggregator of a multi-GPU learner has no ranks", "[job][environment]") {
  RequestEntry entry = testing::an_entry(1, Role::kLearner, 1);
  entry.gpu_split = {2};
  const auto all =
      decode_environment(a_job(0, 1), Role::kAggregator, {4096, 0}, &entry, a_context(true));
  CHECK(all.front() == std::pair<std::string, std::string>{"AGGREGATOR_PORT", "22272"});
  CHECK(all.size() == 7);
}

TEST_CASE("the user's variables stay, except for reserved ones", "[job][environment]") {
  Job job = a_job();
  job.spec.coordinator_template["spec"]["containers"][0]["env"] = Json::parse(R"([
    {"name":"COORDINATOR_PORT","valueFrom":{"fieldRef":{"fieldPath":"x"}}},
    {"name":"MINE","value":"1"}])");
  const Json env = container_env(job, Role::kCoordinator, {}, nullptr, a_context(false));
  Json want = container_env(a_job(), Role::kCoordinator, {}, nullptr, a_context(false));
  CHECK(want[0] == Json::parse(R"({"name":"COORDINATOR_PORT","value":"22273"})"));
  want.insert(want.begin(), Json::parse(R"({"name":"MINE","value":"1"})"));
  CHECK(env == want);
}

TEST_CASE("an env that is not a list is replaced", "[job][environment]") {
  Job job = a_job();
  job.spec.coordinator_template["spec"]["containers"][0]["env"] = "text";
  CHECK(container_env(job, Role::kCoordinator, {}, nullptr, a_context(false)) ==
        container_env(a_job(), Role::kCoordinator, {}, nullptr, a_context(false)));
}

}  // namespace
}  // namespace nervex::job
