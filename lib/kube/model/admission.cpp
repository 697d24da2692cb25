#include "kube/model/admission.h"

#include <array>

#include <fmt/format.h>

#include "base/text.h"

namespace nervex::kube {
namespace {

constexpr std::string_view kApiVersion = "admission.k8s.io/v1";
// metadata.managedFields of request.object and oldObject: as large as the names of all fields
// together. Selected by level, which also covers spec and status; they have no such field.
constexpr MembersAt kManagedFields{"managedFields", 3};
// Larger reviews keep them: they count in the check for objects that are too large.
constexpr std::size_t kMaxBytesWithout = std::size_t{256} << 10U;
// The API server hides longer warnings from kubectl's users (admission.k8s.io/v1, warnings).
constexpr std::size_t kMaxWarning = 120;
constexpr std::size_t kMostLines = 4;  // of one warning

// Moves the object out of the review, so that a large job is not copied.
Json take(Json& request, const char* key) {
  const auto at = request.find(key);
  return at == request.end() ? Json() : std::move(*at);
}

std::vector<std::string> strings_in(const Json& array) {
  std::vector<std::string> strings;
  for (const auto& item : array) {
    if (item.is_string()) strings.push_back(item.get<std::string>());
  }
  return strings;
}

AdmissionRequest decode_request(Json& request) {
  AdmissionRequest result{
      .uid = string_at(request, {"uid"}),
      .operation = string_at(request, {"operation"}),
      .kind = string_at(request, {"kind", "kind"}),
      .ns = string_at(request, {"namespace"}),
      .name = string_at(request, {"name"}),
      .sub_resource = string_at(request, {"subResource"}),
      .user = string_at(request, {"userInfo", "username"}),
      .user_uid = string_at(request, {"userInfo", "uid"}),
      .groups = strings_in(array_at(request, {"userInfo", "groups"})),
      .dry_run = bool_at(request, {"dryRun"}),
      .object = take(request, "object"),
      .old_object = take(request, "oldObject"),
  };
  if (const Json* extra = find(request, {"userInfo", "extra"})) result.user_extra = *extra;
  return result;
}

const char* reason_for_code(int code) {
  switch (code) {
    case 400:
      return "BadRequest";
    case 413:
      return "RequestEntityTooLarge";
    case 422:
      return "Invalid";
    case 500:
      return "InternalError";
    default:
      return "Forbidden";
  }
}

Json encode_details(const StatusDetails& details) {
  Json encoded = {{"group", details.group}, {"kind", details.kind}, {"name", details.name}};
  for (const auto& cause : details.causes) {
    encoded["causes"].push_back(
        {{"reason", cause.reason}, {"message", cause.message}, {"field", cause.field}});
  }
  return encoded;
}

Json encode_refusal(const AdmissionResponse& response) {
  const int code = response.code == 0 ? 403 : response.code;
  Json status = {{"code", code}, {"reason", reason_for_code(code)}, {"message", response.message}};
  if (!response.details.kind.empty()) status["details"] = encode_details(response.details);
  return status;
}

}  // namespace

Result<AdmissionRequest> decode_review(std::string_view body) {
  const MembersAt skipped = body.size() <= kMaxBytesWithout ? kManagedFields : MembersAt{};
  auto review = parse_json(body, kMaxReviewDepth, skipped);
  if (!review) return with_context("admission review", review.error());
  if (string_at(*review, {"kind"}) != "AdmissionReview" ||
      string_at(*review, {"apiVersion"}) != kApiVersion) {
    return Error{Code::kInvalid, fmt::format("not an AdmissionReview of {}", kApiVersion)};
  }
  const auto request = review->find("request");
  if (request == review->end() || string_at(*request, {"uid"}).empty()) {
    return Error{Code::kInvalid, "admission review: request.uid is missing"};
  }
  return decode_request(*request);
}

std::string encode_review(const std::string& uid, const AdmissionResponse& response) {
  std::string text = fmt::format(
      R"({{"apiVersion":"{}","kind":"AdmissionReview","response":{{"uid":)", kApiVersion);
  append_text(text, uid);
  text += response.allowed ? R"(,"allowed":true)" : R"(,"allowed":false,"status":)";
  if (!response.allowed) text += to_text(encode_refusal(response));
  if (response.allowed && response.patch.is_array() && !response.patch.empty()) {
    text += R"(,"patchType":"JSONPatch","patch":")" + base64_encode(to_text(response.patch)) + '"';
  }
  if (!response.warnings.empty()) {
    std::vector<std::string> warnings;
    for (const auto& warning : response.warnings) {
      for (auto& line : wrap_text(warning, kMaxWarning, kMostLines))
        warnings.push_back(std::move(line));
    }
    text += R"(,"warnings":)";
    append_texts(text, warnings);
  }
  text += "}}";
  return text;
}

}  // namespace nervex::kube
