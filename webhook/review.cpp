#include "webhook/review.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "job/aggregator_config.h"
#include "job/host_access.h"
#include "job/names.h"
#include "job/schema/job_schema.h"
#include "job/topology_levels.h"
#include "job/types.h"
#include "job/validate.h"
#include "job/warnings.h"
#include "webhook/guarded_fields.h"
#include "webhook/review_memory.h"

namespace nervex::webhook {
namespace {

using kube::AdmissionRequest;
using kube::AdmissionResponse;

constexpr std::string_view kGroup = job::kApiVersion.substr(0, job::kApiVersion.find('/'));
constexpr const char* kRequests = "requests";
constexpr std::string_view kConfigRole = "aggregator";

bool is_config(const AdmissionRequest& request) {
  return request.kind == job::kAggregatorConfigKind;
}

std::string name_in(const AdmissionRequest& request) {
  constexpr std::size_t kMaxShown = 253;  // longer texts are not names
  std::string name = request.name;
  if (name.empty()) name = kube::string_at(request.object, {"metadata", "name"});
  if (name.empty()) name = kube::string_at(request.object, {"metadata", "generateName"});
  return cut_text(name, kMaxShown);
}

AdmissionResponse refuse(const AdmissionRequest& request, int code, std::string message,
                         std::vector<kube::StatusCause> causes = {}) {
  const bool is_job = request.kind == job::kKind || is_config(request);
  return {.allowed = false,
          .code = code,
          .message = std::move(message),
          .details = {.group = is_job ? std::string(kGroup) : "",
                      .kind = request.kind,
                      .name = name_in(request),
                      .causes = std::move(causes)},
          .patch = {},
          .warnings = {}};
}

// What can be created must also be changeable, or users could not suspend it.
AdmissionResponse refuse_size(const AdmissionRequest& request, TooLarge too_large) {
  if (too_large == TooLarge::kToStore) {
    return refuse(
        request, 413,
        fmt::format("{}.{} \"{}\" is too large: it has more than {} KiB as JSON, managedFields "
                    "included. etcd stores at most 1536 KiB, and the rest is for its "
                    "status. Move large texts, such as scripts, into a ConfigMap",
                    request.kind, kGroup, name_in(request), kMaxStoredBytes >> 10U));
  }
  return refuse(request, 413,
                fmt::format("{}.{} \"{}\" is too large: it has too many values, such as variables, "
                            "labels or arguments. It could be created but never updated, because "
                            "the review of an update contains the old and the new object",
                            request.kind, kGroup, name_in(request)));
}

AdmissionResponse allow(std::vector<std::string> warnings = {}, Json patch = nullptr) {
  return {.allowed = true,
          .code = 0,
          .message = "",
          .details = {},
          .patch = std::move(patch),
          .warnings = std::move(warnings)};
}

// A request outside our configuration, routed here by another one. The validating hook refuses what
// it cannot judge.
AdmissionResponse not_ours(const AdmissionRequest& request, Hook hook) {
  const std::string text =
      fmt::format("nervex-webhook does not check {} of {}", request.operation, request.kind);
  if (hook == Hook::kMutate) return allow({text});
  return refuse(request, 400, text);
}

// Answers that do not depend on the spec.
std::optional<AdmissionResponse> answer_at_once(const AdmissionRequest& request, Hook hook) {
  if (request.kind != job::kKind && !is_config(request)) return not_ours(request, hook);
  if (request.operation == "DELETE" || !request.sub_resource.empty()) return allow();
  const bool update = request.operation == "UPDATE";
  if (!update && request.operation != "CREATE") return not_ours(request, hook);
  if (!request.object.is_object()) return refuse(request, 400, "the review contains no object");
  // Finalizers of a deleted job must be removable, even with an invalid spec.
  if (update && kube::find(request.object, {"metadata", "deletionTimestamp"})) return allow();
  return std::nullopt;
}

const Json* find_spec(const Json& object) {
  const Json* spec = kube::find(object, {"spec"});
  return spec != nullptr && spec->is_object() ? spec : nullptr;
}

// Every member of `a` except the requests is in `b` with the same value.
bool covers(const Json& a, const Json& b) {
  for (const auto& [key, value] : a.items()) {
    if (key == kRequests) continue;
    const auto at = b.find(key);
    if (at == b.end() || *at != value) return false;
  }
  return true;
}

// The specs are equal except for spec.requests. False if either has no spec.
bool same_spec_but_requests(const Json& object, const Json& old_object) {
  const Json* spec = find_spec(object);
  const Json* old_spec = find_spec(old_object);
  return spec != nullptr && old_spec != nullptr && covers(*spec, *old_spec) &&
         covers(*old_spec, *spec);
}

// For the schema, an AggregatorConfig is a job with one template: translates error paths.
job::FieldErrors schema_errors_of_config(const Json& object, const job::SchemaCheck& schema) {
  constexpr std::string_view kThere = "spec.coordinator.template";
  const std::string here = fmt::format("spec.{}.template", kConfigRole);
  const auto move = [&](std::string& text) {
    for (auto at = text.find(kThere); at != text.npos; at = text.find(kThere, at + here.size())) {
      text.replace(at, kThere.size(), here);
    }
  };
  Json as_job = {{"spec", {{"coordinator", Json::object()}}}};
  if (const Json* found = kube::find(object, {"spec", kConfigRole, "template"})) {
    as_job["spec"]["coordinator"]["template"] = *found;
  }
  job::FieldErrors errors = schema.find_errors(as_job);
  for (auto& error : errors) {
    move(error.field);
    move(error.detail);  // names where a field belongs
  }
  return errors;
}

job::FieldErrors config_errors(const Json& object, const job::SchemaCheck& schema) {
  job::FieldErrors errors = job::validate_aggregator_config(object);
  append_unreported(errors, schema_errors_of_config(object, schema));
  return errors;
}

// Errors of the object by itself.
job::FieldErrors find_errors(const Json& object, const Rules& rules, bool config) {
  return config ? config_errors(object, rules.schema) : job::job_errors(object, rules.schema);
}

job::FieldErrors forbidden_access(const Json& object) {
  job::FieldErrors found = job::find_host_access(object);
  for (auto& error : found) error.detail += ", which this cluster does not allow (--host-access)";
  return found;
}

// `field` is `other` or a part of it. An `other` without an index matches every item: the API
// server reports volumeMounts.subPath for volumeMounts[0].subPath.
bool is_within(std::string_view field, std::string_view other) {
  while (!other.empty()) {
    if (!field.empty() && field.front() == other.front()) {
      field.remove_prefix(1);
      other.remove_prefix(1);
    } else if (const auto end = field.find(']'); field.starts_with('[') && end != field.npos) {
      field.remove_prefix(end + 1);
    } else {
      return false;
    }
  }
  return field.empty() || field.front() == '.' || field.front() == '[';
}

// Adds the cluster's errors that `errors` do not report at the same or a more exact place: our
// messages are about jobs.
void append_news(job::FieldErrors& errors, const job::FieldErrors& cluster) {
  job::FieldErrors news;
  for (const auto& error : cluster) {
    const bool is_told = std::any_of(errors.begin(), errors.end(), [&](const auto& one) {
      return is_within(one.field, error.field);
    });
    if (!is_told) news.push_back(error);
  }
  append(errors, std::move(news));
}

// Only with this request the job can never run: the stored one could, or there is none. Messages
// are not compared: their pod counts change with each step towards a job that fits.
bool ends_capacity(const Facts& facts) { return facts.never_fits && !facts.stored_never_fits; }

// For an update (`old_object` is not null) only errors that it adds.
job::FieldErrors all_errors(const AdmissionRequest& request, const Rules& rules,
                            const Facts& facts) {
  const Json& object = request.object;
  const Json& old_object = request.old_object;
  const bool config = is_config(request);
  const bool is_update = !old_object.is_null();
  // Each check first excuses errors of the stored object; only then are duplicates between checks
  // removed. Otherwise an excused error could hide a new one.
  const auto news = [&](job::FieldErrors errors, const auto& stored_errors) {
    if (!is_update || errors.empty()) return errors;
    return job::without_stored_errors(std::move(errors), object, stored_errors(), old_object);
  };
  job::FieldErrors errors = news(find_errors(object, rules, config),
                                 [&] { return find_errors(old_object, rules, config); });
  if (!config) {
    const auto levels = [&](const Json& job) {
      return job::check_topology_levels(job, rules.topology_levels);
    };
    append_unreported(errors, news(levels(object), [&] { return levels(old_object); }));
  }
  if (rules.host_access == Strictness::kRefuse) {
    append_unreported(errors,
                      news(forbidden_access(object), [&] { return forbidden_access(old_object); }));
  }
  append_news(errors, news(facts.errors, [&] { return facts.stored_errors; }));
  if (config) return errors;
  if (rules.capacity == Strictness::kRefuse && ends_capacity(facts)) {
    errors.push_back({job::FieldErrorType::kForbidden, facts.never_fits->field, "",
                      facts.never_fits->why + " (--capacity)"});
  }
  append(errors, job::check_pod_count(object, old_object));
  if (is_update) append(errors, job::check_update(object, old_object));
  return errors;
}

std::vector<kube::StatusCause> make_causes(const job::FieldErrors& errors) {
  std::vector<kube::StatusCause> causes;
  for (const auto& error : errors) {
    if (causes.size() == job::kMaxListedErrors) break;
    causes.push_back(
        {std::string(cause_type(error.type)), field_error_message(error), error.field});
  }
  if (const std::size_t more = errors.size() - causes.size(); more > 0) {
    causes.push_back({std::string(cause_type(job::FieldErrorType::kInvalid)),
                      fmt::format("{} more fields are wrong", more), "metadata and spec"});
  }
  return causes;
}

Reviewed refuse_for(const AdmissionRequest& request, const job::FieldErrors& errors) {
  const bool has_unknown = std::any_of(errors.begin(), errors.end(), [](const auto& error) {
    return error.type == job::FieldErrorType::kUnknownField;
  });
  return {refuse(request, 422,
                 fmt::format("{}.{} \"{}\" is invalid: {}", request.kind, kGroup, name_in(request),
                             to_string(errors)),
                 make_causes(errors)),
          has_unknown};
}

void append(Json& patch, const Json& more) { patch.insert(patch.end(), more.begin(), more.end()); }

Reviewed mutate(AdmissionRequest& request, const Rules& rules, const Facts& facts,
                bool spec_changes) {
  std::vector<std::string> warnings;
  Json patch = restore_guarded_fields(request, rules.server_user, warnings);
  if (!spec_changes) return {allow(std::move(warnings), std::move(patch))};
  if (kube::string_at(request.object, {"spec", "cleanPodPolicy"}) == "ALL") {
    warnings.emplace_back(job::kStoredAsAll);
  }
  const Json defaults = is_config(request) ? Json::array() : job::default_patch(request.object);
  request.object.patch_inplace(defaults);  // as the API server will; avoids a large copy
  append(patch, defaults);
  const auto errors = all_errors(request, rules, facts);
  if (!errors.empty()) return refuse_for(request, errors);
  return {allow(std::move(warnings), std::move(patch))};
}

std::string access_text(const AdmissionRequest& request) {
  return fmt::format("{} may not create pods in {}", cut_text(request.user, 60),
                     is_config(request) ? "all namespaces" : "namespace " + request.ns);
}

// The controller creates the pods, so a job or an AggregatorConfig would lend its author the
// controller's rights.
std::optional<AdmissionResponse> refuse_access(const AdmissionRequest& request, const Rules& rules,
                                               const Facts& facts) {
  if (rules.pod_access != Strictness::kRefuse) return std::nullopt;
  if (!facts.access_error.empty()) {
    return refuse(request, 500,
                  "cannot check whether you may create pods, try again: " + facts.access_error);
  }
  if (facts.may_create_pods.value_or(true)) return std::nullopt;
  return refuse(request, 403,
                access_text(request) + (is_config(request)
                                            ? ", where the controller creates pods from it for jobs"
                                            : ", as the controller would for this job"));
}

void append(std::vector<std::string>& warnings, std::vector<std::string> more) {
  std::move(more.begin(), more.end(), std::back_inserter(warnings));
}

std::vector<std::string> all_warnings(const AdmissionRequest& request, const Rules& rules,
                                      const Facts& facts) {
  std::vector<std::string> warnings = facts.warnings;
  if (rules.pod_access == Strictness::kWarn && !facts.may_create_pods.value_or(true)) {
    warnings.push_back(access_text(request));
  }
  const bool is_news = facts.never_fits && facts.never_fits != facts.stored_never_fits;
  if (rules.capacity != Strictness::kOff && is_news) {
    warnings.push_back(fmt::format("{}: {}", facts.never_fits->field, facts.never_fits->why));
  }
  if (rules.host_access == Strictness::kWarn) {
    append(warnings, job::host_access_warnings(request.object));
  }
  append(warnings,
         job::reservation_seconds_warnings(request.object, rules.max_reservation_seconds));
  append(warnings, job::warnings_for(request.object));
  return warnings;
}

Reviewed validate(const AdmissionRequest& request, const Rules& rules, const Facts& facts,
                  bool spec_changes) {
  job::FieldErrors errors;
  if (spec_changes) errors = all_errors(request, rules, facts);
  append(errors, guarded_field_errors(request, rules.server_user));
  if (!errors.empty()) return refuse_for(request, errors);
  if (auto refused = refuse_access(request, rules, facts)) return {*std::move(refused)};
  return {allow(spec_changes ? all_warnings(request, rules, facts) : facts.warnings)};
}

}  // namespace

bool changes_spec(const AdmissionRequest& request) {
  if (answer_at_once(request, Hook::kValidate)) return false;
  return request.operation == "CREATE" ||
         !same_spec_but_requests(request.object, request.old_object);
}

std::vector<std::string_view> templates_to_ask(const AdmissionRequest& request) {
  std::vector<std::string_view> roles;
  // The hook does not matter: the same requests are answered at once for both.
  if (answer_at_once(request, Hook::kValidate)) return roles;
  const auto is_same = [&](std::initializer_list<std::string_view> path) {
    const Json* sent = kube::find(request.object, path);
    const Json* stored = kube::find(request.old_object, path);
    return sent == nullptr || stored == nullptr ? sent == stored : *sent == *stored;
  };
  const bool is_update = request.operation == "UPDATE";
  if (is_config(request)) {
    if (!is_update || !is_same({"spec", kConfigRole, "template"})) roles.push_back(kConfigRole);
    return roles;
  }
  const bool same_around =
      is_update && is_same({"spec", "volumes"}) && is_same({"spec", "priorityClassName"});
  for (const std::string_view role : job::kTemplateRoles) {
    if (kube::find(request.object, {"spec", role, "template"}) == nullptr) continue;
    if (!same_around || !is_same({"spec", role, "template"})) roles.push_back(role);
  }
  return roles;
}

Reviewed review(AdmissionRequest request, Hook hook, const Rules& rules, const Facts& facts) {
  if (auto answer = answer_at_once(request, hook)) return {*std::move(answer)};
  const bool spec_changes = changes_spec(request);
  if (spec_changes && rules.too_large != TooLarge::kNo) {
    return {refuse_size(request, rules.too_large)};
  }
  Reviewed reviewed = hook == Hook::kMutate ? mutate(request, rules, facts, spec_changes)
                                            : validate(request, rules, facts, spec_changes);
  kube::discard(request.object);
  kube::discard(request.old_object);
  return reviewed;
}

}  // namespace nervex::webhook
