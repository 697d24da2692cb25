#include "cli/jobs/job_goal.h"

#include <fmt/format.h>

#include "base/text.h"

namespace nervex::cli {

Result<JobGoal> parse_goal(const std::string& text) {
  constexpr std::string_view kCondition = "condition=";
  if (text == "running") return JobGoal{JobGoal::Kind::kRunning, ""};
  if (text == "finished") return JobGoal{JobGoal::Kind::kFinished, ""};
  if (!text.starts_with(kCondition)) {
    return Error{Code::kInvalid, "must be running, finished or condition=TYPE[=true|false]"};
  }
  std::string type = text.substr(kCondition.size());
  std::string status = "true";
  if (const auto equals = type.find('='); equals != std::string::npos) {
    status = to_lower(type.substr(equals + 1));
    type.resize(equals);
  }
  if (type.empty() || (status != "true" && status != "false")) {
    return Error{Code::kInvalid, "must be condition=TYPE, condition=TYPE=true or =false"};
  }
  return JobGoal{JobGoal::Kind::kCondition, type, status == "true"};
}

namespace {

// The controller has seen the current spec. The status of a job that has ended does not change.
bool is_status_current(const job::Job& job) {
  return job::is_final(job.status.phase) || job.status.observed_generation >= job.meta.generation;
}

}  // namespace

GoalState check_goal(const JobGoal& goal, const job::Job& job) {
  const job::Phase phase = job.status.phase;
  if (goal.kind == JobGoal::Kind::kCondition) {
    if (!is_status_current(job)) return GoalState::kOpen;
    const job::Condition* found = job::find_condition(job.status, goal.condition);
    if (found != nullptr && found->status == goal.status) return GoalState::kReached;
    return job::is_final(phase) ? GoalState::kMissed : GoalState::kOpen;
  }
  if (phase == job::Phase::kFailed) return GoalState::kMissed;
  if (phase == job::Phase::kSucceeded) return GoalState::kReached;
  const bool is_running = phase == job::Phase::kRunning && !job.spec.suspend;
  return is_running && goal.kind == JobGoal::Kind::kRunning ? GoalState::kReached
                                                            : GoalState::kOpen;
}

std::string describe_end(const job::Job& job) {
  const job::Status& status = job.status;
  if (status.phase == job::Phase::kSucceeded) return "succeeded";
  std::string text = "failed";
  if (!status.reason.empty()) text += fmt::format(" ({})", status.reason);
  const job::Condition* failed = job::find_condition(status, job::to_string(job::Phase::kFailed));
  return failed == nullptr || failed->message.empty() ? text : text + ": " + failed->message;
}

}  // namespace nervex::cli
