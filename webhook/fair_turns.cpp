#include "webhook/fair_turns.h"

#include <algorithm>
#include <chrono>
#include <tuple>

namespace nervex::webhook {
namespace {

// How soon a call that waits sees that it is answered. Nothing tells it.
constexpr std::chrono::milliseconds kLookAgain{20};

}  // namespace

FairTurns::Ticket FairTurns::enter(const std::string& peer) {
  Ticket ticket;
  bool is_new = false;
  std::tie(ticket.peer, is_new) = peers_.try_emplace(peer);
  ticket.number = ++tickets_;
  Peer& one = ticket.peer->second;
  one.waiting.insert(ticket.number);
  if (is_new) {
    one.round = round_ + 1;
    turns_.insert(next_of(one));
  }
  return ticket;
}

bool FairTurns::take(const Ticket& ticket, MonoTime now) {
  refill(now);
  const std::uint64_t round = ticket.peer->second.round;
  if (left_ < 1 || *turns_.begin() != Turn{round, ticket.number}) return false;
  left_ -= 1;
  round_ = round;
  remove(ticket, 1);
  return true;
}

// An address without a call is forgotten: that of its next one would be as if it were new.
void FairTurns::remove(const Ticket& ticket, std::uint64_t rounds) {
  Peer& peer = ticket.peer->second;
  turns_.erase(next_of(peer));
  peer.waiting.erase(ticket.number);
  peer.round += rounds;
  if (peer.waiting.empty()) {
    peers_.erase(ticket.peer);
  } else {
    turns_.insert(next_of(peer));
  }
}

MonoTime FairTurns::next_turn(MonoTime now) const {
  const double missing = std::max(1 - left_, 0.0);
  const std::chrono::duration<double> wait(missing / rate_.per_second);
  return now + std::chrono::ceil<std::chrono::milliseconds>(wait);
}

void FairTurns::refill(MonoTime now) {
  const std::chrono::duration<double> passed = now - refilled_;
  left_ = std::min(rate_.burst, left_ + passed.count() * rate_.per_second);
  refilled_ = now;
}

Result<Nothing> QuestionLimit::wait_for_turn(const std::string& peer, MonoTime deadline,
                                             const std::function<bool()>& is_answered) {
  const MutexLock lock(mutex_);
  const auto ticket = turns_.enter(peer);
  bool answered = false;
  for (;;) {
    const MonoTime now = clock_.mono();
    answered = is_answered();
    if (answered) break;
    if (turns_.take(ticket, now)) {
      changed_.notify_all();  // another one is first now
      return ok();
    }
    if (now >= deadline) break;
    changed_.wait_until(mutex_, std::min({deadline, turns_.next_turn(now), now + kLookAgain}));
  }
  turns_.leave(ticket);
  changed_.notify_all();
  if (answered) return ok();
  return Error{Code::kTransient, "too many jobs are being checked at once"};
}

}  // namespace nervex::webhook
