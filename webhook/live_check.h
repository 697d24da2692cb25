// webhook/live_check.h - the schema check of the cluster as it is: fetched from its API server.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "job/schema/schema_check.h"
#include "kube/api.h"

namespace nervex::webhook {

// A field that the schema does not know may be one of a newer cluster: the index is asked again
// then, but not more often than this.
inline constexpr std::chrono::seconds kLookAgainAfter{10};

// Thread-safe.
class LiveCheck {
 public:
  // Both are borrowed.
  LiveCheck(kube::Api& api, const Clock& clock) : api_(api), clock_(clock) {}
  LiveCheck(const LiveCheck&) = delete;
  LiveCheck& operator=(const LiveCheck&) = delete;

  // Fetches the cluster's OpenAPI and makes the check from it, if it is another one than last time:
  // the index (some kB) tells by a hash. On an Error what was there stays. While another thread
  // loads, nothing is done.
  Result<Nothing> load();
  // load() until `stop` is requested: each second until there is a check, and then every ten
  // minutes, for clusters are upgraded under a running webhook. Logs failures.
  void keep_loaded(const std::stop_token& stop);

  // Null until the first load.
  std::shared_ptr<const job::SchemaCheck> current() const;
  // For who met a field that `outdated` does not know: current(), after a load() if it still is
  // `outdated` and nobody looked within kLookAgainAfter. Waits for the API server.
  std::shared_ptr<const job::SchemaCheck> newer_than(const job::SchemaCheck& outdated);
  // Tells the documents that checks are made from apart; "" if the API server does not.
  std::string version() const;
  // For /readyz: there is a check.
  Result<Nothing> check_ready() const;

 private:
  bool begin_loading();
  void end_loading();
  Result<Nothing> load_now();

  kube::Api& api_;
  const Clock& clock_;
  mutable Mutex mutex_;
  bool is_loading_ GUARDED_BY(mutex_) = false;
  std::optional<MonoTime> looked_ GUARDED_BY(mutex_);
  // Of the document that the check was made from; "" if it has none.
  std::string version_ GUARDED_BY(mutex_);
  std::shared_ptr<const job::SchemaCheck> check_ GUARDED_BY(mutex_);
};

}  // namespace nervex::webhook
