// view/budgets.h - which PodDisruptionBudgets do not protect a job as they say? Pure.
//
// For a budget with maxUnavailable or a percentage, Kubernetes takes the number of expected pods
// from the scale subresource of their owner. A job's scale counts the base collectors alone. If the
// budget selects other pods too (coordinator, aggregator, learners, requested replicas), it allows
// too many evictions; if the job has no base collectors, it allows none. minAvailable with a number
// counts the pods themselves and works.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "job/types.h"
#include "kube/model/json.h"
#include "kube/model/label_selector.h"

namespace nervex::view {

struct Budget {  // a policy/v1 PodDisruptionBudget
  std::string name;
  std::optional<kube::LabelSelector> selector;  // nullopt selects no pod
  Json min_available;                           // null, a number or a percentage
  Json max_unavailable;                         // like min_available
  bool operator==(const Budget&) const = default;
};
Budget decode_budget(const Json& object);

struct RolePods {  // wanted pods of the job, by role
  job::Role role = job::Role::kCoordinator;
  int pods = 0;
  bool is_requested = false;  // requested replicas; else base replicas
};

struct BudgetProblem {
  enum class Code {
    kCountedByScale,  // the number of expected pods is not the number of selected pods
    kSelectedTwice,   // Kubernetes does not evict a pod that two budgets select
  };
  Code code = Code::kCountedByScale;
  std::string budget;
  // kCountedByScale
  std::string setting;  // "maxUnavailable: 1"
  int selected = 0;     // pods of the job
  int expected = 0;     // base collectors
  // kSelectedTwice
  std::string other;  // the second budget
  job::Role role = job::Role::kCoordinator;
  bool operator==(const BudgetProblem&) const = default;
};

// Empty for nearly every job.
std::vector<BudgetProblem> find_budget_problems(const job::Job& job,
                                                const std::vector<RolePods>& roles,
                                                const std::vector<Budget>& budgets);

std::string describe(const BudgetProblem& problem);

}  // namespace nervex::view
