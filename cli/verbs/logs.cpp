#include <algorithm>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/program.h"
#include "cli/cluster_flags.h"
#include "cli/failure.h"
#include "cli/interrupt.h"
#include "cli/jobs/explain.h"
#include "cli/jobs/gather.h"
#include "cli/logs/follow_job.h"
#include "cli/logs/pod_choice.h"
#include "cli/logs/read_log.h"
#include "cli/verbs/verbs.h"

namespace nervex::cli {
namespace {

struct LogsFlags {
  std::string job;
  std::string pods;  // ROLE[/ORDINAL]
  bool all = false;
  int tail = -1;
  LogOptions options;
  ClusterFlags cluster;
};

void define_logs(CLI::App& command, LogsFlags& flags) {
  command.add_option("job", flags.job, "name of the NerveXJob")->required()->type_name("JOB");
  command
      .add_option("pods", flags.pods,
                  "all pods of a role, or one of them: learner, learner/0 (default: coordinator)")
      ->check([](const std::string& text) {
        const auto choice = parse_pod_choice(text);
        return choice ? std::string() : choice.error().message;
      })
      ->type_name("ROLE[/ORDINAL]");
  auto* all = command.add_flag("--all", flags.all, "show the logs of all pods");
  auto* follow =
      command.add_flag("-f,--follow", flags.options.follow, "follow until the job has ended");
  command
      .add_flag("--previous", flags.options.previous,
                "show the log of the container before its last restart")
      ->excludes(follow);
  command.add_option("--tail", flags.tail, "number of last lines of each log; -1: all")
      ->type_name("LINES")
      ->check(CLI::Range(-1, 1'000'000'000))
      ->capture_default_str();
  command
      .add_option("-c,--container", flags.options.container,
                  "container (default: the pod's main one)")
      ->type_name("NAME");
  add_cluster_flags(command, flags.cluster);
  command.get_option("pods")->excludes(all);
}

// Prints the logs as they are now. The exit code is 1 if one could not be read.
int print_logs(kube::Api& api, const view::JobSnapshot& seen, const PodChoice& choice,
               const LogOptions& options) {
  std::vector<kube::Pod> pods;
  std::copy_if(seen.pods.begin(), seen.pods.end(), std::back_inserter(pods),
               [&](const kube::Pod& pod) { return is_chosen(choice, pod); });
  const std::string job = seen.job.meta.name;
  if (pods.empty()) {
    note(fmt::format("the job has no such pod now: {} {}", job, state_line(view::summarize(seen))));
    if (!job::is_final(seen.job.status.phase)) note("with -f the log is shown when there is one");
    return kExitFailure;
  }
  LogPrinter printer(pods.size() > 1);
  int exit_code = kExitOk;
  for (const auto& pod : pods) {
    const auto end =
        read_log(api, pod, options, [&](std::string_view line) { printer.print(pod, line); }, {});
    if (!end) exit_code = fail("read the log of " + pod.meta.name, end.error());
    if (const auto problem = view::find_problem(pod)) printer.print_end(pod, describe(*problem));
  }
  return exit_code;
}

int run_logs(const LogsFlags& flags) {
  const PodChoice choice = flags.all ? PodChoice{} : *parse_pod_choice(flags.pods);
  LogOptions options = flags.options;
  if (flags.tail >= 0) options.tail = flags.tail;
  return with_cluster(flags.cluster, [&](kube::Api& api, const std::string& ns) {
    const std::string what = "show logs of " + ns + "/" + flags.job;
    std::vector<std::string> left_out;
    const auto seen = gather(api, ns, flags.job, SystemClock().now(), left_out);
    if (!seen) return fail(what, seen.error());
    for (const auto& missing : left_out) note(missing);
    const bool is_over = job::is_final(seen->job.status.phase);
    if (!options.follow || is_over) {
      LogOptions once = options;
      once.follow = false;
      return print_logs(api, *seen, choice, once);
    }
    const Interrupt interrupt;
    const auto end = follow_job(api, ns, flags.job, choice, options, interrupt);
    if (!end) return fail(what, end.error());
    return interrupt.is_interrupted() ? kExitInterrupted : kExitOk;
  });
}

}  // namespace

void add_logs(Verbs& verbs) {
  verbs.add<LogsFlags>(
      {.name = "logs",
       .what =
           "Shows the log of the coordinator, or of other pods of a job. With -f the command says "
           "first why the job waits, follows over lost connections, restarts and retries, and "
           "says at the end of each log why the pod ended. Lines of several pods begin with "
           "role and ordinal.",
       .examples = {"logs dqn", "logs dqn -f", "logs dqn learner/0 --previous",
                    "logs dqn --all --tail 5"},
       .exit_codes =
           "0 success, 1 the job or pod does not exist or a log could not be read, 2 wrong "
           "usage, 130 interrupted"},
      define_logs, run_logs);
}

}  // namespace nervex::cli
