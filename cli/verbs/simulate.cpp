// `simulate`: creates a Simulation, prints its answer and deletes it.

#include <optional>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/duration.h"
#include "base/program.h"
#include "cli/cluster_flags.h"
#include "cli/failure.h"
#include "cli/follow.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/simulate/answer_text.h"
#include "cli/simulate/question.h"
#include "cli/submit/job_file.h"
#include "cli/verbs/verbs.h"
#include "cli/wait_flags.h"
#include "job/types.h"

namespace nervex::cli {
namespace {

constexpr std::size_t kMostNamePrefix = 40;

struct SimulateFlags {
  std::string file;
  std::vector<std::string> assignments;
  std::string growth;
  std::string role = "collector";
  std::vector<std::string> nodes;
  Output output = Output::kText;
  std::chrono::milliseconds timeout{30'000};
  ClusterFlags cluster;
};

void define_simulate(CLI::App& command, SimulateFlags& flags) {
  auto* file = command
                   .add_option("-f,--filename", flags.file,
                               "YAML or JSON file with one NerveXJob; -: standard input")
                   ->type_name("FILE");
  auto* same = command.add_option("FILE", flags.file, "the same as -f FILE")
                   ->excludes(file)
                   ->type_name("FILE");
  command
      .add_option("--set", flags.assignments,
                  "change a field of the file, as `submit` does; can be repeated")
      ->allow_extra_args(false)
      ->type_name("PATH=VALUE");
  auto* growth = command
                     .add_option("--grow", flags.growth,
                                 "ask about more replicas of a job that waits or runs: dqn=4")
                     ->excludes(file)
                     ->excludes(same)
                     ->type_name("JOB=NUMBER");
  command.add_option("--role", flags.role, "role of the replicas of --grow")
      ->check(CLI::IsMember({"collector", "learner"}))
      ->needs(growth)
      ->capture_default_str();
  command
      .add_option(
          "--nodes", flags.nodes,
          "pretend that there are other nodes: +8:CLASS adds eight empty nodes like those of "
          "a node class (a GPU model), +8:NODE eight like a node, -NODE leaves a node out; "
          "can be repeated")
      ->allow_extra_args(false)
      ->type_name("CHANGE");
  add_output_flag(command, flags.output, {Output::kText, Output::kJson, Output::kYaml});
  add_timeout_flag(command, flags.timeout);
  add_cluster_flags(command, flags.cluster);
}

struct Question {
  Json spec = Json::object();
  std::string subject = "what waits";  // what is asked about, in words
};

// What the flags alone say; kInvalid: they are wrong.
Result<Question> read_flags(const SimulateFlags& flags) {
  Question question;
  auto nodes = parse_node_changes(flags.nodes);
  if (!nodes) return nodes.error();
  if (!nodes->is_null()) question.spec["nodes"] = *std::move(nodes);
  if (flags.growth.empty()) return question;
  auto growth = parse_growth(flags.growth);
  if (!growth) return growth.error();
  const auto replicas = kube::int_at(*growth, {"replicas"});
  question.subject = fmt::format("{} more {}{} of {}", replicas, flags.role,
                                 replicas == 1 ? "" : "s", kube::string_at(*growth, {"job"}));
  (*growth)["role"] = flags.role;
  question.spec["grow"] = *std::move(growth);
  return question;
}

// As the webhook stores it: a dry run under a name that no job has.
Result<Json> fill_in(kube::Api& api, const std::string& ns, Json job) {
  const std::string name = kube::string_at(job, {"metadata", "name"}, "job");
  Json metadata = {{"generateName", name.substr(0, kMostNamePrefix) + "-"}, {"namespace", ns}};
  for (const char* kept : {"labels", "annotations"}) {
    if (const Json* value = kube::find(job, {"metadata", kept})) metadata[kept] = *value;
  }
  job["metadata"] = std::move(metadata);
  const auto stored = kube::create_object(api, kube::kNervexJobs, ns, job, kube::DryRun::kYes);
  if (!stored) return stored.error();
  const Json* spec = kube::find(*stored, {"spec"});
  Json filled = spec != nullptr && spec->is_object() ? *spec : Json::object();
  filled.erase("requests");
  return filled;
}

// Until it is answered; null: it was not, because of a timeout, Ctrl-C or a deletion.
Result<Json> wait_for_answer(kube::Api& api, const std::string& ns, const std::string& name,
                             const Interrupt& interrupt) {
  Json status;
  FollowCalls calls;
  calls.on_object = [&](const std::string&, const Json* object) {
    if (object == nullptr) return false;
    const bool is_answered = !kube::string_at(*object, {"status", "completionTime"}).empty();
    if (is_answered) status = *kube::find(*object, {"status"});
    return !is_answered;
  };
  calls.retries_first_list = true;
  const auto ended =
      follow(api, object_path(kube::kSimulations, ns, name), calls, interrupt.token());
  if (!ended) return ended.error();
  return status;
}

int print_answer(const Question& question, const Json& status, const SimulateFlags& flags) {
  if (flags.output == Output::kText) {
    write_out(describe_answer(question.subject, question.spec, status));
  } else {
    write_out(
        serialize(versioned("SimulationView", {{"subject", question.subject}, {"answer", status}}),
                  flags.output));
  }
  const std::string verdict = kube::string_at(status, {"verdict"});
  return verdict == "Starts" || verdict == "Preempts" ? kExitOk : kExitFailure;
}

// The extender deletes what is left here.
void remove(kube::Api& api, const std::string& ns, const Json& simulation) {
  const std::string name = kube::string_at(simulation, {"metadata", "name"});
  const auto deleted = kube::delete_object(api, kube::kSimulations, ns, name,
                                           kube::string_at(simulation, {"metadata", "uid"}));
  if (!deleted) fail("delete the Simulation " + ns + "/" + name, deleted.error());
}

int ask(kube::Api& api, const std::string& ns, const SimulateFlags& flags,
        const Question& question) {
  const Interrupt interrupt(to_limit(flags.timeout));
  const Json object = {{"apiVersion", job::kApiVersion},
                       {"kind", "Simulation"},
                       {"metadata", {{"generateName", "simulate-"}, {"namespace", ns}}},
                       {"spec", question.spec}};
  const auto created = kube::create_object(api, kube::kSimulations, ns, object);
  if (!created) return fail("create a Simulation in " + ns, created.error());
  const std::string name = kube::string_at(*created, {"metadata", "name"});
  const auto status = wait_for_answer(api, ns, name, interrupt);
  remove(api, ns, *created);
  if (!status) return fail("read the Simulation " + ns + "/" + name, status.error());
  if (!status->is_null()) return print_answer(question, *status, flags);
  if (interrupt.is_interrupted()) return kExitInterrupted;
  if (!interrupt.is_timed_out()) {
    note(fmt::format("the Simulation {}/{} was deleted before it was answered", ns, name));
    return kExitFailure;
  }
  note(fmt::format("no answer after {}: is nervex-extender running? kubectl nervex doctor",
                   format_duration(flags.timeout)));
  return kExitFailure;
}

int run_simulate(const SimulateFlags& flags) {
  if (flags.file.empty() && flags.growth.empty() && flags.nodes.empty()) {
    note("name a job with -f FILE, more replicas with --grow JOB=NUMBER, or --nodes");
    return kExitUsage;
  }
  if (flags.file.empty() && !flags.assignments.empty()) {
    note("--set needs -f FILE");
    return kExitUsage;
  }
  auto question = read_flags(flags);
  if (!question) {
    note(question.error().message);
    return kExitUsage;
  }
  std::optional<Json> job;
  if (!flags.file.empty()) {
    auto read = read_job_file(flags.file, flags.assignments);
    if (!read) return fail(flags.file, read.error());
    question->subject = kube::string_at(*read, {"metadata", "name"}, "the job");
    job = *std::move(read);
  }
  const auto work = [&](kube::Api& api, const std::string& configured) {
    const std::string ns = job ? choose_namespace(*job, flags.cluster, configured) : configured;
    if (ns.empty()) {
      note(describe_two_namespaces(flags.file, flags.cluster));
      return kExitUsage;
    }
    if (job) {
      auto spec = fill_in(api, ns, *std::move(job));
      if (!spec) return fail(fmt::format("check {} in {}", question->subject, ns), spec.error());
      question->spec["job"] = *std::move(spec);
    }
    return ask(api, ns, flags, *question);
  };
  return with_cluster(flags.cluster, work, to_limit(flags.timeout));
}

}  // namespace

void add_simulate(Verbs& verbs) {
  verbs.add<SimulateFlags>(
      {.name = "simulate",
       .what =
           "Asks whether a job or more replicas would start now. The answer says on which nodes, "
           "and with how many replicas at most; with --nodes, what other nodes would change. If it "
           "would wait, the answer says until when at the latest, as far as the time limits of "
           "running jobs tell, and if no other job takes their nodes before. "
           "Nothing is created or reserved.",
       .examples = {"simulate -f job.yaml", "simulate -f job.yaml --set spec.collector.replicas=16",
                    "simulate --grow dqn=4"},
       .exit_codes = "0 it would start now, or after those that it preempts (of --nodes alone: a "
                     "waiting job would), 1 it would not, "
                     "or there is no answer, 2 wrong usage, 130 interrupted"},
      define_simulate, run_simulate);
}

}  // namespace nervex::cli
