#include "view/budgets.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>

#include "tests/support/job_builders.h"

namespace nervex::view {
namespace {

using job::Role;

Budget a_budget(const Json& spec, std::string name = "keep") {
  return decode_budget({{"metadata", {{"name", std::move(name)}}}, {"spec", spec}});
}

std::vector<std::string> describe_problems(const job::Job& job, const std::vector<RolePods>& roles,
                                           const std::vector<Budget>& budgets) {
  std::vector<std::string> texts;
  for (const auto& problem : find_budget_problems(job, roles, budgets)) {
    texts.push_back(describe(problem));
  }
  return texts;
}

Json selector(const Json& labels) { return {{"matchLabels", labels}}; }

const Json kAll = {{"matchLabels", {{"nervexjob-name", "dqn"}}}};
const Json kCollectors = {
    {"matchLabels", {{"nervexjob-name", "dqn"}, {"replica-type", "collector"}}}};

}  // namespace

TEST_CASE("a budget that is counted by the base collectors and selects other pods is named",
          "[view][budgets]") {
  struct Row {
    std::string when;
    Json spec;
    int collectors;  // two of them are base replicas
    std::vector<std::string> want;
  };
  const auto row = GENERATE(values<Row>({
      {"it counts pods", {{"selector", kAll}, {"minAvailable", 3}}, 2, {}},
      {"maxUnavailable of all pods",
       {{"selector", kAll}, {"maxUnavailable", 1}},
       2,
       {"PodDisruptionBudget keep cannot work (maxUnavailable: 1): it selects 5 pods of the job, "
        "and Kubernetes expects 2, the base collectors, so that it allows too many or too few "
        "evictions. Use minAvailable with a number"}},
      {"a percentage of all pods",
       {{"selector", kAll}, {"minAvailable", "50%"}},
       2,
       {"PodDisruptionBudget keep cannot work (minAvailable: \"50%\"): it selects 5 pods of the "
        "job, and Kubernetes expects 2, the base collectors, so that it allows too many or too few "
        "evictions. Use minAvailable with a number"}},
      {"maxUnavailable of the base collectors",
       {{"selector", kCollectors}, {"maxUnavailable", 1}},
       2,
       {}},
      {"it selects the label of base replicas",
       {{"selector",
         selector({{"replica-type", "collector"}, {"nervex.sensetime.com/base-replica", "true"}})},
        {"maxUnavailable", 1}},
       3,
       {}},
      {"collectors were requested on top",
       {{"selector", kCollectors}, {"maxUnavailable", 1}},
       3,
       {"PodDisruptionBudget keep cannot work (maxUnavailable: 1): it selects 3 pods of the job, "
        "and Kubernetes expects 2, the base collectors, so that it allows too many or too few "
        "evictions. Use minAvailable with a number"}},
      {"it selects other jobs' pods",
       {{"selector", selector({{"nervexjob-name", "ppo"}})}, {"maxUnavailable", 1}},
       2,
       {}},
      {"it selects nothing", {{"maxUnavailable", 1}}, 2, {}},
      {"expressions select its pods",
       {{"selector",
         {{"matchExpressions",
           {{{"key", "replica-type"}, {"operator", "In"}, {"values", {"learner", "coordinator"}}},
            {{"key", "replica-type"}, {"operator", "NotIn"}, {"values", {"collector"}}},
            {{"key", "nervexjob-name"}, {"operator", "Exists"}},
            {{"key", "team"}, {"operator", "DoesNotExist"}}}}}},
        {"maxUnavailable", 0}},
       2,
       {"PodDisruptionBudget keep cannot work (maxUnavailable: 0): it selects 3 pods of the job, "
        "and Kubernetes expects 2, the base collectors, so that it allows too many or too few "
        "evictions. Use minAvailable with a number"}},
  }));
  INFO("when " << row.when);
  const job::Job job = testing::a_job(2, 2);
  const auto notes = describe_problems(job,
                                       {{Role::kCoordinator, 1},
                                        {Role::kCollector, 2},
                                        {Role::kCollector, row.collectors - 2, true},
                                        {Role::kLearner, 2}},
                                       {a_budget(row.spec)});
  CHECK(notes == row.want);
}

TEST_CASE("a budget that expects no pod at all blocks every drain", "[view][budgets]") {
  const auto notes =
      describe_problems(testing::a_job(0, 2), {{Role::kCoordinator, 1}, {Role::kLearner, 2}},
                        {a_budget({{"selector", kAll}, {"maxUnavailable", "50%"}})});
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].find("expects 0, the base collectors, so that it allows no eviction") !=
        std::string::npos);
}

TEST_CASE("two budgets that select one pod are named, because they block eviction",
          "[view][budgets]") {
  const auto notes =
      describe_problems(testing::a_job(2, 0), {{Role::kCoordinator, 1}, {Role::kCollector, 2}},
                        {a_budget({{"selector", kAll}, {"minAvailable", 1}}, "one"),
                         a_budget({{"selector", kCollectors}, {"minAvailable", 1}}, "other")});
  CHECK(notes == std::vector<std::string>{
                     "PodDisruptionBudgets one and other both select collector pods: Kubernetes "
                     "evicts no pod that two budgets select"});
}

}  // namespace nervex::view
