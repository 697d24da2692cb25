// webhook/fair_turns.h - may this caller make the program ask the API server now?
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/mutex.h"

namespace nervex::webhook {

// Whether this caller may make a request to the API server now. May wait for that, but not after
// `is_answered()`: another caller has got the answer.
using MayAsk = std::function<Result<Nothing>(const std::function<bool()>& is_answered)>;

// Turns at a limited rate, shared fairly among the callers' addresses: addresses take turns one
// after the other, however many calls one of them makes at the same time. One address has at most
// `under_way` turns that have not ended: when the API server is slow, its questions must not queue
// up there before those of others. No I/O; not thread-safe.
class FairTurns {
  struct Peer;
  using Peers = std::map<std::string, Peer>;

 public:
  struct Rate {
    double per_second = 1;
    double burst = 1;      // at once, after a time without any
    int under_way = 1000;  // of one address
  };
  // A call in the queue, until its take() returns true or it leaves.
  class Ticket {
    friend class FairTurns;
    Peers::iterator peer;
    std::uint64_t number = 0;
  };

  explicit FairTurns(Rate rate) : rate_(rate), left_(rate.burst) {}

  // Adds a call of this address to the queue.
  Ticket enter(const std::string& peer);
  // Takes the ticket's turn, and the ticket out of the queue. False: others are before it, too many
  // turns of its address are under way, or it is too early. After true, finish() ends the turn.
  bool take(const Ticket& ticket, MonoTime now);
  void finish(const std::string& peer);
  // The call stops waiting.
  void leave(const Ticket& ticket);
  // When the next turn can be taken.
  MonoTime next_turn(MonoTime now) const;

 private:
  struct Peer {
    std::uint64_t round = 0;          // of its next turn: the current one, or the one after that
    std::set<std::uint64_t> waiting;  // calls
    int under_way = 0;                // turns that have not ended
  };
  struct Turn {  // an address's next turn; smaller is earlier
    std::uint64_t round = 0;
    std::uint64_t number = 0;
    auto operator<=>(const Turn&) const = default;
  };
  static Turn peer_turn(const Peer& peer) { return {peer.round, *peer.waiting.begin()}; }

  bool may_take(const Peer& peer) const {
    return !peer.waiting.empty() && peer.under_way < rate_.under_way;
  }
  template <typename Change>
  void update(Peers::iterator peer, Change change);
  void refill(MonoTime now);

  const Rate rate_;
  double left_;
  MonoTime refilled_{};
  std::uint64_t round_ = 0;  // of the last turn taken
  std::uint64_t tickets_ = 0;
  Peers peers_;           // those with a call in the queue or a turn under way
  std::set<Turn> turns_;  // the next turn of each that may take one
};

// The same, thread-safe.
class QuestionLimit {
 public:
  explicit QuestionLimit(FairTurns::Rate rate) : turns_(rate) {}

  // A turn that ends with this object.
  class Turn {
   public:
    Turn() = default;
    Turn(QuestionLimit& limit, std::string peer) : limit_(&limit), peer_(std::move(peer)) {}
    Turn(Turn&& other) noexcept
        : limit_(std::exchange(other.limit_, nullptr)), peer_(std::move(other.peer_)) {}
    Turn& operator=(Turn&& other) noexcept {
      end();
      limit_ = std::exchange(other.limit_, nullptr);
      peer_ = std::move(other.peer_);
      return *this;
    }
    ~Turn() { end(); }

   private:
    void end() {
      if (limit_ != nullptr) limit_->finish(peer_);
      limit_ = nullptr;
    }

    QuestionLimit* limit_ = nullptr;
    std::string peer_;
  };

  // Waits for a turn of this address, or until `is_answered()`, which is asked now and then: then
  // the turn is an empty one. kTransient: there was no turn until `deadline`.
  Result<Turn> wait_for_turn(
      const std::string& peer, MonoTime deadline,
      const std::function<bool()>& is_answered = [] { return false; });

 private:
  void finish(const std::string& peer);

  const SystemClock clock_;
  Mutex mutex_;
  CondVar changed_;
  FairTurns turns_ GUARDED_BY(mutex_);
};

}  // namespace nervex::webhook
