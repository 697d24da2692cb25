// webhook/recent_answers.h - which answers of the API server are reused for a few seconds?
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/expiring_cache.h"
#include "base/mutex.h"
#include "kube/api.h"

namespace nervex::webhook {

// An API that caches successful GETs and allowed SubjectAccessReviews for a few seconds: each new
// job causes the same requests over TLS. Negative answers are not cached, so a user's fix takes
// effect at once; a revoked right remains valid for that time. All other requests pass through.
// Thread-safe. Bounded in bytes. Requests are stored as hashes, and an answer to a
// SubjectAccessReview, which echoes the request, as {"status":{"allowed":true}}; send() returns
// that. A request's before_sending is called first unless the answer is cached.
class RecentAnswers final : public kube::Api {
 public:
  static constexpr std::chrono::seconds kAge{5};
  static constexpr std::size_t kMaxBytes = std::size_t{4} << 20U;

  // Both are borrowed.
  RecentAnswers(kube::Api& api, const Clock& clock) : api_(api), clock_(clock) {}

  Result<std::string> send(const kube::ApiRequest& request) override;
  Result<Nothing> stream(const std::string& path,
                         const std::function<bool(std::string_view line)>& on_line,
                         std::stop_token stop) override {
    return api_.stream(path, on_line, std::move(stop));
  }

 private:
  std::optional<std::string> known(const std::string& question);

  kube::Api& api_;
  const Clock& clock_;
  Mutex mutex_;
  // By the hash of the request's path and body.
  ExpiringCache<std::string> answers_ GUARDED_BY(mutex_){kMaxBytes};
};

}  // namespace nervex::webhook
