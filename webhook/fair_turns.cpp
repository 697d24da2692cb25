#include "webhook/fair_turns.h"

#include <algorithm>
#include <chrono>

namespace nervex::webhook {
namespace {

// How soon a waiting call notices that it is answered. There is no notification.
constexpr std::chrono::milliseconds kLookAgain{20};

}  // namespace

FairTurns::Ticket FairTurns::enter(const std::string& peer) {
  Ticket ticket;
  ticket.peer = peers_.try_emplace(peer).first;
  ticket.number = ++tickets_;
  update(ticket.peer, [&](Peer& one) {
    if (one.waiting.empty()) one.round = round_ + 1;  // it has gathered no turns meanwhile
    one.waiting.insert(ticket.number);
  });
  return ticket;
}

bool FairTurns::take(const Ticket& ticket, MonoTime now) {
  refill(now);
  const std::uint64_t round = ticket.peer->second.round;
  if (left_ < 1 || turns_.empty() || *turns_.begin() != Turn{round, ticket.number}) return false;
  left_ -= 1;
  round_ = round;
  update(ticket.peer, [&](Peer& peer) {
    peer.waiting.erase(ticket.number);
    peer.round += 1;
    peer.under_way += 1;
  });
  return true;
}

void FairTurns::finish(const std::string& peer) {
  update(peers_.find(peer), [this](Peer& one) {
    one.under_way -= 1;
    one.round = std::max(one.round, round_);  // at its limit it has gathered no turns
  });
}

void FairTurns::leave(const Ticket& ticket) {
  update(ticket.peer, [&](Peer& peer) { peer.waiting.erase(ticket.number); });
}

// Changes an address and its place in the order. An address without calls and turns is forgotten.
template <typename Change>
void FairTurns::update(Peers::iterator peer, Change change) {
  Peer& one = peer->second;
  if (may_take(one)) turns_.erase(peer_turn(one));
  change(one);
  if (may_take(one)) turns_.insert(peer_turn(one));
  if (one.waiting.empty() && one.under_way == 0) peers_.erase(peer);
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

Result<QuestionLimit::Turn> QuestionLimit::wait_for_turn(const std::string& peer, MonoTime deadline,
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
      return Turn(*this, peer);
    }
    if (now >= deadline) break;
    // A turn may be there already, while this address has too many under way: finish() wakes it.
    const MonoTime next = turns_.next_turn(now);
    const MonoTime look = now + kLookAgain;
    changed_.wait_until(mutex_, std::min({deadline, next > now ? next : look, look}));
  }
  turns_.leave(ticket);
  changed_.notify_all();
  if (answered) return Turn();
  return Error{Code::kTransient, "too many jobs are being checked at once"};
}

void QuestionLimit::finish(const std::string& peer) {
  const MutexLock lock(mutex_);
  turns_.finish(peer);
  changed_.notify_all();
}

}  // namespace nervex::webhook
