// cli/budgets.h - which PodDisruptionBudgets of a namespace cannot do for a job what they say?
// Pure.
//
// Kubernetes counts the pods that a budget with maxUnavailable or a percentage expects by the scale
// subresource of their owner. A job's has the base collectors alone, whatever else the budget
// selects: coordinator, aggregator, learners and what was requested are pods beyond the expected
// number, so that too many may be evicted; and where no base collector is expected, no pod may.
// minAvailable with a number counts the pods themselves.
#pragma once

#include <string>
#include <vector>

#include "job/types.h"
#include "kube/model/json.h"

namespace nervex::cli {

struct Budget {  // a policy/v1 PodDisruptionBudget
  std::string name;
  Json selector;         // a LabelSelector; null selects no pod
  Json min_available;    // null, a number or a percentage
  Json max_unavailable;  // the same
  bool operator==(const Budget&) const = default;
};
Budget decode_budget(const Json& object);

struct RolePods {  // how many pods of the job want to run, by role
  job::Role role = job::Role::kCoordinator;
  int pods = 0;
};

// A sentence for each budget that cannot work, and one for pods that several budgets select, of
// which Kubernetes evicts none. Empty for nearly every job.
std::vector<std::string> budget_notes(const job::Job& job, const std::vector<RolePods>& roles,
                                      const std::vector<Budget>& budgets);

}  // namespace nervex::cli
