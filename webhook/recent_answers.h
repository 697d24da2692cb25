// webhook/recent_answers.h - is what the API server said a moment ago worth asking for again? No.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/expiring_cache.h"
#include "base/mutex.h"
#include "kube/api.h"

namespace nervex::webhook {

// An API that remembers for a few seconds what a GET has found and what a SubjectAccessReview has
// allowed: each new job leads to the same questions, which are calls over TLS. What was not found
// or not allowed is asked for each time, so that a user who changes it sees the effect at once; a
// right that is taken away counts for that long still. Everything else is passed on. Thread-safe.
//
// Bounded in bytes. Questions are kept as hashes, and an answer to a SubjectAccessReview, which
// repeats the question, as {"status":{"allowed":true}}: that is what send() returns of it. A
// request's before_sending is asked before all else of a question whose answer is not known.
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
