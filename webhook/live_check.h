// webhook/live_check.h - the schema check of the cluster as it is: fetched from its API server.
#pragma once

#include <atomic>
#include <memory>
#include <stop_token>
#include <string>

#include "kube/api.h"
#include "webhook/schema_check.h"

namespace nervex::webhook {

// Thread-safe.
class LiveCheck {
 public:
  explicit LiveCheck(kube::Api& api) : api_(api) {}
  LiveCheck(const LiveCheck&) = delete;
  LiveCheck& operator=(const LiveCheck&) = delete;

  // Fetches the cluster's OpenAPI and makes the check from it. On an Error what was there stays.
  Result<Nothing> load();
  // load() until it succeeds or `stop` is requested; logs failures, waits a second between them.
  void load_until_done(std::stop_token stop);

  // Null until the first load.
  std::shared_ptr<const SchemaCheck> current() const { return check_.load(); }
  // For /readyz: "" when there is a check.
  std::string not_ready() const;

 private:
  kube::Api& api_;
  std::atomic<std::shared_ptr<const SchemaCheck>> check_;
};

}  // namespace nervex::webhook
