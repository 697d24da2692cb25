#include "webhook/fair_turns.h"

#include <algorithm>
#include <chrono>

namespace nervex::webhook {
namespace {

// How soon a call that waits sees that it is answered. Nothing tells it.
constexpr std::chrono::milliseconds kLookAgain{20};

}  // namespace

FairTurns::Ticket FairTurns::enter(const std::string& peer) {
  std::uint64_t& last = last_round_[peer];
  last = std::max(last, round_) + 1;
  const Ticket ticket{last, ++tickets_};
  queue_.insert(ticket);
  return ticket;
}

bool FairTurns::take(const Ticket& ticket, MonoTime now) {
  refill(now);
  if (left_ < 1 || *queue_.begin() != ticket) return false;
  left_ -= 1;
  queue_.erase(queue_.begin());
  if (ticket.round != round_) {
    round_ = ticket.round;
    std::erase_if(last_round_, [this](const auto& one) { return one.second <= round_; });
  }
  return true;
}

void FairTurns::leave(const Ticket& ticket, const std::string& peer) {
  queue_.erase(ticket);
  const auto last = last_round_.find(peer);
  if (last != last_round_.end()) --last->second;  // it had no turn
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
  turns_.leave(ticket, peer);
  changed_.notify_all();
  if (answered) return ok();
  return Error{Code::kTransient, "too many jobs are being checked at once"};
}

}  // namespace nervex::webhook
