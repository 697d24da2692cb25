// kube/model/admission.h - what does an admission review v1 contain? Request and response.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kube/model/json.h"

namespace nervex::kube {

struct AdmissionRequest {
  std::string uid;
  std::string operation;  // CREATE, UPDATE, DELETE, CONNECT
  std::string kind;
  std::string ns;
  std::string name;
  std::string sub_resource;
  std::string user;
  std::string user_uid;
  std::vector<std::string> groups;
  Json user_extra = Json::object();  // {key: [values]}; a SubjectAccessReview needs it too
  bool dry_run = false;
  Json object;      // null on DELETE
  Json old_object;  // null on CREATE
};

// metav1.StatusCause: one wrong field of a refused object.
struct StatusCause {
  std::string reason;   // metav1.CauseType: FieldValueRequired, FieldValueInvalid, ...
  std::string message;  // for people; does not repeat the field
  std::string field;    // spec.coordinator.template.spec.containers[0].image
  bool operator==(const StatusCause&) const = default;
};

// metav1.StatusDetails. For an Invalid answer kubectl prints these instead of the message: kind and
// name, then one line for each cause.
struct StatusDetails {
  std::string group;
  std::string kind;  // empty: no details
  std::string name;
  std::vector<StatusCause> causes;
  bool operator==(const StatusDetails&) const = default;
};

struct AdmissionResponse {
  bool allowed = true;
  int code = 0;                       // of a refusal: 400, 403, 413, 422, 500
  std::string message;                // of a refusal
  StatusDetails details;              // of a refusal
  Json patch;                         // array of JSON Patch operations; null or empty: no patch
  std::vector<std::string> warnings;  // the codec wraps each into lines of 120 characters
  bool operator==(const AdmissionResponse&) const = default;
};

// Kubernetes' own objects use a third of it. Every level costs stack on each review thread.
inline constexpr int kMaxReviewDepth = 100;
// kInvalid if this is not an admission.k8s.io/v1 AdmissionReview with a request. The result may
// omit the objects' metadata.managedFields.
Result<AdmissionRequest> decode_review(std::string_view body);
// The answer to request `uid`; the patch is base64 with patchType JSONPatch.
std::string encode_review(const std::string& uid, const AdmissionResponse& response);

// Standard base64 with padding.
std::string base64_encode(std::string_view bytes);
Result<std::string> base64_decode(std::string_view text);

}  // namespace nervex::kube
