// webhook/live_check.h - how does the webhook get the schema check of the current cluster?
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "job/schema/schema_check.h"
#include "kube/api.h"

namespace nervex::webhook {

// A field unknown to the schema may come from a newer cluster: then the index is read again, but at
// most once in this time.
inline constexpr std::chrono::seconds kLookAgainAfter{10};
// Longest wait of a review for it, out of its caller's 5 s. A slower answer serves the next review.
inline constexpr std::chrono::milliseconds kLookAgainTimeout{1'000};

// Thread-safe.
class LiveCheck {
 public:
  // Both are borrowed.
  LiveCheck(kube::Api& api, const Clock& clock) : api_(api), clock_(clock) {}
  LiveCheck(const LiveCheck&) = delete;
  LiveCheck& operator=(const LiveCheck&) = delete;

  // Fetches the cluster's OpenAPI and builds the check from it, if it has changed: the hash in the
  // index (some kB) shows that. On an Error the old check stays. Does nothing while another thread
  // loads.
  Result<Nothing> load();
  // Calls load() until `stop` is requested: every second until there is a check, then every ten
  // minutes, because clusters are upgraded under a running webhook, and when newer_than() requests
  // it. Logs failures.
  void keep_loaded(const std::stop_token& stop);

  // Null until the first load.
  std::shared_ptr<const job::SchemaCheck> current() const;
  // For a caller with a field that `outdated` does not know: current(), after a load() in
  // keep_loaded() if the check still is `outdated` and the last load is older than kLookAgainAfter.
  // Waits at most `timeout` for that or a running load, and then returns what there is.
  std::shared_ptr<const job::SchemaCheck> newer_than(const job::SchemaCheck& outdated,
                                                     std::chrono::milliseconds timeout);
  // Distinguishes the documents of checks; "" if the API server sends no hash.
  std::string version() const;
  // For /readyz: a check exists.
  Result<Nothing> check_ready() const;

 private:
  bool begin_loading();
  void end_loading();
  Result<Nothing> load_now();
  void wait_for_work(std::chrono::milliseconds at_most, const std::stop_token& stop);

  kube::Api& api_;
  const Clock& clock_;
  mutable Mutex mutex_;
  CondVar changed_;                             // is_wanted_ or loads_ changed
  bool is_wanted_ GUARDED_BY(mutex_) = false;   // an early load
  std::uint64_t loads_ GUARDED_BY(mutex_) = 0;  // finished loads
  bool is_loading_ GUARDED_BY(mutex_) = false;
  std::optional<MonoTime> looked_ GUARDED_BY(mutex_);
  // Of the check's document; "" if unknown.
  std::string version_ GUARDED_BY(mutex_);
  std::shared_ptr<const job::SchemaCheck> check_ GUARDED_BY(mutex_);
};

}  // namespace nervex::webhook
