
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/program.h"
#include "cli/cluster_flags.h"
#include "cli/failure.h"
#include "cli/interrupt.h"
#include "cli/jobs/job_choice.h"
#include "cli/jobs/job_goal.h"
#include "cli/logs/follow_job.h"
#include "cli/output.h"
#include "cli/submit/job_file.h"
#include "cli/text.h"
#include "cli/validate/manifests.h"
#include "cli/validate/verdict.h"
#include "cli/verbs/verbs.h"
#include "job/schema/job_schema.h"
#include "schemas/schemas.h"

namespace nervex::cli {
namespace {

struct SubmitFlags {
  std::string file;
  std::vector<std::string> assignments;
  bool wait = false;
  bool follow = false;
  bool cancel_on_interrupt = false;
  bool dry_run = false;
  Output output = Output::kText;
  ClusterFlags cluster;
};

void define_submit(CLI::App& command, SubmitFlags& flags) {
  auto* file = command
                   .add_option("-f,--filename", flags.file,
                               "YAML or JSON file with one NerveXJob; -: standard input")
                   ->type_name("FILE");
  command.add_option("FILE", flags.file, "the same as -f FILE")->excludes(file)->type_name("FILE");
  command
      .add_option("--set", flags.assignments,
                  "change a field of the file: name=dqn-2, spec.learner.replicas=4; error messages "
                  "name fields in this form; can be repeated")
      ->allow_extra_args(false)
      ->type_name("PATH=VALUE");
  command.add_flag("--wait", flags.wait, "wait until the job has ended, and say why it waits");
  command.add_flag("--follow", flags.follow, "as --wait, and show the coordinator's log");
  command.add_flag("--cancel-on-interrupt", flags.cancel_on_interrupt, "delete the job on Ctrl-C");
  command.add_flag("--dry-run", flags.dry_run,
                   "let the API server and the webhook check the job; nothing is created");
  add_output_flag(command, flags.output,
                  {Output::kText, Output::kName, Output::kJson, Output::kYaml});
  add_cluster_flags(command, flags.cluster);
}

// Prints what the webhook would refuse. False: there is something.
bool is_valid(const Json& job, const std::string& file) {
  const auto schema = job::make_offline_job_check(schemas::nervex_job(), schemas::pod_template());
  if (!schema) return true;  // the API server checks it, too
  std::vector<Finding> findings = judge(job, **schema);
  // The API server sends its own warnings when the job is created.
  std::erase_if(findings, [](const Finding& finding) { return !finding.is_error; });
  for (const auto& finding : findings) {
    note(fmt::format("{}: {}{}{}", file, finding.field, finding.field.empty() ? "" : ": ",
                     finding.message));
  }
  return findings.empty();
}

int report_interrupt(kube::Api& api, const std::string& ns, const SubmitFlags& flags,
                     const std::string& name, const std::string& uid) {
  if (!flags.cancel_on_interrupt) {
    note(
        fmt::format("{0} runs on. Follow it: kubectl nervex logs {0} -f -n {1}. Stop it: kubectl "
                    "nervex delete {0} -n {1}",
                    name, ns));
    return kExitInterrupted;
  }
  const auto deleted = kube::delete_object(api, kube::kNervexJobs, ns, name, uid);
  if (!deleted) {
    fail("delete " + ns + "/" + name, deleted.error());
  } else {
    note(name + " deleted");
  }
  return kExitInterrupted;
}

int follow_to_end(kube::Api& api, const std::string& ns, const SubmitFlags& flags, const Json& job,
                  const Interrupt& interrupt) {
  const std::string name = kube::string_at(job, {"metadata", "name"});
  LogOptions options;
  options.follow = true;
  const auto choice =
      flags.follow ? std::optional(PodChoice{job::Role::kCoordinator, std::nullopt}) : std::nullopt;
  const auto end = follow_job(api, ns, name, choice, options, interrupt);
  if (!end) return fail("follow " + ns + "/" + name, end.error());
  if (interrupt.is_interrupted()) {
    return report_interrupt(api, ns, flags, name, kube::string_at(job, {"metadata", "uid"}));
  }
  if (end->is_deleted || !end->job) {
    note(name + " was deleted");
    return kExitFailure;
  }
  note(fmt::format("{} {}", name, describe_end(*end->job)));
  return end->job->status.phase == job::Phase::kSucceeded ? kExitOk : kExitFailure;
}

// What the command does after the job was created, and how to end it without ending the job.
std::string describe_next(const SubmitFlags& flags) {
  if (!flags.wait && !flags.follow) return "";
  return fmt::format(
      "; {}; Ctrl-C {}", flags.follow ? "following it to its end" : "waiting for its end",
      flags.cancel_on_interrupt ? "deletes it" : "ends this command, and the job runs on");
}

// The job as the API server has stored it, or in words.
std::string describe_created(const SubmitFlags& flags, const Json& job) {
  const std::string name = printable(qualified_name(kube::string_at(job, {"metadata", "name"})));
  if (flags.output == Output::kName) return name + "\n";
  if (flags.output != Output::kText) return serialize(job, flags.output);
  return fmt::format("{} created{}{}\n", name, flags.dry_run ? " (dry run)" : "",
                     describe_next(flags));
}

int submit_job(kube::Api& api, const std::string& ns, const SubmitFlags& flags, const Json& job) {
  const Interrupt interrupt;
  const auto created = kube::create_object(api, kube::kNervexJobs, ns, job,
                                           flags.dry_run ? kube::DryRun::kYes : kube::DryRun::kNo);
  if (!created) {
    const std::string name = kube::string_at(job, {"metadata", "name"});
    return fail("create the job " + (name.empty() ? "" : name + " ") + "in " + ns, created.error());
  }
  write_out(describe_created(flags, *created));
  if (!flags.wait && !flags.follow) return kExitOk;
  return follow_to_end(api, ns, flags, *created, interrupt);
}

int run_submit(const SubmitFlags& flags) {
  if (flags.file.empty()) {
    note("name the job's file, or - for standard input: kubectl nervex submit -f job.yaml");
    return kExitUsage;
  }
  if (flags.dry_run && (flags.wait || flags.follow)) {
    note("--dry-run creates no job: leave --wait and --follow out");
    return kExitUsage;
  }
  const auto job = read_job_file(flags.file, flags.assignments);
  if (!job) return fail(flags.file, job.error());
  if (!is_valid(*job, flags.file)) {
    note("nothing was created");
    return kExitFailure;
  }
  return with_cluster(flags.cluster, [&](kube::Api& api, const std::string& configured) {
    const std::string ns = choose_namespace(*job, flags.cluster, configured);
    if (ns.empty()) {
      note(describe_two_namespaces(flags.file, flags.cluster));
      return kExitUsage;
    }
    return submit_job(api, ns, flags, *job);
  });
}

}  // namespace

void add_submit(Verbs& verbs) {
  verbs.add<SubmitFlags>(
      {.name = "submit",
       .what =
           "Creates a job from a file. Checks the file first, as `validate` does. With --wait or "
           "--follow the command says why the job waits, and ends with the job's success or "
           "failure. Ctrl-C ends the command; the job runs on. -o json and -o yaml print the job "
           "as "
           "the API server stores it, with all defaults.",
       .examples = {"submit -f job.yaml",
                    "submit -f job.yaml --set name=dqn-2 --set "
                    "spec.learner.replicas=2",
                    "submit -f job.yaml --follow", "submit -f job.yaml --dry-run -o yaml"},
       .exit_codes =
           "0 the job was created (with --wait or --follow: succeeded; with --dry-run: would be "
           "created); 1 it was refused, "
           "failed or was deleted; 2 wrong usage; 130 interrupted",
       .more =
           "A small file:\n"
           "  apiVersion: nervex.sensetime.com/v1alpha1\n"
           "  kind: NerveXJob\n"
           "  metadata: {name: dqn}\n"
           "  spec:\n"
           "    coordinator:                # the job's main program; ends the job when it ends\n"
           "      template:                 # a pod template, as in a Deployment\n"
           "        spec:\n"
           "          containers:\n"
           "          - name: nervex-container\n"
           "            image: my-image:1\n"
           "            command: [python3, train.py]\n"
           "            resources: {requests: {cpu: 1, memory: 2Gi}}\n"
           "    learner:                    # workers; optional, as is collector\n"
           "      replicas: 2               # start together with the coordinator, or not at all\n"
           "      template:\n"
           "        spec:\n"
           "          containers:\n"
           "          - name: nervex-container\n"
           "            image: my-image:1\n"
           "            resources: {limits: {nvidia.com/gpu: 1}}"},
      define_submit, run_submit);
}

}  // namespace nervex::cli
