// webhook/template_dry_run.h - what does this cluster's API server say about a pod template?
//
// Creating a PodTemplate, a kind without effects, as a dry run makes this API server run its full
// pod validation. So the verdict is right for its version.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/expiring_cache.h"
#include "base/mutex.h"
#include "base/sip_hash.h"
#include "job/field_error.h"
#include "kube/api.h"
#include "kube/model/json.h"
#include "webhook/fair_turns.h"

namespace nervex::webhook {

// ---- pure

// The PodTemplate to ask about: the template of `role` ("learner"; for an AggregatorConfig
// "aggregator") with the controller's additions that may be refused, mainly the job's volumes.
// Omits what belongs to a single job, so that equal templates have equal texts. Null: the role has
// no template.
Json pod_template_to_ask(const Json& object, std::string_view role);

// Equal for equal results of pod_template_to_ask() after equal hashes, and much cheaper. nullopt:
// no template.
std::optional<Hash128> template_key(SipHash hash, const Json& object, std::string_view role);

struct TemplateVerdict {
  // In the API server's words, with paths in the PodTemplate: "template.spec.containers[0].image".
  job::FieldErrors errors;
  // The API server could not read the template and reports only the first reason.
  bool is_unreadable = false;
};

// What a refusal with this status and body (a metav1.Status) says about the template. nullopt: it
// has another reason, such as a missing right or a policy. Only the first 100 errors, each cut,
// because the API server quotes the template at any length.
std::optional<TemplateVerdict> parse_verdict(int http_status, std::string_view body);

// The verdict's errors at their paths in the job: spec.learner.template..., or for parts that every
// role gets from the job, spec.volumes[0]... and spec.priorityClassName.
job::FieldErrors errors_in_job(const TemplateVerdict& verdict, const Json& object,
                               std::string_view role);

// ---- requests

// Longest wait of a user who creates a job: both hooks ask, and have 5 s each.
inline constexpr std::chrono::seconds kDryRunTimeout{1};

// Memory limit of all cached verdicts. One with the most and longest errors takes 150 kB, an
// acceptance 500 bytes.
inline constexpr std::size_t kMaxVerdictBytes = std::size_t{8} << 20U;

// Thread-safe.
class TemplateDryRuns {
 public:
  // Both are borrowed. `api` should wait at most a second. `ns`: where this program may create
  // podtemplates.
  TemplateDryRuns(kube::Api& api, std::string ns, const Clock& clock)
      : api_(api), ns_(std::move(ns)), clock_(clock) {}
  TemplateDryRuns(const TemplateDryRuns&) = delete;
  TemplateDryRuns& operator=(const TemplateDryRuns&) = delete;

  // The verdict about pod_template_to_ask(object, role); without a template no errors. Another
  // `version` of the cluster's OpenAPI invalidates verdicts; refusals expire after a minute,
  // acceptances after ten. An Error: no verdict; after an API server did not answer, requests
  // pause. `may_ask`, if given, is called when no verdict is kept; its error is then the answer.
  // Verdicts are bounded in bytes.
  Result<TemplateVerdict> ask(const Json& object, std::string_view role, std::string_view version,
                              const MayAsk& may_ask = {});

 private:
  Result<TemplateVerdict> post(const std::string& body, std::string_view validation);
  std::optional<Result<TemplateVerdict>> known(const Hash128& key);
  bool is_known(const Hash128& key);
  bool is_pausing() const REQUIRES(mutex_);
  void keep(const Hash128& key, const TemplateVerdict& verdict);

  kube::Api& api_;
  const std::string ns_;
  const Clock& clock_;
  const SipHash::Key hash_key_ = SipHash::random_key();
  Mutex mutex_;
  ExpiringCache<TemplateVerdict, Hash128> verdicts_ GUARDED_BY(mutex_){kMaxVerdictBytes};
  std::optional<Error> failed_ GUARDED_BY(mutex_);
  MonoTime failed_at_ GUARDED_BY(mutex_){};
};

}  // namespace nervex::webhook
