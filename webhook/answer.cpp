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

TooLarge judge_size(const kube::AdmissionRequest& request, std::size_t body_bytes,
                    std::size_t review_bytes) {
  if (is_too_large_to_change(request, body_bytes, review_bytes)) return TooLarge::kToChange;
  return is_too_large_to_store(request, body_bytes) ? TooLarge::kToStore : TooLarge::kNo;
}

}  // namespace

HttpReply answer(const HttpRequest& request, Hook hook, const Sources& sources) {
  if (request.method != "POST") {
    HttpReply reply = problem(405, "POST an AdmissionReview here");
    reply.headers.emplace("Allow", "POST");
    return reply;
  }
  auto check = sources.check();
  if (check == nullptr) {
    return problem(500, "nervex-webhook is not ready: the cluster's OpenAPI is not loaded yet");
  }
  auto decoded = kube::decode_review(request.body);
  if (!decoded) return problem(400, decoded.error().message);
  const std::string uid = decoded->uid;
  const TooLarge too_large = judge_size(*decoded, request.body.size(), sources.review_bytes);

  Facts facts;
  const auto gather = [&](const kube::AdmissionRequest& asked) {
    if (too_large == TooLarge::kNo) facts = sources.facts(asked, hook, request);
  };
  const auto judge = [&](kube::AdmissionRequest asked) {
    return review(
        std::move(asked), hook,
        {*check, sources.server_user, sources.host_access, sources.pod_access, sources.capacity,
         sources.max_reservation_seconds, too_large, sources.topology_levels},
        facts);
  };
  // A review consumes its request.
  const auto decode_again = [&] { return *kube::decode_review(request.body); };

  if (hook == Hook::kValidate) gather(*decoded);
  auto reviewed = judge(*std::move(decoded));
  if (reviewed.has_unknown_fields) {
    // The cluster may just have been upgraded.
    auto newer = sources.newer_check(*check, request.received);
    if (newer != check) {
      check = std::move(newer);
      reviewed = judge(decode_again());
    }
  }
  if (hook == Hook::kMutate && !reviewed.response.allowed) {
    // The validating hook does not follow a refusal, so this one includes the cluster's errors.
    auto asked = decode_again();
    gather(asked);
    reviewed = judge(std::move(asked));
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
