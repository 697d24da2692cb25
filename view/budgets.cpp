#include "view/budgets.h"

#include <fmt/format.h>

#include <algorithm>

#include "job/pod_manifest.h"

namespace nervex::view {
namespace {

bool meets(const Json& requirement, const Json& labels) {
  const std::string key = kube::string_at(requirement, {"key"});
  const std::string how = kube::string_at(requirement, {"operator"});
  const auto at = labels.find(key);
  const bool exists = at != labels.end();
  if (how == "Exists") return exists;
  if (how == "DoesNotExist") return !exists;
  const Json& values = kube::array_at(requirement, {"values"});
  const bool is_one = exists && std::find(values.begin(), values.end(), *at) != values.end();
  return how == "In" ? is_one : how == "NotIn" && !is_one;
}

bool selects(const Json& selector, const Json& labels) {
  if (!selector.is_object()) return false;
  const Json* exact = kube::find(selector, {"matchLabels"});
  if (exact != nullptr && exact->is_object()) {
    for (const auto& [key, value] : exact->items()) {
      const auto at = labels.find(key);
      if (at == labels.end() || *at != value) return false;
    }
  }
  const Json& requirements = kube::array_at(selector, {"matchExpressions"});
  return std::all_of(requirements.begin(), requirements.end(),
                     [&](const Json& one) { return meets(one, labels); });
}

// "minAvailable: 50%" if Kubernetes counts the budget's pods by the scale of their owner, else "".
std::string counted_by_scale(const Budget& budget) {
  if (!budget.max_unavailable.is_null()) {
    return fmt::format("maxUnavailable: {}", kube::to_text(budget.max_unavailable));
  }
  if (!budget.min_available.is_string()) return "";
  return fmt::format("minAvailable: {}", kube::to_text(budget.min_available));
}

}  // namespace

Budget decode_budget(const Json& object) {
  const auto field = [&](const char* name) {
    const Json* found = kube::find(object, {"spec", name});
    return found == nullptr ? Json() : *found;
  };
  return {kube::string_at(object, {"metadata", "name"}), field("selector"), field("minAvailable"),
          field("maxUnavailable")};
}

std::vector<BudgetProblem> find_budget_problems(const job::Job& job,
                                                const std::vector<RolePods>& roles,
                                                const std::vector<Budget>& budgets) {
  std::vector<BudgetProblem> problems;
  const int expected = job.spec.collector ? job.spec.collector->replicas : 0;
  std::vector<std::string> first(roles.size());  // by role, the first budget that selects its pods
  for (const Budget& budget : budgets) {
    int pods = 0;
    for (std::size_t i = 0; i < roles.size(); ++i) {
      if (roles[i].pods == 0) continue;
      if (!selects(budget.selector, job::make_pod_labels(job, roles[i].role, {}))) continue;
      pods += roles[i].pods;
      if (first[i].empty()) {
        first[i] = budget.name;
      } else if (first[i] != budget.name) {
        problems.push_back({.code = BudgetProblem::Code::kSelectedTwice,
                            .budget = first[i],
                            .setting = {},
                            .other = budget.name,
                            .role = roles[i].role});
      }
    }
    std::string setting = counted_by_scale(budget);
    if (pods == 0 || setting.empty() || (pods == expected && expected > 0)) continue;
    problems.push_back({.code = BudgetProblem::Code::kCountedByScale,
                        .budget = budget.name,
                        .setting = std::move(setting),
                        .selected = pods,
                        .expected = expected,
                        .other = {}});
  }
  return problems;
}

std::string describe(const BudgetProblem& problem) {
  if (problem.code == BudgetProblem::Code::kSelectedTwice) {
    return fmt::format(
        "PodDisruptionBudgets {} and {} both select {} pods: Kubernetes evicts no pod that two "
        "budgets select",
        problem.budget, problem.other, to_string(problem.role));
  }
  return fmt::format(
      "PodDisruptionBudget {} cannot work ({}): it selects {} pod{} of the job, and Kubernetes "
      "expects {}, the base collectors, so that {}. Use minAvailable with a number",
      problem.budget, problem.setting, problem.selected, problem.selected == 1 ? "" : "s",
      problem.expected,
      problem.expected == 0 ? "it allows no eviction" : "it allows too many or too few evictions");
}

}  // namespace nervex::view
