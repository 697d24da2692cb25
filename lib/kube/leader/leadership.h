// kube/leader/leadership.h - which threads take part in an election, how does a program wait for
// its outcome, and may it write now?
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

// Two threads from start() until release() or destruction: one reads and writes the lease; the
// other watches the renew deadline, which the first cannot do while it waits for an unresponsive
// API server. All other members are thread-safe.
class Leadership {
 public:
  // An empty `lease` means no election: it leads from start() on. `lost` is called once, on one of
  // the threads, when leadership is lost: end the process then, as its caches may be stale.
  Leadership(Api& api, const Clock& clock, std::optional<LeaseOptions> lease,
             std::function<void()> lost);
  ~Leadership();
  Leadership(const Leadership&) = delete;
  Leadership& operator=(const Leadership&) = delete;

  void start();
  // Ends the threads and gives the lease back, so that another candidate leads at once. Call it
  // after the leader's work has ended: from here on writes are refused. Waits for current requests.
  void release();

  // Blocks until this process leads (true) or `stop` is requested (false).
  bool wait(const std::stop_token& stop);
  bool is_leader() const;
  // A write may be sent now. Reads the clock once.
  bool may_write() const;
  // For readiness: it leads or could take over. kTransient: it cannot read or write the lease.
  Result<Nothing> check_ready() const;
  // For liveness, as client-go's HealthzAdaptor. kTransient: the leader is far beyond its lease
  // without a renewal, and has not noticed.
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

// The API for a leader's work. Just before each mutating request is sent, the monotonic clock must
// show that the lease still holds; otherwise it is kTransient and nothing is sent. Reads pass.
//
// This is not a fence: a request that was sent in time may be executed late. UIDs and
// resourceVersions also guard what two leaders must never both do. Thread-safe.
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
