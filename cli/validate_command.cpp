#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>

#include <fmt/format.h>
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

// The files of a folder and below that kubectl would read, in the order of their names.
Result<std::vector<std::string>> files_of(const std::string& place) {
  std::error_code failed;
  if (place == "-" || !fs::is_directory(place, failed)) return std::vector<std::string>{place};
  std::vector<std::string> files;
  for (fs::recursive_directory_iterator at(place, failed), end; !failed && at != end;
       at.increment(failed)) {
    const std::string kind = at->path().extension().string();
    if (at->is_regular_file() && (kind == ".yaml" || kind == ".yml" || kind == ".json")) {
      files.push_back(at->path().string());
    }
  }
  if (failed) return Error{Code::kInvalid, failed.message()};
  std::sort(files.begin(), files.end());
  return files;
}

Result<std::string> text_of(const std::string& file) {
  if (file != "-") return read_file(file);
  return std::string(std::istreambuf_iterator<char>(std::cin), {});
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

std::string name_of(const Json& object) {
  const std::string name = kube::string_at(object, {"metadata", "name"});
  return name.empty() ? kube::string_at(object, {"metadata", "generateName"}, "(no name)") : name;
}

}  // namespace

CLI::App* add_validate_command(CLI::App& app, ValidateFlags& flags) {
  CLI::App* validate = app.add_subcommand(
      "validate",
      fmt::format(
          "Says what the webhook would say about the NerveXJobs and AggregatorConfigs of a file, "
          "of "
          "a folder, or of the standard input (-), without a cluster or, with --server, by a dry "
          "run. Objects of other kinds are passed over. Without a cluster the fields of templates "
          "and volumes are those of Kubernetes {}.\n"
          "Exit status: 0 all are valid, 1 one is not, 2 wrong usage, not readable, nothing to "
          "check, or no answer.",
          schemas::kPodTemplateVersion));
  validate->add_option("-f,--filename", flags.files, "file, folder or -; repeatable")
      ->required()
      ->allow_extra_args(false);
  validate->add_option("-o,--output", flags.format, "text, json or sarif")
      ->transform(CLI::CheckedTransformer(std::map<std::string, Format>{
          {"text", Format::kText}, {"json", Format::kJson}, {"sarif", Format::kSarif}}))
      ->type_name("FORMAT")
      ->default_str("text");
  validate->add_flag("--server", flags.server,
                     "ask the cluster, by a dry run of creating each object, or of changing it if "
                     "there is one of that name");
  validate->add_option("-n,--namespace", flags.ns,
                       "for objects that name none (default: that of the kubeconfig)");
  validate->add_option("--kubeconfig", flags.kubeconfig,
                       "kubeconfig file (default: $KUBECONFIG, else ~/.kube/config)");
  return validate;
}

int run_validate(const ValidateFlags& flags) {
  const auto fail_with = [](const std::string& what, const Error& error) {
    fail(what, error);
    return kExitUsage;
  };
  std::optional<kube::Client> client;
  std::optional<kube::AccessReviewApi> api;
  std::string ns = flags.ns;
  if (flags.server) {
    const auto config = kube::load_user_config(flags.kubeconfig);
    if (!config) return fail_with("find the API server", config.error());
    api.emplace(client.emplace(*config, "nervexctl"));
    if (ns.empty()) ns = config->ns;
  }
  std::map<std::string, Schema, std::less<>> schemas;  // the server has its own
  if (!flags.server) {
    auto made = offline_schemas();
    if (!made) return fail_with("validate", made.error());
    schemas = *std::move(made);
  }
  std::vector<Verdict> verdicts;
  std::vector<std::string> kinds;  // of what is passed over
  bool found = false;
  for (const auto& place : flags.files) {
    const auto files = files_of(place);
    if (!files) return fail_with("read " + place, files.error());
    for (const auto& file : *files) {
      const auto text = text_of(file);
      if (!text) return fail_with("read " + file, text.error());
      const auto manifests = parse_manifests(*text);
      if (!manifests) return fail_with("read " + file, manifests.error());
      for (const auto& [object, line] : *manifests) {
        const std::string kind = kube::string_at(object, {"kind"}, "an object without a kind");
        if (!is_judged(object)) {
          kinds.push_back(kind);
          if (const auto finding = judge_kind(object)) {
            found = found || finding->is_error;
            verdicts.push_back({file, line, kind, name_of(object), {*finding}});
          }
          continue;
        }
        found = true;
        auto findings =
            flags.server ? ask_server(*api, ns, object) : Result(judge(object, *schemas.at(kind)));
        if (!findings) return fail_with("ask about " + name_of(object), findings.error());
        verdicts.push_back({file, line, kind, name_of(object), *std::move(findings)});
      }
    }
  }
  // A check that looked at nothing must not pass.
  if (!found) {
    return fail_with("validate", Error{Code::kInvalid, nothing_to_judge(kinds)});
  }
  std::fputs(to_text(verdicts, flags.format).c_str(), stdout);
  return has_errors(verdicts) ? kExitFailure : kExitOk;
}

}  // namespace nervex::cli
