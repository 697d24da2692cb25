// view/waiting_gangs.h - which gangs of a job lack a plan or pods? Pure.
#pragma once

#include <string_view>
#include <vector>

#include "view/job_snapshot.h"

namespace nervex::view {

// Gangs of the PodGroup without a plan, or that have lost pods. Empty without a PodGroup.
std::vector<const gang::GangStatus*> find_waiting_gangs(const JobSnapshot& seen);

// The base gang if it waits, else the first waiting gang. nullptr: no gang waits.
const gang::GangStatus* first_waiting_gang(const JobSnapshot& seen);

// The job's condition of that type if it has that status, else nullptr.
const job::Condition* find_condition(const JobSnapshot& seen, std::string_view type, bool status);

// Nodes now excluded from a waiting gang's next plan, in status order.
std::vector<gang::AvoidedNode> avoided_nodes(const JobSnapshot& seen);

inline bool is_finished(const JobSnapshot& seen) {
  const job::Phase phase = seen.job.status.phase;
  return phase == job::Phase::kSucceeded || phase == job::Phase::kFailed;
}

}  // namespace nervex::view
