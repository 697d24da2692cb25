#include "cli/validate/verdict.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "cli/text.h"
#include "cli/validate/judge_queue.h"
#include "job/aggregator_config.h"
#include "job/schema/job_schema.h"
#include "job/template/rules.h"
#include "job/types.h"
#include "job/validate.h"
#include "job/warnings.h"
#include "schemas/schemas.h"

namespace nervex::cli {
namespace {

constexpr std::string_view kQueueKind = "Queue";
constexpr std::array<std::string_view, 3> kKinds{job::kKind, job::kAggregatorConfigKind,
                                                 kQueueKind};
// Only programs write these.
constexpr std::array<std::string_view, 2> kOtherKinds{"PodGroup", "Simulation"};

bool is_one_of(const auto& kinds, std::string_view kind) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

bool is_ours(std::string_view kind) { return is_one_of(kKinds, kind); }

std::string format_finding(const Finding& finding) {
  return finding.field.empty() ? finding.message
                               : fmt::format("{}: {}", finding.field, finding.message);
}

std::string names_of_unchecked(const std::vector<Verdict>& verdicts) {
  constexpr std::size_t kMaxNamed = 5;
  std::vector<std::string> names;
  std::size_t count = 0;
  for (const auto& verdict : verdicts) {
    if (verdict.unchecked.empty() || ++count > kMaxNamed) continue;
    names.push_back(verdict_subject(verdict));
  }
  if (count == 0) return "";
  std::string text = fmt::format("; not checked: {}", fmt::join(names, ", "));
  if (count > names.size()) text += fmt::format(" and {} more", count - names.size());
  return text;
}

std::string format_verdict(const Verdict& verdict) {
  const bool is_file = verdict.name.empty();  // the message already contains the line
  const std::string prefix =
      is_file ? verdict.file + ": "
              : fmt::format("{}:{}: {}: ", verdict.file, verdict.line, verdict.name);
  std::string text;
  const auto add = [&](const std::string& line) { text += printable(prefix + line) + "\n"; };
  for (const auto& finding : verdict.findings) {
    add((finding.is_error ? "" : "warning: ") + format_finding(finding));
  }
  if (!verdict.unchecked.empty()) add("not checked: " + verdict.unchecked);
  return text;
}

std::string as_text(const std::vector<Verdict>& verdicts) {
  std::string text;
  std::size_t judged = 0;
  std::size_t jobs = 0;
  std::size_t wrong = 0;
  for (const auto& verdict : verdicts) {
    text += format_verdict(verdict);
    const bool refused = has_errors({verdict});
    if (!verdict.unchecked.empty() || (!refused && !is_ours(verdict.kind))) continue;
    ++judged;
    jobs += verdict.kind == job::kKind ? 1 : 0;
    wrong += refused ? 1 : 0;
  }
  const std::string count =
      fmt::format("{} of {} {} {} valid", judged - wrong, judged,
                  jobs == judged ? "jobs" : "objects", judged == 1 ? "is" : "are");
  return text + count + printable(names_of_unchecked(verdicts)) + "\n";
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
    const bool is_checked = verdict.unchecked.empty();
    if (!is_checked) {
      findings.push_back(
          {{"severity", "error"}, {"field", ""}, {"message", "not checked: " + verdict.unchecked}});
    }
    list.push_back({{"file", verdict.file},
                    {"line", verdict.line},
                    {"kind", verdict.kind},
                    {"name", verdict.name},
                    {"valid", is_checked ? Json(!has_errors({verdict})) : Json()},
                    {"findings", std::move(findings)}});
  }
  return list;
}

constexpr const char* kInvalid = "invalid-object";
constexpr const char* kDoubtful = "doubtful-object";
constexpr const char* kUnchecked = "not-checked";

// A URI for SARIF: "my jobs/a.yaml" is not a valid URI part.
std::string file_uri(std::string_view file) {
  constexpr std::string_view kPlain = "-._~/";
  std::string uri = file.starts_with('/') ? "file://" : "";
  for (const char c : file) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || kPlain.find(c) != kPlain.npos;
    uri += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

Json sarif_result(const Verdict& verdict, const char* rule, const char* level,
                  const std::string& message, const std::string& field) {
  Json place = {{"physicalLocation",
                 {{"artifactLocation", {{"uri", file_uri(verdict.file)}}},
                  {"region", {{"startLine", verdict.line}}}}}};
  if (!field.empty()) {
    place["logicalLocations"] = Json::array({{{"fullyQualifiedName", verdict.name + "." + field}}});
  }
  const std::string subject = verdict.name.empty() ? "" : verdict.name + ": ";
  return {{"ruleId", rule},
          {"level", level},
          {"message", {{"text", subject + message}}},
          {"locations", Json::array({std::move(place)})}};
}

// https://docs.oasis-open.org/sarif/sarif/v2.1.0
Json as_sarif(const std::vector<Verdict>& verdicts) {
  Json results = Json::array();
  for (const auto& verdict : verdicts) {
    for (const auto& finding : verdict.findings) {
      results.push_back(sarif_result(verdict, finding.is_error ? kInvalid : kDoubtful,
                                     finding.is_error ? "error" : "warning",
                                     format_finding(finding), finding.field));
    }
    if (!verdict.unchecked.empty()) {
      results.push_back(
          sarif_result(verdict, kUnchecked, "error", "not checked: " + verdict.unchecked, ""));
    }
  }
  const Json rules = Json::array({{{"id", kInvalid}}, {{"id", kDoubtful}}, {{"id", kUnchecked}}});
  const bool is_complete = !verdicts.empty() && !has_unchecked(verdicts);
  const Json invocation = {{"executionSuccessful", is_complete}};
  return {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
          {"version", "2.1.0"},
          {"runs", Json::array({{{"tool", {{"driver", {{"name", "nervexctl"}, {"rules", rules}}}}},
                                 {"invocations", Json::array({invocation})},
                                 {"results", std::move(results)}}})}};
}

constexpr std::string_view kGroupPrefix =
    job::kApiVersion.substr(0, job::kApiVersion.find('/') + 1);

bool is_in_our_group(const Json& object) {
  return kube::string_at(object, {"apiVersion"}).starts_with(kGroupPrefix);
}

// The similar kind of ours; "" if there is none, or it is correct.
std::string meant_kind(const std::string& kind) {
  if (is_ours(kind)) return "";
  return closest_name(kind, {kKinds.begin(), kKinds.end()});
}

// Neither schemas nor webhooks detect this: the API server has the kind in no other version.
std::optional<Finding> wrong_version(const Json& object, std::string_view kind) {
  const Json* version = kube::find(object, {"apiVersion"});
  if (version == nullptr)
    return Finding{"apiVersion", fmt::format("Required value: must be {}", job::kApiVersion)};
  if (!version->is_string() || *version == job::kApiVersion) return std::nullopt;
  return Finding{"apiVersion", fmt::format("Unsupported value: {}: the apiVersion of a {} is {}",
                                           job::shown_value(*version), kind, job::kApiVersion)};
}

// The fields of pods and metadata depend on the cluster, unless the error names where the field
// belongs.
std::string worded(const job::FieldError& error) {
  const bool is_of_kubernetes = error.field.find(".template.") != std::string::npos ||
                                error.field.starts_with("spec.volumes[") ||
                                error.field.starts_with("metadata.");
  const bool is_misplaced = error.detail.find(": it belongs at ") != std::string::npos;
  std::string message = job::field_error_message(error);
  if (error.type == job::FieldErrorType::kUnknownField && is_of_kubernetes && !is_misplaced) {
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

std::string verdict_subject(const Verdict& verdict) {
  return verdict.name.empty() ? verdict.file : fmt::format("{}: {}", verdict.file, verdict.name);
}

bool has_unchecked(const std::vector<Verdict>& verdicts) {
  return std::any_of(verdicts.begin(), verdicts.end(),
                     [](const auto& verdict) { return !verdict.unchecked.empty(); });
}

namespace {

job::FieldErrors config_errors(const Json& object, const job::SchemaCheck& schema) {
  job::FieldErrors errors = job::validate_aggregator_config(object);
  job::append_unreported(errors, schema.find_errors(object));
  return errors;
}

}  // namespace

std::string describe_kind(const Json& object) {
  if (object.is_array()) return "a list";
  if (!object.is_object()) return "plain text";
  return kube::string_at(object, {"kind"}, "an object without a kind");
}

bool is_judged(const Json& object) {
  const std::string kind = kube::string_at(object, {"kind"});
  // Other APIs have kinds of this name, too.
  const bool is_foreign = kind == kQueueKind && !is_in_our_group(object);
  return is_ours(kind) && !is_foreign;
}

std::vector<Finding> judge(const Json& object, const job::SchemaCheck& schema) {
  const std::string kind = kube::string_at(object, {"kind"});
  std::vector<Finding> findings;
  if (const auto wrong = wrong_version(object, kind)) findings.push_back(*wrong);
  // Like the mutating hook: what it fills in is not an error.
  job::FieldErrors errors;
  if (kind == job::kAggregatorConfigKind) {
    errors = config_errors(object, schema);
  } else if (kind == kQueueKind) {
    errors = queue_errors(object, schema);
  } else {
    const Json defaulted = object.patch(job::default_patch(object));
    errors = job::job_errors(defaulted, schema);
    append(errors, job::check_pod_count(defaulted, nullptr));
  }
  job::append_unreported(errors, job::check_metadata(object));
  for (const auto& error : errors) findings.push_back({error.field, worded(error)});
  if (!findings.empty() || kind == kQueueKind) return findings;
  for (const auto& text : job::warnings_on_create(object)) findings.push_back(parse_warning(text));
  return findings;
}

Finding parse_warning(std::string_view text) {
  const auto end = text.find(": ");
  const std::string_view field = text.substr(0, end);
  const bool is_field = end != text.npos && field.find(' ') == field.npos &&
                        (field.starts_with("spec.") || field.starts_with("metadata."));
  if (!is_field) return {"", std::string(text), false};
  return {std::string(field), std::string(text.substr(end + 2)), false};
}

std::vector<Finding> parse_warning_lines(const std::vector<std::string>& lines) {
  constexpr std::string_view kGoesOn = "...";
  std::vector<std::string> texts;
  for (const auto& line : lines) {
    const bool goes_on =
        !texts.empty() && texts.back().ends_with(kGoesOn) && line.starts_with(kGoesOn);
    if (goes_on) {
      texts.back().replace(texts.back().size() - kGoesOn.size(), kGoesOn.size(), " ");
      texts.back() += line.substr(kGoesOn.size());
    } else {
      texts.push_back(line);
    }
  }
  std::vector<Finding> findings;
  for (const auto& text : texts) {
    Finding finding = parse_warning(text);
    if (std::find(findings.begin(), findings.end(), finding) == findings.end()) {
      findings.push_back(std::move(finding));
    }
  }
  return findings;
}

std::optional<Finding> judge_kind(const Json& object) {
  if (object.is_array() && std::any_of(object.begin(), object.end(), is_judged)) {
    return Finding{"",
                   "kubectl cannot read this list: use `kind: List` with `items`, or separate the "
                   "objects with `---`"};
  }
  const std::string kind = kube::string_at(object, {"kind"});
  const std::string meant = meant_kind(kind);
  const bool in_our_group = is_in_our_group(object);
  if (!meant.empty() && (in_our_group || meant != kQueueKind)) {
    return Finding{"kind", fmt::format("unknown kind {}: did you mean {}?", kind, meant),
                   in_our_group};
  }
  if (!in_our_group || is_ours(kind) || is_one_of(kOtherKinds, kind)) return std::nullopt;
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
  std::string text = fmt::format("no {} found", fmt::join(kKinds, ", "));
  if (seen.empty()) return text + ": there are no objects";
  text += fmt::format(", only {}", printable(fmt::format("{}", fmt::join(seen, ", "))));
  for (const auto& kind : seen) {
    const std::string meant = meant_kind(kind);
    if (!meant.empty()) return text + fmt::format(": did you mean kind: {}?", meant);
  }
  return text;
}

std::string to_text(const std::vector<Verdict>& verdicts, Format format) {
  if (format == Format::kText) return as_text(verdicts);
  return escape_controls(
             kube::to_text(format == Format::kJson ? as_json(verdicts) : as_sarif(verdicts))) +
         "\n";
}

}  // namespace nervex::cli
