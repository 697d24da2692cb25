#include "cli/verdict.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "cli/text.h"
#include "job/aggregator_config.h"
#include "job/schema/job_schema.h"
#include "job/template/rules.h"
#include "job/types.h"
#include "schemas/schemas.h"

namespace nervex::cli {
namespace {

constexpr std::string_view kPodGroupKind = "PodGroup";  // the controller's, not for users
constexpr std::array<std::string_view, 2> kKinds{job::kKind, job::kAggregatorConfigKind};

bool is_ours(std::string_view kind) {
  return std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end();
}

std::string line_of(const Finding& finding) {
  return finding.field.empty() ? finding.message
                               : fmt::format("{}: {}", finding.field, finding.message);
}

std::string as_text(const std::vector<Verdict>& verdicts) {
  std::string text;
  std::size_t judged = 0;
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
    if (!refused && !is_ours(verdict.kind)) continue;
    ++judged;
    jobs += verdict.kind == job::kKind ? 1 : 0;
    wrong += refused ? 1 : 0;
  }
  return text + fmt::format("{} of {} {} {} valid\n", judged - wrong, judged,
                            jobs == judged ? "jobs" : "objects", judged == 1 ? "is" : "are");
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
                    {"kind", verdict.kind},
                    {"name", verdict.name},
                    {"valid", !has_errors({verdict})},
                    {"findings", std::move(findings)}});
  }
  return list;
}

constexpr const char* kInvalid = "invalid-object";
constexpr const char* kDoubtful = "doubtful-object";

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
      results.push_back({{"ruleId", finding.is_error ? kInvalid : kDoubtful},
                         {"level", finding.is_error ? "error" : "warning"},
                         {"message", {{"text", verdict.name + ": " + line_of(finding)}}},
                         {"locations", Json::array({std::move(place)})}});
    }
  }
  const Json driver = {{"name", "nervexctl"},
                       {"rules", Json::array({{{"id", kInvalid}}, {{"id", kDoubtful}}})}};
  return {
      {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
      {"version", "2.1.0"},
      {"runs", Json::array({{{"tool", {{"driver", driver}}}, {"results", std::move(results)}}})}};
}

constexpr std::string_view kGroupPrefix =
    job::kApiVersion.substr(0, job::kApiVersion.find('/') + 1);

// The kind of ours that was meant; "" if none was, or it is right.
std::string meant_kind(const std::string& kind) {
  if (is_ours(kind)) return "";
  return closest_name(kind, {kKinds.begin(), kKinds.end()});
}

// What no schema says and no webhook gets to see: the API server has no such kind elsewhere.
std::optional<Finding> wrong_version(const Json& object, std::string_view kind) {
  const Json* version = kube::find(object, {"apiVersion"});
  if (version == nullptr)
    return Finding{"apiVersion", fmt::format("Required value: must be {}", job::kApiVersion)};
  if (!version->is_string() || *version == job::kApiVersion) return std::nullopt;
  return Finding{"apiVersion", fmt::format("Unsupported value: {}: {}s are of {}",
                                           job::shown_value(*version), kind, job::kApiVersion)};
}

// Which fields pods and metadata have depends on the cluster.
std::string worded(const job::FieldError& error) {
  const bool is_of_kubernetes = error.field.find(".template.") != std::string::npos ||
                                error.field.starts_with("spec.volumes[") ||
                                error.field.starts_with("metadata.");
  std::string message = job::message_of(error);
  if (error.type == job::FieldErrorType::kUnknownField && is_of_kubernetes) {
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

namespace {

job::FieldErrors config_errors(const Json& object, const job::SchemaCheck& schema) {
  job::FieldErrors errors = job::validate_aggregator_config(object);
  job::append_unreported(errors, schema.errors_of(object));
  return errors;
}

}  // namespace

bool is_judged(const Json& object) { return is_ours(kube::string_at(object, {"kind"})); }

std::vector<Finding> judge(const Json& object, const job::SchemaCheck& schema) {
  const std::string kind = kube::string_at(object, {"kind"});
  std::vector<Finding> findings;
  if (const auto wrong = wrong_version(object, kind)) findings.push_back(*wrong);
  // As the mutating hook does: what it fills in is no fault.
  const bool is_config = kind == job::kAggregatorConfigKind;
  const Json defaulted = is_config ? object : object.patch(job::default_patch(object));
  job::FieldErrors errors =
      is_config ? config_errors(object, schema) : job::job_errors(defaulted, schema);
  job::append_unreported(errors, job::check_metadata(object));
  if (!is_config) append(errors, job::check_pod_count(defaulted, nullptr));
  for (const auto& error : errors) findings.push_back({error.field, worded(error)});
  if (is_config) return findings;
  for (auto& text : job::template_warnings(defaulted)) findings.push_back({"", text, false});
  return findings;
}

std::optional<Finding> judge_kind(const Json& object) {
  const std::string kind = kube::string_at(object, {"kind"});
  const std::string meant = meant_kind(kind);
  const bool in_our_group = kube::string_at(object, {"apiVersion"}).starts_with(kGroupPrefix);
  if (!meant.empty()) {
    return Finding{"kind", fmt::format("{} is no {}: did you mean {}?", kind, meant, meant),
                   in_our_group};
  }
  if (!in_our_group || is_ours(kind) || kind == kPodGroupKind) return std::nullopt;
  const Json* written = kube::find(object, {"kind"});
  if (written == nullptr) return Finding{"kind", "Required value"};
  return Finding{"kind", fmt::format("Unsupported value: {}: supported values: \"{}\"",
                                     job::shown_value(*written), fmt::join(kKinds, "\", \""))};
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

std::string nothing_to_judge(const std::vector<std::string>& kinds) {
  const std::set<std::string> seen(kinds.begin(), kinds.end());
  std::string text = fmt::format("there is no {}", fmt::join(kKinds, " and no "));
  if (seen.empty()) return text;
  text += fmt::format(", only {}", printable(fmt::format("{}", fmt::join(seen, ", "))));
  for (const auto& kind : seen) {
    const std::string meant = meant_kind(kind);
    if (!meant.empty()) return text + fmt::format(": did you mean kind: {}?", meant);
  }
  return text;
}

std::string to_text(const std::vector<Verdict>& verdicts, Format format) {
  if (format == Format::kText) return as_text(verdicts);
  return kube::to_text(format == Format::kJson ? as_json(verdicts) : as_sarif(verdicts)) + "\n";
}

}  // namespace nervex::cli
