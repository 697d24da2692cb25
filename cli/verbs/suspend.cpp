// `suspend` and `resume`: spec.suspend of jobs.

#include <fmt/format.h>

#include "base/program.h"
#include "cli/cluster_flags.h"
#include "cli/failure.h"
#include "cli/jobs/job_choice.h"
#include "cli/output.h"
#include "cli/text.h"
#include "cli/verbs/verbs.h"

namespace nervex::cli {
namespace {

constexpr const char* kExitCodes =
    "0 success (jobs that -l or --all selects and that have ended are skipped), 1 a named job is "
    "missing or has ended, or a job could not be changed, 2 wrong usage";

struct SuspendFlags {
  JobChoice choice;
  ClusterFlags cluster;
};

void define_suspend(CLI::App& command, SuspendFlags& flags) {
  add_job_choice(command, flags.choice);
  add_cluster_flags(command, flags.cluster);
}

Result<Nothing> set_suspend(kube::Api& api, const Json& job, bool suspend) {
  const std::string name = kube::string_at(job, {"metadata", "name"});
  const bool is_same = kube::bool_at(job, {"spec", "suspend"}) == suspend;
  if (const auto patched = patch_job(api, job, {{"suspend", suspend}}); !patched) {
    return patched.error();
  }
  write_out(fmt::format("{} {}{}\n", printable(qualified_name(name)),
                        suspend ? "suspended" : "resumed", is_same ? " (unchanged)" : ""));
  return ok();
}

int run_with(const SuspendFlags& flags, bool suspend) {
  if (const std::string wrong = check_choice(flags.choice); !wrong.empty()) {
    note(wrong);
    return kExitUsage;
  }
  return with_cluster(flags.cluster, [&](kube::Api& api, const std::string& ns) {
    return for_each_job(api, ns, flags.choice, suspend ? "suspend" : "resume",
                        Scope::kUnfinishedJobs,
                        [&](const Json& job) { return set_suspend(api, job, suspend); });
  });
}

int run_suspend(const SuspendFlags& flags) { return run_with(flags, true); }
int run_resume(const SuspendFlags& flags) { return run_with(flags, false); }

}  // namespace

void add_suspend(Verbs& verbs) {
  verbs.add<SuspendFlags>(
      {.name = "suspend",
       .what =
           "Stops jobs without deleting them. Their pods are deleted, and their capacity becomes "
           "free. `resume` starts them again.",
       .examples = {"suspend dqn", "suspend -l team=vision"},
       .exit_codes = kExitCodes},
      define_suspend, run_suspend);
  verbs.add<SuspendFlags>(
      {.name = "resume",
       .what = "Starts suspended jobs again. They queue at the end, and run from the beginning.",
       .examples = {"resume dqn", "resume --all"},
       .exit_codes = kExitCodes},
      define_suspend, run_resume);
}

}  // namespace nervex::cli
