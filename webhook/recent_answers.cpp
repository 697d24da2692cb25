#include "webhook/recent_answers.h"

#include "base/tls/sha256.h"
#include "kube/model/json.h"

namespace nervex::webhook {
namespace {

bool is_access_review(const kube::ApiRequest& request) {
  return request.method == "POST" && request.path.ends_with("/subjectaccessreviews");
}

bool is_allowed(const std::string& reply) {
  const auto review = kube::parse_json(reply, kube::kMaxJsonDepth, {"spec", 0});
  return review && kube::bool_at(*review, {"status", "allowed"});
}

constexpr const char* kAllowed = R"({"status":{"allowed":true}})";

}  // namespace

std::optional<std::string> RecentAnswers::known(const std::string& question) {
  const MutexLock lock(mutex_);
  const auto* answer = answers_.find(question, clock_.mono());
  return answer == nullptr ? std::nullopt : std::optional(*answer);
}

Result<std::string> RecentAnswers::send(const kube::ApiRequest& request) {
  const bool asks_for_access = is_access_review(request);
  if (request.method != "GET" && !asks_for_access) return api_.send(request);
  const std::string question = sha256_hex(request.path + "\n" + request.body);
  if (auto answer = known(question)) return *std::move(answer);
  if (request.before_sending) {
    const auto may = request.before_sending();
    // Another review may have asked the same while this one waited.
    if (auto answer = known(question)) return *std::move(answer);
    if (!may) return may.error();
  }
  const MonoTime asked = clock_.mono();
  kube::ApiRequest now = request;
  now.before_sending = {};
  auto reply = api_.send(now);
  if (reply && asks_for_access) {
    if (!is_allowed(*reply)) return reply;
    reply = std::string(kAllowed);
  }
  if (!reply) return reply;
  const MutexLock lock(mutex_);
  answers_.put(question, *reply, reply->size(), asked + kAge, asked);
  return reply;
}

}  // namespace nervex::webhook
