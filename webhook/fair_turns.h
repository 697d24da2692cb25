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

// Turns at a limited rate, shared fairly among the callers' addresses: they take turns one after
// the other, however many calls one of them makes at the same time. Pure but for what it keeps; not
// thread-safe.
class FairTurns {
  struct Peer;
  using Peers = std::map<std::string, Peer>;

 public:
  struct Rate {
    double per_second = 1;
    double burst = 1;  // at once, after a time without any
  };
  // A call in the queue, until its take() has returned true or it leaves.
  class Ticket {
    friend class FairTurns;
    Peers::iterator peer;
    std::uint64_t number = 0;
  };

  explicit FairTurns(Rate rate) : rate_(rate), left_(rate.burst) {}

  // Puts a call of this address into the queue.
  Ticket enter(const std::string& peer);
  // Takes the ticket's turn, and it out of the queue. False: others are before it, or it is too
  // early.
  bool take(const Ticket& ticket, MonoTime now);
  // It waits no longer.
  void leave(const Ticket& ticket) { remove(ticket, 0); }
  // When the next turn can be taken.
  MonoTime next_turn(MonoTime now) const;

 private:
  struct Peer {
    std::uint64_t round = 0;          // of its next turn: the current one, or the one after that
    std::set<std::uint64_t> waiting;  // calls; an address has one at least
  };
  struct Turn {  // the next of an address; smaller is earlier
    std::uint64_t round = 0;
    std::uint64_t number = 0;
    auto operator<=>(const Turn&) const = default;
  };
  static Turn next_of(const Peer& peer) { return {peer.round, *peer.waiting.begin()}; }

  void remove(const Ticket& ticket, std::uint64_t rounds);
  void refill(MonoTime now);

  const Rate rate_;
  double left_;
  MonoTime refilled_{};
  std::uint64_t round_ = 0;  // of the turn that was taken last
  std::uint64_t tickets_ = 0;
  Peers peers_;           // those with a call in the queue
  std::set<Turn> turns_;  // one of each
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
