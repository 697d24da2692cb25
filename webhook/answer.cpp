#include "webhook/answer.h"

#include <fmt/format.h>

#include "kube/model/admission.h"
#include "webhook/review_memory.h"

namespace nervex::webhook {
namespace {

HttpReply problem(int status, std::string text) {
  return {.status = status,
          .body = std::move(text) + "\n",
          .content_type = "text/plain",
          .headers = {}};
}

}  // namespace

HttpReply answer(const HttpRequest& request, Hook hook, const Sources& sources) {
  if (request.method != "POST") {
    HttpReply reply = problem(405, "POST an AdmissionReview here");
    reply.headers.emplace("Allow", "POST");
    return reply;
  }
  const auto check = sources.check();
  if (check == nullptr) {
    return problem(500, "nervex-webhook is not ready: the cluster's OpenAPI is not loaded yet");
  }
  auto decoded = kube::decode_review(request.body);
  if (!decoded) return problem(400, decoded.error().message);
  const std::string uid = decoded->uid;
  const bool is_too_large =
      is_too_large_to_change(*decoded, request.body.size(), sources.review_bytes);
  const Facts facts = is_too_large ? Facts{} : sources.facts(*decoded, hook, request.received);
  const auto rules_with = [&](const job::SchemaCheck& schema) {
    return Rules{schema,           sources.server_user, sources.host_access, sources.pod_access,
                 sources.capacity, is_too_large};
  };
  auto reviewed = review(*std::move(decoded), hook, rules_with(*check), facts);
  if (reviewed.has_unknown_fields) {
    // The cluster may have been upgraded a moment ago. The review was taken apart, so it is decoded
    // once more.
    const auto newer = sources.newer_check(*check, request.received);
    if (newer != check) {
      reviewed = review(*kube::decode_review(request.body), hook, rules_with(*newer), facts);
    }
  }
  return {.status = 200,
          .body = kube::encode_review(uid, reviewed.response),
          .content_type = "application/json",
          .headers = {}};
}

HttpReply refusal(int status, const std::string& reason) {
  return problem(status, "nervex-webhook refused the request: " + reason);
}

}  // namespace nervex::webhook
