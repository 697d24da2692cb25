#include "cli/verdict.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "cli/text.h"
#include "job/schema/job_schema.h"
#include "job/template/rules.h"
#include "job/types.h"
#include "schemas/schemas.h"

namespace nervex::cli {
namespace {

std::string line_of(const Finding& finding) {
  return finding.field.empty() ? finding.message
                               : fmt::format("{}: {}", finding.field, finding.message);
}

std::string as_text(const std::vector<Verdict>& verdicts) {
  std::string text;
  std::size_t jobs = 0;
  std::size_t wrong = 0;
  for (const auto& verdict : verdicts) {
    bool refused = false;
    for (const auto& finding : verdict.findings) {
      refused = refused || finding.is_error;
      text += printable(fmt::format("{}:{}: {}: {}{}", verdict.file, verdict.line, verdict.name,
                                    finding.is_error ? "" : "warning: ", line_of(finding)));
      text += '\n';
    }
    if (!verdict.is_job) continue;
    ++jobs;
    wrong += refused ? 1 : 0;
  }
  return text +
         fmt::format("{} of {} jobs {} valid\n", jobs - wrong, jobs, jobs == 1 ? "is" : "are");
}

Json as_json(const std::vector<Verdict>& verdicts) {
  Json list = Json::array();
  for (const auto& verdict : verdicts) {
    Json findings = Json::array();
    for (const auto& finding : verdict.findings) {
      findings.push_back({{"severity", finding.is_error ? "error" : "warning"},
                          {"field", finding.field},
                          {"message", finding.message}});
    }
    list.push_back({{"file", verdict.file},
                    {"line", verdict.line},
                    {"name", verdict.name},
                    {"valid", !has_errors({verdict})},
                    {"findings", std::move(findings)}});
  }
  return list;
}

// https://docs.oasis-open.org/sarif/sarif/v2.1.0
Json as_sarif(const std::vector<Verdict>& verdicts) {
  Json results = Json::array();
  for (const auto& verdict : verdicts) {
    for (const auto& finding : verdict.findings) {
      Json place = {{"physicalLocation",
                     {{"artifactLocation", {{"uri", verdict.file}}},
                      {"region", {{"startLine", verdict.line}}}}}};
      if (!finding.field.empty()) {
        place["logicalLocations"] =
            Json::array({{{"fullyQualifiedName", verdict.name + "." + finding.field}}});
      }
      results.push_back({{"ruleId", finding.is_error ? "invalid-job" : "doubtful-job"},
                         {"level", finding.is_error ? "error" : "warning"},
                         {"message", {{"text", verdict.name + ": " + line_of(finding)}}},
                         {"locations", Json::array({std::move(place)})}});
    }
  }
  const Json driver = {{"name", "nervexctl"},
                       {"rules", Json::array({{{"id", "invalid-job"}}, {{"id", "doubtful-job"}}})}};
  return {
      {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
      {"version", "2.1.0"},
      {"runs", Json::array({{{"tool", {{"driver", driver}}}, {"results", std::move(results)}}})}};
}

constexpr std::string_view kGroupPrefix =
    job::kApiVersion.substr(0, job::kApiVersion.find('/') + 1);

bool is_misspelt(const std::string& kind) {
  return kind != job::kKind && !closest_name(kind, {std::string(job::kKind)}).empty();
}

// What no schema says and no webhook gets to see: the API server has no such kind elsewhere.
std::optional<Finding> wrong_version(const Json& object) {
  const Json* version = kube::find(object, {"apiVersion"});
  if (version == nullptr)
    return Finding{"apiVersion", fmt::format("Required value: must be {}", job::kApiVersion)};
  if (!version->is_string() || *version == job::kApiVersion) return std::nullopt;
  return Finding{"apiVersion",
                 fmt::format("Unsupported value: {}: a {} is of {}", job::shown_value(*version),
                             job::kKind, job::kApiVersion)};
}

// Which fields pods have depends on the cluster.
std::string worded(const job::FieldError& error) {
  const bool is_of_pods = error.field.find(".template.") != std::string::npos ||
                          error.field.starts_with("spec.volumes[");
  std::string message = job::message_of(error);
  if (error.type == job::FieldErrorType::kUnknownField && is_of_pods) {
    message += fmt::format(" (not in Kubernetes {}; --server asks your cluster)",
                           schemas::kPodTemplateVersion);
  }
  return message;
}

}  // namespace

bool has_errors(const std::vector<Verdict>& verdicts) {
  return std::any_of(verdicts.begin(), verdicts.end(), [](const auto& verdict) {
    return std::any_of(verdict.findings.begin(), verdict.findings.end(),
                       [](const auto& finding) { return finding.is_error; });
  });
}

std::vector<Finding> judge(const Json& object, const job::SchemaCheck& schema) {
  std::vector<Finding> findings;
  if (const auto wrong = wrong_version(object)) findings.push_back(*wrong);
  // As the mutating hook does: what it fills in is no fault.
  const Json defaulted = object.is_object() ? object.patch(job::default_patch(object)) : object;
  for (const auto& error : job::job_errors(defaulted, schema)) {
    findings.push_back({error.field, worded(error)});
  }
  for (const auto& error : job::check_pod_count(defaulted, nullptr)) {
    findings.push_back({error.field, job::message_of(error)});
  }
  for (auto& text : job::template_warnings(defaulted)) findings.push_back({"", text, false});
  return findings;
}

std::optional<Finding> judge_kind(const Json& object) {
  const std::string kind = kube::string_at(object, {"kind"});
  if (!is_misspelt(kind)) return std::nullopt;
  const bool is_ours = kube::string_at(object, {"apiVersion"}).starts_with(kGroupPrefix);
  return Finding{"kind", fmt::format("{} is no {}: did you mean {}?", kind, job::kKind, job::kKind),
                 is_ours};
}

std::optional<std::vector<Finding>> findings_of_refusal(int http_status, std::string_view body) {
  const auto status = kube::parse_json(body);
  if (!status || (http_status != 400 && http_status != 422)) return std::nullopt;
  std::vector<Finding> findings;
  for (const Json& cause : kube::array_at(*status, {"details", "causes"})) {
    findings.push_back({kube::string_at(cause, {"field"}), kube::string_at(cause, {"message"})});
  }
  if (findings.empty()) findings.push_back({"", kube::string_at(*status, {"message"})});
  return findings;
}

std::string no_job_among(const std::vector<std::string>& kinds) {
  const std::set<std::string> seen(kinds.begin(), kinds.end());
  std::string text = fmt::format("there is no {}", job::kKind);
  if (seen.empty()) return text;
  text += fmt::format(", only {}", printable(fmt::format("{}", fmt::join(seen, ", "))));
  for (const auto& kind : seen) {
    if (!is_misspelt(kind)) continue;
    return text + fmt::format(": did you mean kind: {}?", job::kKind);
  }
  return text;
}

std::string to_text(const std::vector<Verdict>& verdicts, Format format) {
  if (format == Format::kText) return as_text(verdicts);
  return kube::to_text(format == Format::kJson ? as_json(verdicts) : as_sarif(verdicts)) + "\n";
}

}  // namespace nervex::cli
