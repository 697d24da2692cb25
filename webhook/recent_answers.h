// webhook/recent_answers.h - is what the API server said a moment ago worth asking for again? No.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "kube/api.h"

namespace nervex::webhook {

// An API that remembers for a few seconds what a GET has found and what a SubjectAccessReview has
// allowed: each new job leads to the same questions, which are calls over TLS. What was not found
// or not allowed is asked for each time, so that a user who changes it sees the effect at once; a
// right that is taken away counts for that long still. Everything else is passed on. Thread-safe.
class RecentAnswers final : public kube::Api {
 public:
  static constexpr std::chrono::seconds kAge{5};
  static constexpr std::size_t kMost = 256;

  // Both are borrowed.
  RecentAnswers(kube::Api& api, const Clock& clock) : api_(api), clock_(clock) {}

  Result<std::string> send(const kube::ApiRequest& request) override;
  Result<Nothing> stream(const std::string& path,
                         const std::function<bool(std::string_view line)>& on_line,
                         std::stop_token stop) override {
    return api_.stream(path, on_line, std::move(stop));
  }

 private:
  struct Answer {
    std::string body;
    MonoTime since;
  };

  void keep(std::string question, std::string body, MonoTime asked);

  kube::Api& api_;
  const Clock& clock_;
  Mutex mutex_;
  std::map<std::string, Answer> answers_ GUARDED_BY(mutex_);  // by path and body of the request
};

}  // namespace nervex::webhook
