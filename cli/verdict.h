// cli/verdict.h - what does `nervexctl validate` say about NerveXJobs and AggregatorConfigs? Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/manifests.h"
#include "job/field_error.h"
#include "job/schema/schema_check.h"

namespace nervex::cli {

struct Finding {
  std::string field;    // spec.learner.template...; "" if it is about the whole
  std::string message;  // `Invalid value: "4GB": ...`
  bool is_error = true;
  bool operator==(const Finding&) const = default;
};

struct Verdict {     // of one object, or of a file that cannot be read
  std::string file;  // "-" for the standard input
  int line = 1;
  std::string kind;  // one that only resembles ours is counted if it is an error; "" of a file
  std::string name;
  std::vector<Finding> findings;
  std::string unchecked{};  // why there is no verdict; "" if there is one
};
bool has_errors(const std::vector<Verdict>& verdicts);
bool has_unchecked(const std::vector<Verdict>& verdicts);
// "b.yaml", "a.json: dqn".
std::string subject_of(const Verdict& verdict);

// "NerveXJob", or what it is instead of an object with a kind: "a list".
std::string kind_of(const Json& object);

// A NerveXJob or an AggregatorConfig: objects that the webhook is asked about.
bool is_judged(const Json& object);

// What the webhook would say of such an object if it were created, as far as that can be known
// without a cluster, and the API server of its apiVersion and metadata. A wrong object has no
// warnings, as in the webhook: they may only follow from what is wrong. `schema`: of its kind,
// job::make_offline_job_check() or make_offline_config_check().
std::vector<Finding> judge(const Json& object, const job::SchemaCheck& schema);

// Of an object of another kind: is it one of ours, misspelt? An error in our API group, as is every
// kind that the group does not have; a warning in others, whose kinds nobody here knows. nullopt:
// it is none of our business.
std::optional<Finding> judge_kind(const Json& object);

// `spec.suspend: ...`, as the webhook words a warning.
Finding warning_of(std::string_view text);

// The same of what a server said of one object: once each, and without the breaks of long lines
// (base/text.h, wrap_text()).
std::vector<Finding> warnings_of(const std::vector<std::string>& lines);

// What a server that refused the object said: a metav1.Status. nullopt: it is about something else,
// so that there is no verdict.
std::optional<std::vector<Finding>> findings_of_refusal(int http_status, std::string_view body);

// What to say if no object was to be judged: `kinds` are those that were seen.
std::string nothing_to_judge(const std::vector<std::string>& kinds);

enum class Format { kText, kJson, kSarif };
// Text: `FILE:LINE: NAME: FIELD: MESSAGE`, one line each, and a line that counts. SARIF 2.1.0. What
// is unchecked is in all of them.
std::string to_text(const std::vector<Verdict>& verdicts, Format format);

}  // namespace nervex::cli
