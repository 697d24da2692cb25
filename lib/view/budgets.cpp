#include "view/budgets.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "job/pod_manifest.h"

namespace nervex::view {
namespace {

bool selects(const Budget& budget, const Json& labels) {
  const auto find_label = [&](const std::string& key) -> std::optional<std::string_view> {
    const Json* value = kube::member(labels, key);
    if (value == nullptr) return std::nullopt;
    return value->get_ref<const std::string&>();
  };
  return budget.selector && kube::matches(*budget.selector, find_label);
}

// "minAvailable: 50%" if Kubernetes counts the budget's pods by the scale of their owner, else "".
std::string counted_by_scale(const Budget& budget) {
  if (!budget.max_unavailable.is_null()) {
    return fmt::format("maxUnavailable: {}", kube::to_text(budget.max_unavailable));
  }
  if (!budget.min_available.is_string()) return "";
  return fmt::format("minAvailable: {}", kube::to_text(budget.min_available));
}

// The base replicas and the requested replicas of a role have the same problem.
void add_once(BudgetProblem problem, std::vector<BudgetProblem>& problems) {
  if (std::find(problems.begin(), problems.end(), problem) == problems.end()) {
    problems.push_back(std::move(problem));
  }
}

}  // namespace

Budget decode_budget(const Json& object) {
  const auto field = [&](const char* name) {
    const Json* found = kube::find(object, {"spec", name});
    return found == nullptr ? Json() : *found;
  };
  Budget budget{kube::string_at(object, {"metadata", "name"}), std::nullopt, field("minAvailable"),
                field("maxUnavailable")};
  if (auto selector = kube::decode_label_selector(field("selector"))) {
    budget.selector = *std::move(selector);
  }
  return budget;
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
      if (!selects(budget, job::make_pod_labels(job, roles[i].role, roles[i].is_requested, {}))) {
        continue;
      }
      pods += roles[i].pods;
      if (first[i].empty()) {
        first[i] = budget.name;
      } else if (first[i] != budget.name) {
        add_once({.code = BudgetProblem::Code::kSelectedTwice,
                  .budget = first[i],
                  .setting = {},
                  .other = budget.name,
                  .role = roles[i].role},
                 problems);
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
