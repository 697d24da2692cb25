// webhook/live_check.h - the schema check of the cluster as it is: fetched from its API server.
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>

#include "base/mutex.h"
#include "kube/api.h"
#include "webhook/schema_check.h"

namespace nervex::webhook {

// Thread-safe but for load() and keep_loaded(), which one thread calls.
class LiveCheck {
 public:
  explicit LiveCheck(kube::Api& api) : api_(api) {}
  LiveCheck(const LiveCheck&) = delete;
  LiveCheck& operator=(const LiveCheck&) = delete;

  // Fetches the cluster's OpenAPI and makes the check from it, if it is another one than last time:
  // the index (some kB) tells by a hash. On an Error what was there stays.
  Result<Nothing> load();
  // load() until `stop` is requested: each second until there is a check, and then every ten
  // minutes, for clusters are upgraded under a running webhook. Logs failures.
  void keep_loaded(const std::stop_token& stop);

  // Null until the first load.
  std::shared_ptr<const SchemaCheck> current() const;
  // For /readyz: there is a check.
  Result<Nothing> check_ready() const;

 private:
  kube::Api& api_;
  std::string version_;  // of the document that the check was made from; "" if it has none
  mutable Mutex mutex_;
  std::shared_ptr<const SchemaCheck> check_ GUARDED_BY(mutex_);
};

}  // namespace nervex::webhook
