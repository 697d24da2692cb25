// kube/leader/election.h - what does one candidate in an election do? Reads and writes the Lease.
//
// try_acquire_or_renew() does what next_step() says; a thread calls it repeatedly
// (kube/leader/leadership). is_leader() and may_write(), for other threads, never wait for the API
// server.
#pragma once

#include <atomic>
#include <string>

#include "base/clock.h"
#include "kube/api.h"
#include "kube/leader/lease.h"

namespace nervex::kube {

class LeaseElection {
 public:
  // `options` must pass check().
  LeaseElection(Api& api, const Clock& clock, LeaseOptions options);
  LeaseElection(const LeaseElection&) = delete;
  LeaseElection& operator=(const LeaseElection&) = delete;

  // ---- by one thread

  // Reads the lease and takes, renews or gives up leadership. At most three requests, which may
  // take as long as the API server does. A lost election stays lost.
  void try_acquire_or_renew();
  // Gives the lease back, if it is ours. From the start of this call nothing may be written.
  void release();

  // ---- thread-safe

  bool is_leader() const { return state_.load() == State::kLeading; }
  // Led once, and will never lead again.
  bool is_lost() const { return state_.load() == State::kLost; }
  // No other process can lead yet: the last successful renewal began less than the lease duration
  // ago, on the monotonic clock. Reads the clock once.
  bool may_write() const;
  // Time since the last successful renewal began; zero if this is not the leader.
  std::chrono::nanoseconds unrenewed_for() const;
  // Time since the lease was last read or written, or since construction.
  std::chrono::nanoseconds unseen_for() const;
  // After the renew deadline leadership is lost, even while try_acquire_or_renew() waits. Returns
  // is_lost().
  bool lose_if_late();

  const LeaseOptions& options() const { return options_; }

 private:
  enum class State { kWaiting, kLeading, kLost };

  bool renew_quickly();
  bool look();  // false: the API server did not answer
  void note(Json lease);
  bool write(const LeaseRecord& record);
  void lead_since(MonoTime began);
  void lose(const std::string& why);
  std::string path() const { return api_path(kLeases, options_.lease.ns, options_.lease.name); }

  Api& api_;
  const Clock& clock_;
  const LeaseOptions options_;
  // Only for try_acquire_or_renew() and release():
  LeaseView view_;
  Json lease_;  // as last read or written; null if there is none
  std::string last_reported_holder_;
  // For all threads:
  std::atomic<State> state_ = State::kWaiting;
  std::atomic<MonoTime> renewed_at_{};  // while leading
  std::atomic<MonoTime> seen_at_;
};

}  // namespace nervex::kube
