
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/duration.h"
#include "base/program.h"
#include "cli/cluster_flags.h"
#include "cli/failure.h"
#include "cli/follow.h"
#include "cli/interrupt.h"
#include "cli/jobs/job_choice.h"
#include "cli/jobs/job_goal.h"
#include "cli/jobs/job_progress.h"
#include "cli/output.h"
#include "cli/text.h"
#include "cli/verbs/verbs.h"
#include "cli/wait_flags.h"

namespace nervex::cli {
namespace {

struct WaitFlags {
  std::string job;
  std::string goal = "finished";
  std::chrono::milliseconds timeout{0};
  ClusterFlags cluster;
};

void define_wait(CLI::App& command, WaitFlags& flags) {
  command.add_option("job", flags.job, "name of the NerveXJob")->required()->type_name("JOB");
  command
      .add_option("--for", flags.goal,
                  "running: the coordinator runs; finished: the job has ended; condition=TYPE, "
                  "condition=TYPE=false: as its status says")
      ->check([](const std::string& text) {
        const auto goal = parse_goal(text);
        return goal ? std::string() : goal.error().message;
      })
      ->type_name("GOAL")
      ->capture_default_str();
  add_timeout_flag(command, flags.timeout);
  add_cluster_flags(command, flags.cluster);
}

// What the last look at the job showed.
struct Outcome {
  GoalState goal = GoalState::kOpen;
  bool is_deleted = false;
  std::optional<job::Job> job;
};

Error missing_job(const std::string& ns, const std::string& job) {
  return {Code::kNotFound,
          fmt::format("nervexjobs.nervex.sensetime.com \"{}\" not found in namespace {}", job, ns)};
}

int report(const WaitFlags& flags, const Outcome& outcome) {
  if (outcome.is_deleted) {
    note(fmt::format("{} was deleted", flags.job));
    return kExitFailure;
  }
  const bool is_final = outcome.job && job::is_final(outcome.job->status.phase);
  if (outcome.goal == GoalState::kReached) {
    write_out(fmt::format("{} {}\n", printable(qualified_name(flags.job)),
                          is_final ? printable(describe_end(*outcome.job)) : "condition met"));
    return kExitOk;
  }
  note(fmt::format("{} {}", flags.job, describe_end(*outcome.job)));
  return kExitFailure;
}

int wait_for_job(kube::Api& api, const std::string& ns, const WaitFlags& flags) {
  const Interrupt interrupt(to_limit(flags.timeout));
  const JobGoal goal = *parse_goal(flags.goal);
  JobProgress progress(api, ns, flags.job);
  Outcome outcome;
  FollowCalls calls;
  calls.on_object = [&](const std::string&, const Json* object) {
    outcome.is_deleted = object == nullptr;
    if (object == nullptr) return false;
    auto job = job::decode_job(*object);
    if (!job) return true;
    outcome.goal = check_goal(goal, *job);
    outcome.job = *std::move(job);
    if (outcome.goal != GoalState::kOpen) return false;
    progress.report(*outcome.job);
    return true;
  };
  calls.on_listed = [&] { return outcome.job.has_value(); };
  calls.on_lost = [](const Error& error) { note(error.message + "; trying again"); };
  const auto ended =
      follow(api, object_path(kube::kNervexJobs, ns, flags.job), calls, interrupt.token());
  const bool is_stopped = interrupt.token().stop_requested();
  if (!ended && !is_stopped) return fail("wait for " + ns + "/" + flags.job, ended.error());
  if (!outcome.job && !outcome.is_deleted && !is_stopped) {
    return fail("wait for " + ns + "/" + flags.job, missing_job(ns, flags.job));
  }
  if (outcome.goal != GoalState::kOpen || outcome.is_deleted) return report(flags, outcome);
  if (interrupt.is_interrupted()) return kExitInterrupted;
  note(fmt::format(
      "timed out after {} while the job {}. What to do: kubectl nervex explain {} -n {}",
      format_duration(flags.timeout),
      progress.last_line().empty() ? "could not be read"
                                   : progress.last_line().substr(flags.job.size() + 1),
      flags.job, ns));
  return kExitFailure;
}

int run_wait(const WaitFlags& flags) {
  return with_cluster(
      flags.cluster,
      [&](kube::Api& api, const std::string& ns) { return wait_for_job(api, ns, flags); },
      to_limit(flags.timeout));
}

}  // namespace

void add_wait(Verbs& verbs) {
  verbs.add<WaitFlags>(
      {.name = "wait",
       .what = "Waits until a job runs, has ended or has a condition. Says on stderr why the job "
               "waits.",
       .examples = {"wait dqn --for=running --timeout 5m", "wait dqn",
                    "wait dqn --for=condition=Scheduled"},
       .exit_codes = "0 the goal is reached (of --for=finished: the job succeeded), 1 the job "
                     "failed, was deleted or does not exist, or the timeout came first, 2 wrong "
                     "usage, 130 interrupted"},
      define_wait, run_wait);
}

}  // namespace nervex::cli
