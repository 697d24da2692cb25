#include "cli/jobs/job_goal.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/support/job_snapshots.h"

namespace nervex::cli {
namespace {

using job::Phase;
using Kind = JobGoal::Kind;

TEST_CASE("--for names a phase or a condition", "[cli][wait]") {
  CHECK(*parse_goal("running") == JobGoal{Kind::kRunning, ""});
  CHECK(*parse_goal("finished") == JobGoal{Kind::kFinished, ""});
  CHECK(*parse_goal("condition=Ready") == JobGoal{Kind::kCondition, "Ready", true});
  CHECK(*parse_goal("condition=Ready=False") == JobGoal{Kind::kCondition, "Ready", false});
  for (const char* wrong : {"", "ready", "condition", "condition=", "condition=Ready=perhaps"}) {
    INFO(wrong);
    CHECK_FALSE(parse_goal(wrong));
  }
}

TEST_CASE("a goal is open until the job reaches it or can no longer reach it", "[cli][wait]") {
  struct Row {
    std::string goal;
    Phase phase;
    GoalState want;
  };
  const auto row = GENERATE(values<Row>({
      {"running", Phase::kNone, GoalState::kOpen},
      {"running", Phase::kCreated, GoalState::kOpen},
      {"running", Phase::kRunning, GoalState::kReached},
      {"running", Phase::kSucceeded, GoalState::kReached},
      {"running", Phase::kFailed, GoalState::kMissed},
      {"finished", Phase::kRunning, GoalState::kOpen},
      {"finished", Phase::kSucceeded, GoalState::kReached},
      {"finished", Phase::kFailed, GoalState::kMissed},
      {"condition=Scheduled", Phase::kCreated, GoalState::kOpen},
      {"condition=Created", Phase::kCreated, GoalState::kReached},
      {"condition=Created=false", Phase::kCreated, GoalState::kOpen},
      {"condition=Scheduled", Phase::kSucceeded, GoalState::kMissed},
  }));
  INFO(row.goal << " in phase " << to_string(row.phase));
  job::Job job = view::a_snapshot(row.phase).job;
  job.status.observed_generation = job.meta.generation;
  CHECK(check_goal(*parse_goal(row.goal), job) == row.want);
}

TEST_CASE("a status of an earlier spec does not reach a goal", "[cli][wait]") {
  job::Job job = view::a_snapshot(Phase::kRunning).job;
  job::set_condition(job.status, view::a_condition("Ready", true, ""));
  job.status.observed_generation = 1;
  job.meta.generation = 2;
  CHECK(check_goal(*parse_goal("condition=Ready"), job) == GoalState::kOpen);
  CHECK(check_goal(*parse_goal("condition=Scheduled=false"), job) == GoalState::kOpen);
  CHECK(check_goal(*parse_goal("running"), job) ==
        GoalState::kReached);  // requests change the spec
  job.spec.suspend = true;
  CHECK(check_goal(*parse_goal("running"), job) == GoalState::kOpen);
  job.spec.suspend = false;
  job.status.observed_generation = 2;
  CHECK(check_goal(*parse_goal("condition=Ready"), job) == GoalState::kReached);
}

TEST_CASE("the status of a job that has ended is final, also after a change of its spec",
          "[cli][wait]") {
  job::Job job = view::a_snapshot(Phase::kSucceeded).job;
  job.status.observed_generation = 1;
  job.meta.generation = 2;
  CHECK(check_goal(*parse_goal("condition=Succeeded"), job) == GoalState::kReached);
  CHECK(check_goal(*parse_goal("condition=Ready"), job) == GoalState::kMissed);
}

TEST_CASE("the end of a job is told with its reason", "[cli][wait]") {
  job::Job job = view::a_snapshot(Phase::kFailed).job;
  job.status.reason = "CoordinatorFailed";
  CHECK(describe_end(job) == "failed (CoordinatorFailed)");
  job::set_condition(job.status, view::a_condition("Failed", true, "exit code 3"));
  CHECK(describe_end(job) == "failed (CoordinatorFailed): exit code 3");
  CHECK(describe_end(view::a_snapshot(Phase::kSucceeded).job) == "succeeded");
}

}  // namespace
}  // namespace nervex::cli
