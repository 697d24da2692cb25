#include "webhook/answer.h"

#include <fmt/format.h>

#include "kube/model/admission.h"

namespace nervex::webhook {
namespace {

HttpReply problem(int status, std::string text) {
  return {.status = status,
          .body = std::move(text) + "\n",
          .content_type = "text/plain",
          .headers = {}};
}

}  // namespace

HttpReply answer(const HttpRequest& request, Hook hook, const SchemaCheck* check,
                 const std::string& server_user) {
  if (request.method != "POST") {
    HttpReply reply = problem(405, "POST an AdmissionReview here");
    reply.headers.emplace("Allow", "POST");
    return reply;
  }
  auto decoded = kube::decode_review(request.body);
  if (!decoded) return problem(400, decoded.error().message);
  if (check == nullptr) {
    return problem(500, "nervex-webhook is not ready: the cluster's OpenAPI is not loaded yet");
  }
  const std::string uid = decoded->uid;
  const auto response = review(*std::move(decoded), hook, {*check, server_user});
  return {.status = 200,
          .body = kube::encode_review(uid, response),
          .content_type = "application/json",
          .headers = {}};
}

HttpReply refusal(int status, const std::string& reason) {
  return problem(status, "nervex-webhook refused the request: " + reason);
}

}  // namespace nervex::webhook
