// cli/jobs/job_goal.h - has a job reached what a verb waits for? Pure.
#pragma once

#include <string>

#include "base/error.h"
#include "job/types.h"

namespace nervex::cli {

struct JobGoal {
  enum class Kind { kRunning, kFinished, kCondition };
  Kind kind = Kind::kRunning;
  std::string condition;  // kCondition: its type
  bool status = true;     // kCondition
  bool operator==(const JobGoal&) const = default;
};

// "running", "finished", "condition=Scheduled", "condition=Ready=false". kInvalid: anything else.
Result<JobGoal> parse_goal(const std::string& text);

enum class GoalState {
  kOpen,
  kReached,
  kMissed,  // it cannot be reached any more
};
// kFinished is reached by a job that succeeded, and missed by one that failed. A condition of an
// earlier spec does not count, nor does Running of a job that is about to be suspended.
GoalState check_goal(const JobGoal& goal, const job::Job& job);

// "succeeded", "failed (CoordinatorFailed): exit code 3", of a job that has ended.
std::string describe_end(const job::Job& job);

}  // namespace nervex::cli
