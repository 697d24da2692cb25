#include "webhook/review.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "job/names.h"
#include "job/types.h"
#include "job/validate.h"
#include "kube/model/anti_affinity.h"

namespace nervex::webhook {
namespace {

using kube::AdmissionRequest;
using kube::AdmissionResponse;

constexpr std::string_view kGroup = job::kApiVersion.substr(0, job::kApiVersion.find('/'));
constexpr const char* kRequests = "requests";

std::string name_in(const AdmissionRequest& request) {
  constexpr std::size_t kMaxShown = 253;  // what is longer is no name
  std::string name = request.name;
  if (name.empty()) name = kube::string_at(request.object, {"metadata", "name"});
  if (name.empty()) name = kube::string_at(request.object, {"metadata", "generateName"});
  return cut_text(name, kMaxShown);
}

AdmissionResponse refuse(const AdmissionRequest& request, int code, std::string message,
                         std::vector<kube::StatusCause> causes = {}) {
  const bool is_job = request.kind == job::kKind;
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

AdmissionResponse allow(std::vector<std::string> warnings = {}, Json patch = nullptr) {
  return {.allowed = true,
          .code = 0,
          .message = "",
          .details = {},
          .patch = std::move(patch),
          .warnings = std::move(warnings)};
}

// A request that our configuration does not ask for: somebody routed it here. What the validating
// hook cannot judge it refuses.
AdmissionResponse not_ours(const AdmissionRequest& request, Hook hook) {
  const std::string text =
      fmt::format("nervex-webhook does not check {} of {}", request.operation, request.kind);
  if (hook == Hook::kMutate) return allow({text});
  return refuse(request, 400, text);
}

// The answers that need no look at the spec.
std::optional<AdmissionResponse> answer_at_once(const AdmissionRequest& request, Hook hook) {
  if (request.kind != job::kKind) return not_ours(request, hook);
  if (request.operation == "DELETE" || !request.sub_resource.empty()) return allow();
  const bool update = request.operation == "UPDATE";
  if (!update && request.operation != "CREATE") return not_ours(request, hook);
  if (!request.object.is_object()) return refuse(request, 400, "the review holds no object");
  // Finalizers of a deleted job must come off, whatever its spec is.
  if (update && kube::find(request.object, {"metadata", "deletionTimestamp"})) return allow();
  return std::nullopt;
}

// spec.requests is nervex-server's own part of a job: one writer per fact. None on create, not even
// by the server.
bool may_change_requests(const AdmissionRequest& request, const Rules& rules) {
  return request.operation == "UPDATE" && request.user == rules.server_user;
}

const Json* spec_of(const Json& object) {
  const Json* spec = kube::find(object, {"spec"});
  return spec != nullptr && spec->is_object() ? spec : nullptr;
}

// JSON Patch that gives `object` the spec.requests of `old_object` (null: none). Empty if it has
// them, or if there is no spec.
Json restore_requests(const Json& object, const Json& old_object) {
  Json patch = Json::array();
  const Json* spec = spec_of(object);
  if (spec == nullptr) return patch;
  const Json* stored = kube::find(old_object, {"spec", kRequests});
  const Json* sent = kube::find(*spec, {kRequests});
  if (stored == nullptr) {
    if (sent != nullptr) patch.push_back({{"op", "remove"}, {"path", "/spec/requests"}});
  } else if (sent == nullptr || *sent != *stored) {
    patch.push_back({{"op", "add"}, {"path", "/spec/requests"}, {"value", *stored}});
  }
  return patch;
}

// Every member of `a` but the requests is in `b` and the same there.
bool covers(const Json& a, const Json& b) {
  for (const auto& [key, value] : a.items()) {
    if (key == kRequests) continue;
    const auto at = b.find(key);
    if (at == b.end() || *at != value) return false;
  }
  return true;
}

// The specs are the same, spec.requests aside. False if one has no spec.
bool same_spec_but_requests(const Json& object, const Json& old_object) {
  const Json* spec = spec_of(object);
  const Json* old_spec = spec_of(old_object);
  return spec != nullptr && old_spec != nullptr && covers(*spec, *old_spec) &&
         covers(*old_spec, *spec);
}

job::FieldErrors all_errors(const Json& object, const Json& old_object, const Rules& rules) {
  job::FieldErrors errors = job::validate_job(object);
  for (auto& error : job::check_pod_count(object, old_object)) errors.push_back(std::move(error));
  std::set<std::string, std::less<>> reported;
  for (const auto& error : errors) reported.insert(error.field);
  for (auto& error : rules.schema.errors_of(object)) {
    if (!reported.contains(error.field)) errors.push_back(std::move(error));
  }
  return errors;
}

std::vector<kube::StatusCause> causes_of(const job::FieldErrors& errors) {
  std::vector<kube::StatusCause> causes;
  for (const auto& error : errors) {
    if (causes.size() == job::kMaxListedErrors) break;
    causes.push_back({std::string(cause_type(error.type)), message_of(error), error.field});
  }
  if (const std::size_t more = errors.size() - causes.size(); more > 0) {
    causes.push_back({std::string(cause_type(job::FieldErrorType::kInvalid)),
                      fmt::format("{} more fields are wrong", more), "metadata and spec"});
  }
  return causes;
}

AdmissionResponse refuse_for(const AdmissionRequest& request, const job::FieldErrors& errors) {
  return refuse(request, 422,
                fmt::format("{}.{} \"{}\" is invalid: {}", job::kKind, kGroup, name_in(request),
                            to_string(errors)),
                causes_of(errors));
}

void append(Json& patch, const Json& more) { patch.insert(patch.end(), more.begin(), more.end()); }

AdmissionResponse mutate(AdmissionRequest& request, const Rules& rules, bool spec_changes) {
  Json patch = Json::array();
  std::vector<std::string> warnings;
  if (!may_change_requests(request, rules)) {
    patch = restore_requests(request.object, request.old_object);
    if (!patch.empty()) {
      warnings.push_back("only nervex-server may change spec.requests: the change was dropped");
      request.object["spec"].erase(kRequests);  // what was sent is dropped, what is stored is good
    }
  }
  if (!spec_changes) return allow(std::move(warnings), std::move(patch));
  const Json defaults = job::default_patch(request.object);
  request.object.patch_inplace(defaults);  // as the API server will: a copy could be large
  append(patch, defaults);
  const auto errors = all_errors(request.object, request.old_object, rules);
  if (!errors.empty()) return refuse_for(request, errors);
  return allow(std::move(warnings), std::move(patch));
}

AdmissionResponse validate(const AdmissionRequest& request, const Rules& rules, bool spec_changes) {
  job::FieldErrors errors;
  if (spec_changes) errors = all_errors(request.object, request.old_object, rules);
  if (!may_change_requests(request, rules) &&
      !restore_requests(request.object, request.old_object).empty()) {
    errors.push_back(
        {job::FieldErrorType::kForbidden, "spec.requests", "", "only nervex-server may change it"});
  }
  if (!errors.empty()) return refuse_for(request, errors);
  return allow(spec_changes ? warnings_for(request.object) : std::vector<std::string>{});
}

}  // namespace

AdmissionResponse review(AdmissionRequest request, Hook hook, const Rules& rules) {
  if (auto answer = answer_at_once(request, hook)) return *std::move(answer);
  const bool spec_changes =
      request.operation == "CREATE" || !same_spec_but_requests(request.object, request.old_object);
  return hook == Hook::kMutate ? mutate(request, rules, spec_changes)
                               : validate(request, rules, spec_changes);
}

// ---- warnings

namespace {

bool reserves_capacity(const Json& spec, std::string_view role) {
  return kube::int_at(spec, {role, "minReplicas"}) > kube::int_at(spec, {role, "replicas"});
}

void warn_of_min_replicas(const Json& spec, std::vector<std::string>& warnings) {
  const bool reserves = reserves_capacity(spec, "collector") || reserves_capacity(spec, "learner");
  if (reserves && kube::int_at(spec, {"holdSeconds"}, 1) == 0) {
    warnings.push_back(
        "spec.holdSeconds: with 0, capacity of minReplicas is given back when the coordinator "
        "runs");
  }
}

kube::Labels labels_of(const Json& pod_template) {
  kube::Labels labels;
  const Json* written = kube::find(pod_template, {"metadata", "labels"});
  if (written == nullptr || !written->is_object()) return labels;
  for (const auto& [key, value] : written->items()) {
    if (value.is_string()) labels.emplace_back(key, value.get_ref<const std::string&>());
  }
  return labels;
}

// Whether the role's pods keep apart from each other and, by these terms, from no other pods: that
// is planned. `object` and `role` give the labels that the controller adds.
bool is_planned(const Json& terms, const Json& pod_template, const Json& object,
                std::string_view role) {
  kube::Labels labels = labels_of(pod_template);
  const std::string job = kube::string_at(object, {"metadata", "name"});
  labels.emplace_back(job::kGroupLabel, job::kGroupLabelValue);
  labels.emplace_back(job::kControllerLabel, job::kControllerLabelValue);
  labels.emplace_back(job::kJobLabel, job);
  labels.emplace_back(job::kRoleLabel, role);
  const std::string ns = kube::string_at(object, {"metadata", "namespace"});
  return kube::self_anti_affinity(terms, ns, labels).size() == terms.size();
}

// What depends on other pods or on devices is the scheduler's own: a plan may have to be made
// several times until it agrees.
std::string left_to_scheduler(const Json& pod_template, const Json& object, std::string_view role) {
  const Json* pod_spec = kube::find(pod_template, {"spec"});
  if (pod_spec == nullptr) return "";
  if (!kube::array_at(*pod_spec, {"topologySpreadConstraints"}).empty()) {
    return "topologySpreadConstraints";
  }
  if (!kube::array_at(*pod_spec, {"resourceClaims"}).empty()) return "resourceClaims";
  for (const auto kind : {"podAntiAffinity", "podAffinity"}) {
    const auto& terms = kube::array_at(
        *pod_spec, {"affinity", kind, "requiredDuringSchedulingIgnoredDuringExecution"});
    const bool may_be_planned = kind == std::string_view("podAntiAffinity");
    if (terms.empty() || (may_be_planned && is_planned(terms, pod_template, object, role))) {
      continue;
    }
    return kind;
  }
  return "";
}

void warn_of_unplanned(const Json& object, const Json& spec, std::vector<std::string>& warnings) {
  for (const auto role : {"coordinator", "collector", "learner"}) {
    const Json* pod_template = kube::find(spec, {role, "template"});
    if (pod_template == nullptr) continue;
    if (!kube::array_at(*pod_template, {"spec", "schedulingGates"}).empty()) {
      warnings.push_back(
          fmt::format("spec.{}.template: schedulingGates: no pod of the gang starts before the "
                      "gates of all are gone",
                      role));
    }
    const std::string what = left_to_scheduler(*pod_template, object, role);
    if (what.empty()) continue;
    warnings.push_back(fmt::format(
        "spec.{}.template: {} is best effort: left to kube-scheduler, not planned", role, what));
  }
}

}  // namespace

std::vector<std::string> warnings_for(const Json& object) {
  std::vector<std::string> warnings;
  const std::string policy = kube::string_at(
      object, {"spec", "coordinator", "template", "spec", "restartPolicy"}, "Never");
  if (!policy.empty() && policy != "Never") {
    // A container restarted in place would ask for a second full set of replicas.
    warnings.push_back(fmt::format(
        "spec.coordinator.template.spec.restartPolicy {}: a restarted coordinator starts the whole "
        "job again",
        policy));
  }
  const Json* spec = kube::find(object, {"spec"});
  if (spec == nullptr) return warnings;
  warn_of_min_replicas(*spec, warnings);
  warn_of_unplanned(object, *spec, warnings);
  return warnings;
}

}  // namespace nervex::webhook
