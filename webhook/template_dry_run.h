// webhook/template_dry_run.h - what does this cluster's API server say about a pod template?
//
// A dry run of creating a PodTemplate, a kind that nothing acts on, runs the whole validation of
// pods of this very API server. So its verdict is ours, whatever its version.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/expiring_cache.h"
#include "base/mutex.h"
#include "job/field_error.h"
#include "kube/api.h"
#include "kube/model/json.h"

namespace nervex::webhook {

// ---- pure

// The PodTemplate to ask about: the template of `role` ("learner"; of an AggregatorConfig
// "aggregator") with what the controller adds
// that may be refused, volumes of the job above all, and without anything that is one job's own, so
// that equal templates are equal texts. Null: the role has no template.
Json pod_template_to_ask(const Json& object, std::string_view role);

// The same for equal results of pod_template_to_ask(), and much cheaper to have. Empty: there is no
// template.
std::string template_key(const Json& object, std::string_view role);

struct TemplateVerdict {
  // The API server's words, paths as in the PodTemplate: "template.spec.containers[0].image".
  job::FieldErrors errors;
  // It could not read the template and says no more than the first reason.
  bool is_unreadable = false;
};

// What a refusal with this status and body (a metav1.Status) says about the template. nullopt: it
// is about something else, such as a missing right or what a policy says. The first 100 errors,
// each cut: the API server repeats what the template says, at any length.
std::optional<TemplateVerdict> verdict_of(int http_status, std::string_view body);

// The verdict's errors at their places in the job: spec.learner.template..., or what every role has
// of the job, spec.volumes[0]... and spec.priorityClassName.
job::FieldErrors errors_in_job(const TemplateVerdict& verdict, const Json& object,
                               std::string_view role);

// ---- acts

// What a user who creates a job may wait for it: both hooks ask, and have 5 s each.
inline constexpr std::chrono::seconds kDryRunTimeout{1};

// What all verdicts may take that are kept. One with the most and longest errors takes 150 kB, an
// acceptance 500 bytes.
inline constexpr std::size_t kMaxVerdictBytes = std::size_t{8} << 20U;

// Whether this caller may have the API server asked now. It may wait for that, but no longer than
// until `is_answered()`: somebody else has asked the same.
using MayAsk = std::function<Result<Nothing>(const std::function<bool()>& is_answered)>;

// Thread-safe.
class TemplateDryRuns {
 public:
  // Both are borrowed. `api` should not wait for longer than a second. `ns`: where this program may
  // create podtemplates.
  TemplateDryRuns(kube::Api& api, std::string ns, const Clock& clock)
      : api_(api), ns_(std::move(ns)), clock_(clock) {}
  TemplateDryRuns(const TemplateDryRuns&) = delete;
  TemplateDryRuns& operator=(const TemplateDryRuns&) = delete;

  // About what `pod_template` makes (pod_template_to_ask()), which is called if no verdict is kept
  // under its `key`. Under another `version` of the cluster's OpenAPI they count no more; refusals
  // are asked for again after a minute, acceptances after ten. An Error: there was no verdict; if
  // the API server did not answer, none is asked for a while. `may_ask`, if given, is asked when no
  // verdict is kept; its error is the answer then. Verdicts are bounded in bytes.
  Result<TemplateVerdict> ask(const std::string& key, const std::string& version,
                              const std::function<Json()>& pod_template,
                              const MayAsk& may_ask = {});

 private:
  Result<TemplateVerdict> post(const std::string& body, std::string_view validation);
  std::optional<Result<TemplateVerdict>> known(const std::string& key);
  bool is_known(const std::string& key);
  bool is_pausing() const REQUIRES(mutex_);
  void keep(const std::string& key, const TemplateVerdict& verdict);

  kube::Api& api_;
  const std::string ns_;
  const Clock& clock_;
  Mutex mutex_;
  ExpiringCache<TemplateVerdict> verdicts_ GUARDED_BY(mutex_){kMaxVerdictBytes};
  std::optional<Error> failed_ GUARDED_BY(mutex_);
  MonoTime failed_at_ GUARDED_BY(mutex_){};
};

}  // namespace nervex::webhook
