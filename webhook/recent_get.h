// webhook/recent_get.h - is an object that was there a moment ago worth asking for again? No.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "kube/api.h"

namespace nervex::webhook {

// An API that remembers what its last GET found, for a few seconds: each new job leads to the same
// question, which is a call over TLS. What was not found is asked for each time, so that a user
// who creates it sees the effect at once. Everything else is passed on.
class RecentGet final : public kube::Api {
 public:
  static constexpr std::chrono::seconds kAge{5};

  // Both are borrowed.
  RecentGet(kube::Api& api, const Clock& clock) : api_(api), clock_(clock) {}

  Result<std::string> send(const kube::ApiRequest& request) override;
  Result<Nothing> stream(const std::string& path,
                         const std::function<bool(std::string_view line)>& on_line,
                         std::stop_token stop) override {
    return api_.stream(path, on_line, std::move(stop));
  }

 private:
  struct Found {
    std::string path;
    std::string body;
    MonoTime since;
  };

  kube::Api& api_;
  const Clock& clock_;
  Mutex mutex_;
  std::optional<Found> found_ GUARDED_BY(mutex_);
};

}  // namespace nervex::webhook
