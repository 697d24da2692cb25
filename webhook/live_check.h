// webhook/live_check.h - the schema check of the cluster as it is: fetched from its API server.
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

// A field that the schema does not know may be one of a newer cluster: the index is asked again
// then, but not more often than this.
inline constexpr std::chrono::seconds kLookAgainAfter{10};
// What a review waits for it at most, of the 5 s that its caller waits. The answer of an API server
// that is slower is there for the next review.
inline constexpr std::chrono::milliseconds kLookAgainTimeout{1'000};

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
  // minutes, for clusters are upgraded under a running webhook, and when newer_than() asks for it.
  // Logs failures.
  void keep_loaded(const std::stop_token& stop);

  // Null until the first load.
  std::shared_ptr<const job::SchemaCheck> current() const;
  // For who met a field that `outdated` does not know: current(), after a load() by the thread in
  // keep_loaded() if it still is `outdated` and nobody looked within kLookAgainAfter. Waits for
  // that load, or for one that is under way, `timeout` at most, and then goes on with what there
  // is.
  std::shared_ptr<const job::SchemaCheck> newer_than(const job::SchemaCheck& outdated,
                                                     std::chrono::milliseconds timeout);
  // Tells the documents that checks are made from apart; "" if the API server does not.
  std::string version() const;
  // For /readyz: there is a check.
  Result<Nothing> check_ready() const;

 private:
  bool begin_loading();
  void end_loading();
  Result<Nothing> load_now();
  void wait_for_work(std::chrono::milliseconds at_most, const std::stop_token& stop);

  kube::Api& api_;
  const Clock& clock_;
  mutable Mutex mutex_;
  CondVar changed_;                             // is_wanted_ or loads_
  bool is_wanted_ GUARDED_BY(mutex_) = false;   // a load, before its time
  std::uint64_t loads_ GUARDED_BY(mutex_) = 0;  // that have ended
  bool is_loading_ GUARDED_BY(mutex_) = false;
  std::optional<MonoTime> looked_ GUARDED_BY(mutex_);
  // Of the document that the check was made from; "" if it has none.
  std::string version_ GUARDED_BY(mutex_);
  std::shared_ptr<const job::SchemaCheck> check_ GUARDED_BY(mutex_);
};

}  // namespace nervex::webhook
