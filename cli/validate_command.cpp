#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "base/read_file.h"
#include "cli/commands.h"
#include "cli/manifests.h"
#include "cli/server_verdict.h"
#include "cli/verdict.h"
#include "job/aggregator_config.h"
#include "job/schema/job_schema.h"
#include "job/types.h"
#include "kube/access_review.h"
#include "kube/client.h"
#include "kube/config.h"
#include "schemas/schemas.h"

namespace nervex::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> kFormats{"text", "json", "sarif"};  // order of Format

struct Source {
  std::string file;     // or an unreadable folder
  std::string problem;  // why
};

bool is_manifest(const fs::path& file) {
  const std::string kind = file.extension().string();
  return kind == ".yaml" || kind == ".yml" || kind == ".json";
}

// Like kubectl, does not follow links to folders, which may form cycles.
void collect_files(const fs::path& folder, std::vector<Source>& sources) {
  std::error_code failed;
  std::vector<fs::path> entries;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    entries.push_back(at->path());
  }
  if (failed) sources.push_back({folder.string(), failed.message()});
  std::sort(entries.begin(), entries.end());
  for (const auto& entry : entries) {
    std::error_code unknown;
    if (fs::is_directory(fs::symlink_status(entry, unknown))) {
      collect_files(entry, sources);
    } else if (is_manifest(entry)) {
      // Tries a broken link, to report its error. Skips pipes, which might never answer.
      const fs::file_status status = fs::status(entry, unknown);
      if (fs::is_regular_file(status) || !fs::exists(status)) sources.push_back({entry, ""});
    }
  }
}

// The files in a folder and below that kubectl would read, sorted by name; or the file itself.
std::vector<Source> collect_sources(const std::string& place) {
  std::error_code failed;
  if (place == "-" || !fs::is_directory(place, failed)) return {{place, ""}};
  std::vector<Source> sources;
  collect_files(place, sources);
  if (sources.empty()) return {{place, "it contains no .yaml, .yml or .json file"}};
  return sources;
}

constexpr std::size_t kMaxBytes = 16 << 20;

Result<std::string> read_manifest_text(const std::string& file) {
  const Error too_large{Code::kInvalid, fmt::format("it is larger than {} MiB", kMaxBytes >> 20)};
  if (file == "-") {
    std::string text;
    char piece[1 << 16];
    std::size_t got = 0;
    while ((got = std::fread(piece, 1, sizeof piece, stdin)) > 0) {
      if (text.append(piece, got).size() > kMaxBytes) return too_large;
    }
    return text;
  }
  std::error_code unknown;
  const auto size = fs::file_size(file, unknown);
  if (!unknown && size > kMaxBytes) return too_large;
  auto text = read_file(file, kMaxBytes);
  if (text) return text;
  // The file's name is printed beside the error.
  Error error = text.error();
  const std::string prefix = fmt::format("cannot read {}: ", file);
  if (error.message.starts_with(prefix)) error.message.erase(0, prefix.size());
  return error;
}

using Schema = std::shared_ptr<const job::SchemaCheck>;

// By kind.
Result<std::map<std::string, Schema, std::less<>>> offline_schemas() {
  auto of_jobs = job::make_offline_job_check(schemas::nervex_job(), schemas::pod_template());
  if (!of_jobs) return of_jobs.error();
  auto of_configs =
      job::make_offline_config_check(schemas::aggregator_config(), schemas::pod_template());
  if (!of_configs) return of_configs.error();
  return std::map<std::string, Schema, std::less<>>{
      {std::string(job::kKind), *std::move(of_jobs)},
      {std::string(job::kAggregatorConfigKind), *std::move(of_configs)}};
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
        api_(client_),
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
  kube::AccessReviewApi api_;
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

void judge_file(const Source& source, const Judge& judge, Seen& seen) {
  const auto fail_with = [&](const std::string& why, int line = 1) {
    seen.verdicts.push_back({source.file, line, "", "", {}, why});
  };
  if (!source.problem.empty()) return fail_with(source.problem);
  const auto text = read_manifest_text(source.file);
  if (!text) return fail_with(text.error().message);
  int line = 1;
  const auto manifests = parse_manifests(*text, &line);
  if (!manifests) return fail_with(manifests.error().message, line);
  for (const auto& manifest : *manifests) judge_object(manifest, source.file, judge, seen);
}

}  // namespace

CLI::App* add_validate_command(CLI::App& app, ValidateFlags& flags) {
  CLI::App* validate = app.add_subcommand(
      "validate",
      fmt::format(
          "Checks NerveXJobs and AggregatorConfigs as the webhook does when they are created: "
          "prints all errors and, for valid objects, warnings. Reads files, folders with their "
          "subfolders, or standard input (-). Ignores objects of other kinds.\n"
          "Without --server no cluster is needed. Then rights, capacity, policies, and names of "
          "classes and accounts are not checked, and the fields of templates and volumes are those "
          "of Kubernetes {}.\n"
          "With --server the cluster checks each object in a dry run: of creating it or, if an "
          "object of that name exists, of the change that `kubectl apply` would make (`kubectl "
          "replace`, if it was never applied). It needs the rights get, create and update.\n"
          "Exit status: 0 all objects are valid, perhaps with warnings; 1 an object is invalid; 2 "
          "wrong usage, no object to check, or something could not be read or checked (the rest is "
          "checked).",
          schemas::kPodTemplateVersion));
  validate
      ->add_option("-f,--filename", flags.files,
                   "YAML or JSON file, folder (.yaml, .yml, .json), or -; can be repeated")
      ->allow_extra_args(false);
  validate->add_option("FILE", flags.more_files, "the same as -f FILE");
  validate
      ->add_option_function<std::string>(
          "-o,--output",
          [&flags](const std::string& text) {
            const auto at = std::find(kFormats.begin(), kFormats.end(), text);
            if (at == kFormats.end()) {
              throw CLI::ValidationError("--output", "must be text, json or sarif");
            }
            flags.format = static_cast<Format>(at - kFormats.begin());
          },
          "output format: text, json or sarif")
      ->type_name("FORMAT")
      ->default_str("text");
  validate->add_flag("--server", flags.server,
                     "check in the cluster, by a dry run of creating or changing each object");
  validate->add_option("-n,--namespace", flags.ns,
                       "namespace of objects that name none (default: that of the kubeconfig)");
  validate->add_option("--kubeconfig", flags.kubeconfig,
                       "kubeconfig file (default: $KUBECONFIG, else ~/.kube/config)");
  return validate;
}

int run_validate(const ValidateFlags& flags) {
  const auto fail_with = [](const std::string& what, const Error& error) {
    fail(what, error);
    return kExitUsage;
  };
  std::vector<std::string> places = flags.files;
  places.insert(places.end(), flags.more_files.begin(), flags.more_files.end());
  if (places.empty()) {
    return fail_with("validate",
                     Error{Code::kInvalid, "name a file, a folder, or - for standard input"});
  }
  std::optional<ServerJudge> server;
  Judge judge;
  if (flags.server) {  // the server has its own schemas
    const auto config = kube::load_user_config(flags.kubeconfig);
    if (!config) return fail_with("find the API server", config.error());
    server.emplace(*config, flags.ns.empty() ? config->ns : flags.ns);
    judge = [&server](const Json& object) { return (*server)(object); };
  } else {
    auto made = offline_judge();
    if (!made) return fail_with("validate", made.error());
    judge = *std::move(made);
  }
  Seen seen;
  for (const auto& place : places) {
    for (const auto& source : collect_sources(place)) judge_file(source, judge, seen);
  }
  const bool is_incomplete = has_unchecked(seen.verdicts);
  // A check without objects must not pass.
  const bool has_nothing = !seen.found && !is_incomplete;
  if (!has_nothing || flags.format != Format::kText) {
    std::fputs(to_text(seen.verdicts, flags.format).c_str(), stdout);
  }
  if (has_nothing) {
    return fail_with(fmt::format("validate {}", fmt::join(places, " ")),
                     Error{Code::kInvalid, nothing_to_judge(seen.kinds)});
  }
  // Other formats are for programs: the user must see it, too.
  for (const auto& verdict : seen.verdicts) {
    if (flags.format == Format::kText || verdict.unchecked.empty()) continue;
    fail("validate " + verdict_subject(verdict), Error{Code::kInvalid, verdict.unchecked});
  }
  if (is_incomplete) return kExitUsage;
  return has_errors(seen.verdicts) ? kExitFailure : kExitOk;
}

}  // namespace nervex::cli
