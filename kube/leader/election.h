// kube/leader/election.h - one candidate's part in an election: reads and writes the Lease.
//
// try_acquire_or_renew() does what next_step() says; some thread calls it again and again
// (kube/leader/leadership).
// What others may ask, is_leader() and may_write(), never waits for the API server.
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

  // Looks at the lease and takes, renews or gives up leadership. At most three requests, which may
  // take as long as the API server does. An election that was lost stays lost.
  void try_acquire_or_renew();
  // Gives the lease back, if it is ours. From the begin of this call nothing may be written.
  void release();

  // ---- thread-safe

  bool is_leader() const { return state_.load() == State::kLeading; }
  // Led once, and never will again.
  bool is_lost() const { return state_.load() == State::kLost; }
  // Nobody else can lead yet: the last successful renewal was begun less than the lease duration
  // ago, on the monotonic clock. Costs one look at the clock.
  bool may_write() const;
  // Since the last successful renewal was begun; zero if this is not the leader.
  std::chrono::nanoseconds unrenewed_for() const;
  // Since the lease was last read or written; from the beginning on if it never was.
  std::chrono::nanoseconds unseen_for() const;
  // If the renew deadline is over, leadership is lost whatever try_acquire_or_renew() may be
  // waiting for. Returns is_lost().
  bool lose_if_late();

  const LeaseOptions& options() const { return options_; }

 private:
  enum class State { kWaiting, kLeading, kLost };

  bool renew_quickly();
  bool look();  // false: the API server could not be asked
  void note(Json lease);
  bool write(const LeaseRecord& record);
  void lead_since(MonoTime began);
  void lose(const std::string& why);
  std::string path() const { return api_path(kLeases, options_.lease.ns, options_.lease.name); }

  Api& api_;
  const Clock& clock_;
  const LeaseOptions options_;
  // By try_acquire_or_renew() and release() only:
  LeaseView view_;
  Json lease_;  // as last read or written; null if there is none
  std::string last_reported_holder_;
  // For all:
  std::atomic<State> state_ = State::kWaiting;
  std::atomic<MonoTime> renewed_at_{};  // while leading
  std::atomic<MonoTime> seen_at_;
};

}  // namespace nervex::kube
