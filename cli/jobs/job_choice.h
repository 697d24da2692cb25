// cli/jobs/job_choice.h - which jobs does a verb act on? Those named, or those of a label selector.
#pragma once

#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "base/error.h"
#include "kube/api.h"

namespace nervex::cli {

struct JobChoice {
  std::vector<std::string> names;
  std::string selector;
  bool all = false;
};

// JOB..., -l and --all.
void add_job_choice(CLI::App& command, JobChoice& choice);

// The command line chooses nothing, or in two ways: the message to print; "": it is right. Pure.
std::string check_choice(const JobChoice& choice);

// "nervexjob.nervex.sensetime.com/dqn", as kubectl prints it.
std::string qualified_name(const std::string& job);

// Which jobs of a selection a verb acts on. A job that is named is always acted on.
enum class Scope { kAllJobs, kUnfinishedJobs };

// Calls `act` for each chosen job, as read from the API server, and reports failures; `what`:
// "suspend". Jobs that -l or --all chooses outside of `scope` are named on stderr.
// Those that are deleted meanwhile are skipped. Returns the exit code: 1 if one of them failed, or
// a named one is missing.
int for_each_job(kube::Api& api, const std::string& ns, const JobChoice& choice,
                 const std::string& what, Scope scope,
                 const std::function<Result<Nothing>(const Json& job)>& act);

// A merge patch of the job's spec. kInvalid: the job has ended. Another job of that name, created
// after `job` was read, is not changed.
Result<Json> patch_job(kube::Api& api, const Json& job, Json spec);

}  // namespace nervex::cli
