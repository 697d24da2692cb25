// kube/leader/leadership.h - the threads that take part in an election, who waits for its outcome,
// and may this write be sent? Only by who leads at this very moment.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "kube/api.h"
#include "kube/leader/election.h"

namespace nervex::kube {

// Two threads from start() until release() or destruction: one that reads and writes the lease, and
// one that watches the renew deadline, which the first cannot do while it waits for an API server
// that does not answer. All else is thread-safe.
class Leadership {
 public:
  // No election (`lease` is empty): leads from start() on. `lost` is called once, on one of the
  // threads, if leadership is lost; the process should end then, for what it knows may be stale.
  Leadership(Api& api, const Clock& clock, std::optional<LeaseOptions> lease,
             std::function<void()> lost);
  ~Leadership();
  Leadership(const Leadership&) = delete;
  Leadership& operator=(const Leadership&) = delete;

  void start();
  // Ends the threads and gives the lease back, so that another candidate leads at once. Call when
  // what the leader does has ended: writes are refused from here on. Waits for requests under way.
  void release();

  // Blocks until this process leads (true) or `stop` is requested (false).
  bool wait(const std::stop_token& stop);
  bool is_leader() const;
  // A write may be sent now. Costs one look at the clock.
  bool may_write() const;
  // For readiness: it leads or could take over. kTransient: it cannot read or write the lease.
  Result<Nothing> check_ready() const;
  // For liveness, as client-go's HealthzAdaptor. kTransient: the leader has not renewed for far
  // longer than its lease, and has not noticed.
  Result<Nothing> check_live() const;

 private:
  void campaign(const std::stop_token& stop);
  void watch_deadline(const std::stop_token& stop);
  void tell();

  std::optional<LeaseElection> election_;
  const std::function<void()> lost_;
  std::atomic<bool> leads_without_election_ = false;
  std::once_flag lost_reported_;
  Mutex mutex_;
  CondVar changed_;  // is_leader(), a stop
  std::jthread deadline_;
  std::jthread campaign_;
};

// The API as a leader's work sees it. Each mutating request asks the monotonic clock just before it
// is sent whether the lease still holds; if not, it is kTransient and nothing is sent. Reads pass.
//
// This is no fence: a request that was sent in time may be carried out late. What two leaders must
// never both do is guarded by UIDs and resourceVersions besides. Thread-safe.
class LeaderApi final : public Api {
 public:
  LeaderApi(Api& api, const Leadership& leadership) : api_(api), leadership_(leadership) {}

  Result<std::string> send(const ApiRequest& request) override;
  Result<Nothing> stream(const std::string& path,
                         const std::function<bool(std::string_view line)>& on_line,
                         std::stop_token stop) override;

 private:
  Api& api_;
  const Leadership& leadership_;
};

}  // namespace nervex::kube
