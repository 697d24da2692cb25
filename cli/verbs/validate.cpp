#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "base/program.h"
#include "cli/checked_api.h"
#include "cli/cluster_flags.h"
#include "cli/failure.h"
#include "cli/output.h"
#include "cli/validate/manifest_files.h"
#include "cli/validate/manifests.h"
#include "cli/validate/server_verdict.h"
#include "cli/validate/verdict.h"
#include "cli/verbs/verbs.h"
#include "job/aggregator_config.h"
#include "job/schema/job_schema.h"
#include "job/types.h"
#include "kube/access_review.h"
#include "kube/client.h"
#include "schemas/schemas.h"

namespace nervex::cli {
namespace {

constexpr std::array<std::string_view, 3> kFormats{"text", "json", "sarif"};  // order of Format

using Schema = std::shared_ptr<const job::SchemaCheck>;

// By kind.
Result<std::map<std::string, Schema, std::less<>>> offline_schemas() {
  auto of_jobs = job::make_offline_job_check(schemas::nervex_job(), schemas::pod_template());
  if (!of_jobs) return of_jobs.error();
  auto of_configs =
      job::make_offline_config_check(schemas::aggregator_config(), schemas::pod_template());
  if (!of_configs) return of_configs.error();
  auto of_queues = job::make_offline_plain_check(schemas::queue(), schemas::pod_template());
  if (!of_queues) return of_queues.error();
  return std::map<std::string, Schema, std::less<>>{
      {std::string(job::kKind), *std::move(of_jobs)},
      {std::string(job::kAggregatorConfigKind), *std::move(of_configs)},
      {"Queue", *std::move(of_queues)}};
}

std::string describe_name(const Json& object) {
  const std::string name = kube::string_at(object, {"metadata", "name"});
  return name.empty() ? kube::string_at(object, {"metadata", "generateName"}, "(no name)") : name;
}

using Judge = std::function<Result<std::vector<Finding>>(const Json& object)>;

Result<Judge> offline_judge() {
  auto schemas = offline_schemas();
  if (!schemas) return schemas.error();
  return Judge([schemas = *std::move(schemas)](const Json& object) {
    return Result(judge(object, *schemas.at(kube::string_at(object, {"kind"}))));
  });
}

// The cluster of a kubeconfig. Not asked again after it did not answer: each try may take a minute.
class ServerJudge {
 public:
  ServerJudge(const kube::ConnectionConfig& config, std::string ns)
      : client_(config, "nervexctl", [this](const auto& seen) { note_warnings(seen); }),
        reviews_(client_),
        api_(reviews_),
        ns_(std::move(ns)) {}

  Result<std::vector<Finding>> operator()(const Json& object) {
    if (silence_) return *silence_;
    warnings_.clear();
    auto findings = ask_server(api_, ns_, object);
    if (findings) {
      if (has_errors({{"", 1, "", "", *findings}})) return findings;
      for (auto& warning : parse_warning_lines(warnings_)) findings->push_back(std::move(warning));
      return findings;
    }
    const Code code = findings.error().code;
    if (code == Code::kTransient || code == Code::kUnauthorized) silence_ = findings.error();
    return findings;
  }

 private:
  void note_warnings(const kube::RequestSeen& seen) {
    for (auto& line : kube::parse_warnings(seen.warnings)) warnings_.push_back(std::move(line));
  }

  kube::Client client_;
  kube::AccessReviewApi reviews_;
  CheckedApi api_;
  const std::string ns_;
  std::vector<std::string> warnings_;  // of the object in question
  std::optional<Error> silence_;
};

struct Seen {
  std::vector<Verdict> verdicts;
  std::vector<std::string> kinds;  // of ignored objects
  bool found = false;              // an object to judge
};

void judge_object(const Manifest& manifest, const std::string& file, const Judge& judge,
                  Seen& seen) {
  const Json& object = manifest.object;
  const std::string kind = describe_kind(object);
  Verdict verdict{file, manifest.line, kind, describe_name(object), {}};
  if (is_judged(object)) {
    seen.found = true;
    auto findings = judge(object);
    if (findings) {
      verdict.findings = *std::move(findings);
    } else {
      verdict.unchecked = findings.error().message;
    }
  } else {
    seen.kinds.push_back(kind);
    const auto finding = judge_kind(object);
    if (!finding) return;
    seen.found = seen.found || finding->is_error;
    verdict.findings.push_back(*finding);
  }
  seen.verdicts.push_back(std::move(verdict));
}

void judge_file(const ManifestFile& source, const Judge& judge, Seen& seen) {
  const auto fail_with = [&](const std::string& why, int line = 1) {
    seen.verdicts.push_back({source.file, line, "", "", {}, why});
  };
  if (!source.problem.empty()) return fail_with(source.problem);
  const auto text = read_manifest_file(source.file);
  if (!text) return fail_with(text.error().message);
  int line = 1;
  const auto manifests = parse_manifests(*text, &line);
  if (!manifests) return fail_with(manifests.error().message, line);
  for (const auto& manifest : *manifests) judge_object(manifest, source.file, judge, seen);
}

struct ValidateFlags {
  std::vector<std::string> files;       // files, folders, "-"
  std::vector<std::string> more_files;  // named without -f
  Format format = Format::kText;
  bool server = false;
  ClusterFlags cluster;
};

void define_validate(CLI::App& command, ValidateFlags& flags) {
  command
      .add_option("-f,--filename", flags.files,
                  "YAML or JSON file, folder (.yaml, .yml, .json), or -; can be repeated")
      ->allow_extra_args(false)
      ->type_name("FILE");
  command.add_option("FILE", flags.more_files, "the same as -f FILE")->type_name("FILE");
  command
      .add_option_function<std::string>(
          "-o,--output",
          [&flags](const std::string& text) {
            const auto* at = std::find(kFormats.begin(), kFormats.end(), text);
            flags.format = static_cast<Format>(at - kFormats.begin());
          },
          "output format")
      ->check(CLI::IsMember(std::vector<std::string>(kFormats.begin(), kFormats.end())))
      ->type_name("FORMAT")
      ->default_str("text");
  command.add_flag("--server", flags.server,
                   "check in the cluster, by a dry run that creates or changes each object; "
                   "--namespace is for objects that name none");
  add_cluster_flags(command, flags.cluster);
}

// As fail(), for what leaves a file without a verdict.
int fail_to_check(const std::string& what, const Error& error) {
  fail(what, error);
  return kExitUsage;
}

void print_verdicts(const Seen& seen, Format format) {
  write_out(to_text(seen.verdicts, format));
  if (format == Format::kText) return;
  // Other formats are for programs: the user must see it, too.
  for (const auto& verdict : seen.verdicts) {
    if (verdict.unchecked.empty()) continue;
    fail("validate " + verdict_subject(verdict), Error{Code::kInvalid, verdict.unchecked});
  }
}

int judge_places(const std::vector<std::string>& places, const Judge& judge, Format format) {
  Seen seen;
  for (const auto& place : places) {
    for (const auto& source : collect_manifest_files(place)) judge_file(source, judge, seen);
  }
  const bool is_incomplete = has_unchecked(seen.verdicts);
  // A check without objects must not pass.
  const bool has_nothing = !seen.found && !is_incomplete;
  if (!has_nothing || format != Format::kText) print_verdicts(seen, format);
  if (has_nothing) {
    return fail_to_check(fmt::format("validate {}", fmt::join(places, " ")),
                         Error{Code::kInvalid, nothing_to_judge(seen.kinds)});
  }
  if (is_incomplete) return kExitUsage;
  return has_errors(seen.verdicts) ? kExitFailure : kExitOk;
}

int run_validate(const ValidateFlags& flags) {
  std::vector<std::string> places = flags.files;
  places.insert(places.end(), flags.more_files.begin(), flags.more_files.end());
  if (places.empty()) {
    return fail_to_check("validate",
                         {Code::kInvalid, "name a file, a folder, or - for standard input"});
  }
  if (!flags.server) {
    const auto judge = offline_judge();
    return judge ? judge_places(places, *judge, flags.format)
                 : fail_to_check("validate", judge.error());
  }
  const auto config = load_connection(flags.cluster);  // the server has its own schemas
  if (!config) return fail_to_check("find the API server", config.error());
  ServerJudge server(*config, config->ns);
  return judge_places(
      places, [&server](const Json& object) { return server(object); }, flags.format);
}

}  // namespace

void add_validate(Verbs& verbs) {
  verbs.add<ValidateFlags>(
      {.name = "validate",
       .what = fmt::format(
           "Checks job files, without a cluster or with one (--server). The checks are those of "
           "the "
           "webhook for NerveXJobs and AggregatorConfigs, and those of the schema and the extender "
           "for Queues; other kinds are ignored. Prints all "
           "errors, and warnings of valid objects. Reads files, folders with their subfolders, or "
           "standard input (-).\n"
           "Without --server the command does not check rights, capacity, policies, and names of "
           "classes and accounts; the fields of pod templates and volumes are those of Kubernetes "
           "{}.\n"
           "With --server the cluster checks each object in a dry run: of creating it or, if an "
           "object of that name exists, of the change that `kubectl apply` would make (`kubectl "
           "replace`, if it was never applied). It needs the rights get, create and update.",
           schemas::kPodTemplateVersion),
       .examples = {"validate -f job.yaml", "validate -f job.yaml --server -o json"},
       .exit_codes = "0 all objects are valid, perhaps with warnings; 1 an object is invalid; 2 "
                     "wrong usage, no object to check, or something could not be read or checked "
                     "(the rest is checked)"},
      define_validate, run_validate);
}

}  // namespace nervex::cli
