// cli/validate/verdict.h - what does `nervexctl validate` say about NerveXJobs, AggregatorConfigs
// and Queues? Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/validate/manifests.h"
#include "job/field_error.h"
#include "job/schema/schema_check.h"

namespace nervex::cli {

struct Finding {
  std::string field;    // spec.learner.template...; "" if it concerns the whole object
  std::string message;  // `Invalid value: "4GB": ...`
  bool is_error = true;
  bool operator==(const Finding&) const = default;
};

struct Verdict {     // about one object or an unreadable file
  std::string file;  // "-" for standard input
  int line = 1;
  std::string kind;  // a kind that only resembles ours counts if it is an error; "" of a file
  std::string name;
  std::vector<Finding> findings;
  std::string unchecked{};  // why there is no verdict; "" if there is one
};
bool has_errors(const std::vector<Verdict>& verdicts);
bool has_unchecked(const std::vector<Verdict>& verdicts);
// "b.yaml", "a.json: dqn".
std::string verdict_subject(const Verdict& verdict);

// "NerveXJob", or what it is instead of an object with a kind: "a list".
std::string describe_kind(const Json& object);

// A NerveXJob, an AggregatorConfig or a Queue: objects that users write.
bool is_judged(const Json& object);

// What the webhook, and of a Queue the extender, would say if such an object were created, as far
// as that is known without a cluster, and what the API server says of its apiVersion and metadata.
// As in the webhook, an invalid object has no warnings, since they may only follow from its errors.
// `schema`: for its kind, job::make_offline_job_check(), make_offline_config_check() or
// make_offline_plain_check().
std::vector<Finding> judge(const Json& object, const job::SchemaCheck& schema);

// For an object of another kind: is it a misspelt kind of ours? An error in our API group, also for
// kinds that the group lacks; a warning in other groups, whose kinds are unknown here. nullopt: not
// related to ours.
std::optional<Finding> judge_kind(const Json& object);

// `spec.suspend: ...`, in the webhook's form of a warning.
Finding parse_warning(std::string_view text);

// The same for a server's warnings about one object: without duplicates and breaks of long lines
// (base/text.h, wrap_text()).
std::vector<Finding> parse_warning_lines(const std::vector<std::string>& lines);

// What a server's refusal of the object, a metav1.Status, says. nullopt: it has another reason, so
// there is no verdict.
std::optional<std::vector<Finding>> findings_of_refusal(int http_status, std::string_view body);

// The message if there was no object to judge; `kinds`: the kinds seen.
std::string nothing_to_judge(const std::vector<std::string>& kinds);

enum class Format { kText, kJson, kSarif };
// Text: `FILE:LINE: NAME: FIELD: MESSAGE`, one line each, and a summary line. SARIF 2.1.0. All
// formats contain unchecked objects.
std::string to_text(const std::vector<Verdict>& verdicts, Format format);

}  // namespace nervex::cli
