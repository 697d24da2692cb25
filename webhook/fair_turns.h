// webhook/fair_turns.h - may this caller make the program ask the API server something now?
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/mutex.h"

namespace nervex::webhook {

// Turns at a limited rate, shared fairly among the callers' addresses: who has had fewer of late
// comes first, however many calls another one makes at the same time. Pure but for what it keeps;
// not thread-safe.
class FairTurns {
 public:
  struct Rate {
    double per_second = 1;
    double burst = 1;  // at once, after a time without any
  };
  // Smaller is earlier.
  struct Ticket {
    std::uint64_t round = 0;
    std::uint64_t number = 0;
    auto operator<=>(const Ticket&) const = default;
  };

  explicit FairTurns(Rate rate) : rate_(rate), left_(rate.burst) {}

  // Puts a call of this address into the queue.
  Ticket enter(const std::string& peer);
  // Takes the ticket's turn, and it out of the queue. False: others are before it, or it is too
  // early.
  bool take(const Ticket& ticket, MonoTime now);
  // It waits no longer.
  void leave(const Ticket& ticket, const std::string& peer);
  // When the next turn can be taken.
  MonoTime next_turn(MonoTime now) const;

 private:
  void refill(MonoTime now);

  const Rate rate_;
  double left_;
  MonoTime refilled_{};
  std::uint64_t round_ = 0;  // of the turn that was taken last
  std::uint64_t tickets_ = 0;
  std::map<std::string, std::uint64_t> last_round_;  // by address, if it is later than round_
  std::set<Ticket> queue_;
};

// The same for many threads.
class QuestionLimit {
 public:
  explicit QuestionLimit(FairTurns::Rate rate) : turns_(rate) {}

  // Waits for a turn of this address, or until `is_answered()`, which takes none and is asked now
  // and then. kTransient: there was none until `deadline`.
  Result<Nothing> wait_for_turn(
      const std::string& peer, MonoTime deadline,
      const std::function<bool()>& is_answered = [] { return false; });

 private:
  const SystemClock clock_;
  Mutex mutex_;
  CondVar changed_;
  FairTurns turns_ GUARDED_BY(mutex_);
};

}  // namespace nervex::webhook
