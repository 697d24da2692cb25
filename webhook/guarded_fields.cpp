#include "webhook/guarded_fields.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "job/names.h"
#include "job/types.h"
#include "job/warnings.h"

namespace nervex::webhook {
namespace {

using kube::AdmissionRequest;

bool is_create(const AdmissionRequest& request) { return request.operation == "CREATE"; }

// -- spec.requests: absent at first, even for the server

bool may_change_requests(const AdmissionRequest& request, const std::string& server_user) {
  return !is_create(request) && request.user == server_user;
}

// Empty if they are as stored, or there is no spec.
Json restore_requests(const AdmissionRequest& request) {
  Json patch = Json::array();
  const Json* spec = kube::find(request.object, {"spec"});
  if (spec == nullptr || !spec->is_object()) return patch;
  const Json* stored = kube::find(request.old_object, {"spec", "requests"});
  const Json* sent = kube::find(*spec, {"requests"});
  if (stored == nullptr) {
    if (sent != nullptr) patch.push_back({{"op", "remove"}, {"path", "/spec/requests"}});
  } else if (sent == nullptr || *sent != *stored) {
    patch.push_back({{"op", "add"}, {"path", "/spec/requests"}, {"value", *stored}});
  }
  return patch;
}

// -- who submitted the job: the user who creates it, later as stored

const Json* find_submitter(const Json& object) {
  return kube::find(object, {"metadata", "annotations", job::kSubmittedByAnnotation});
}

std::string submitter_field() {
  return fmt::format("metadata.annotations[{}]", job::kSubmittedByAnnotation);
}

// Null: unknown.
Json right_submitter(const AdmissionRequest& request) {
  if (is_create(request)) {
    return request.user.empty() ? Json() : Json(first_bytes(request.user, job::kMaxUserBytes));
  }
  const Json* stored = find_submitter(request.old_object);
  return stored == nullptr ? Json() : *stored;
}

// Empty if it is right, and for other kinds.
Json restore_submitter(const AdmissionRequest& request) {
  Json patch = Json::array();
  const Json* metadata = kube::find(request.object, {"metadata"});
  if (request.kind != job::kKind || metadata == nullptr || !metadata->is_object()) return patch;
  const Json* sent = find_submitter(request.object);
  Json right = right_submitter(request);
  if (sent == nullptr ? right.is_null() : *sent == right) return patch;
  const Json::json_pointer annotations("/metadata/annotations");
  const Json::json_pointer one = annotations / std::string(job::kSubmittedByAnnotation);
  const Json* others = kube::find(*metadata, {"annotations"});
  if (right.is_null()) {
    patch.push_back({{"op", "remove"}, {"path", one.to_string()}});
  } else if (others == nullptr || !others->is_object()) {
    patch.push_back({{"op", "add"},
                     {"path", annotations.to_string()},
                     {"value", {{job::kSubmittedByAnnotation, std::move(right)}}}});
  } else {
    patch.push_back({{"op", "add"}, {"path", one.to_string()}, {"value", std::move(right)}});
  }
  return patch;
}

}  // namespace

Json restore_guarded_fields(AdmissionRequest& request, const std::string& server_user,
                            std::vector<std::string>& warnings) {
  Json patch = Json::array();
  if (!may_change_requests(request, server_user)) patch = restore_requests(request);
  if (!patch.empty()) {
    warnings.emplace_back(job::kRequestsDropped);
    request.object["spec"].erase("requests");  // drops what was sent; stored requests are valid
  }
  const Json submitter = restore_submitter(request);
  const bool is_ignored = !is_create(request) && find_submitter(request.object) != nullptr;
  if (!submitter.empty() && is_ignored) {
    warnings.push_back(submitter_field() + " says who created the job: the change was ignored");
  }
  patch.insert(patch.end(), submitter.begin(), submitter.end());
  return patch;
}

job::FieldErrors guarded_field_errors(const AdmissionRequest& request,
                                      const std::string& server_user) {
  job::FieldErrors errors;
  if (!may_change_requests(request, server_user) && !restore_requests(request).empty()) {
    errors.push_back(
        {job::FieldErrorType::kForbidden, "spec.requests", "", "only nervex-server may change it"});
  }
  const bool is_unset = is_create(request) && find_submitter(request.object) == nullptr;
  if (!is_unset && !restore_submitter(request).empty()) {
    errors.push_back({job::FieldErrorType::kForbidden, submitter_field(), "",
                      "set by nervex-webhook to the user who creates the job, and fixed"});
  }
  return errors;
}

}  // namespace nervex::webhook
