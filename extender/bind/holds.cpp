#include "extender/bind/holds.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/duration.h"

namespace nervex::extender {
namespace {

using std::chrono::milliseconds;

// How often a held call checks whether its caller is still connected.
constexpr milliseconds kLook{1000};

Result<Nothing> failed(Code code, std::string why) { return Error{code, std::move(why)}; }

Result<Nothing> stopping() {
  return failed(Code::kTransient, "nervex-extender is stopping; another replica binds the pod");
}

std::string late_text(const std::string& gang, const planner::GangSeen& seen,
                      const planner::HoldState& state, planner::HoldUntil until,
                      milliseconds waited) {
  const std::string who = planner::describe_missing(state.missing);
  const std::size_t count = state.missing.size();
  if (until == planner::HoldUntil::kOthersBound) {
    const bool all_bound = std::all_of(
        state.missing.begin(), state.missing.end(), [](const planner::MemberSeen* member) {
          return member->pod == planner::MemberSeen::Pod::kNotStarted;
        });
    return fmt::format(
        "gang {}: the coordinator is bound last, and {} of {} pods are not {} yet: {}", gang, count,
        seen.members.size(), all_bound ? "started" : "bound", who);
  }
  return fmt::format(
      "gang {} cannot start: {} of {} pods did not come to be bound for {}: {}; no pod was bound",
      gang, count, seen.members.size(), format_duration(waited), who);
}

std::vector<planner::Refusal> refusals_among(const planner::HoldState& state) {
  std::vector<planner::Refusal> refusals;
  for (const planner::MemberSeen* member : state.missing) {
    if (member->refusal.empty()) continue;
    refusals.push_back(
        {member->set->name, *member->placement, member->refusal, member->unusable_claims});
  }
  return refusals;
}

}  // namespace

Holds::GateKey Holds::gate_key(const Call& call) {
  // A foreign PodGroup may be deleted and made again while its pods stay: its name is what counts.
  return {call.slot.pod_group_uid, call.gang, call.until};
}

MonoTime Holds::gate_deadline(const Gate& gate) const {
  return std::min(gate.first + gate.longest, gate.last + options_.arrival_timeout);
}

// ---- one call

Holds::Outcome Holds::wait(const Call& call, const std::function<bool()>& has_caller_left) {
  const Ticket ticket = begin(call);
  for (;;) {
    if (auto outcome = poll(ticket)) return *std::move(outcome);
    if (has_caller_left()) {
      leave(ticket);
      continue;  // to take the outcome
    }
    const MutexLock lock(mutex_);
    const auto key = gate_of_.find(ticket);
    if (key == gate_of_.end()) continue;
    const std::shared_ptr<Gate> gate = gates_.at(key->second);
    const auto left = std::chrono::ceil<milliseconds>(gate_deadline(*gate) - clock_.mono());
    gate->ended.wait_for(mutex_, std::clamp(left, milliseconds(1), kLook));
  }
}

Holds::Ticket Holds::begin(const Call& call) {
  const MutexLock lock(mutex_);
  return add(call);
}

void Holds::leave(Ticket ticket) {
  const MutexLock lock(mutex_);
  const auto key = gate_of_.find(ticket);
  if (key == gate_of_.end()) return;
  const auto at = gates_.find(key->second);
  end_one(*at->second, ticket,
          failed(Code::kTransient, "kube-scheduler did not wait for the pods of the gang"));
  forget_if_empty(at);
}

std::optional<Holds::Outcome> Holds::poll(Ticket ticket) {
  const MutexLock lock(mutex_);
  const auto key = gate_of_.find(ticket);
  if (key != gate_of_.end()) {
    const auto at = gates_.find(key->second);
    if (clock_.mono() >= gate_deadline(*at->second)) end_late(at);
  }
  return take(ticket);
}

Holds::Ticket Holds::add(const Call& call) {
  const Ticket ticket = ++last_ticket_;
  if (stopped_) {
    outcomes_[ticket] = {stopping()};
    return ticket;
  }
  const GateKey key = gate_key(call);
  auto at = gates_.find(key);
  if (at == gates_.end()) {
    Opening opening = open(call);
    if (!opening.outcome && call.until != planner::HoldUntil::kOthersBound &&
        admitted_ + opening.calls > options_.most_calls) {
      opening.outcome = {failed(Code::kTransient,
                                "the bind calls of other gangs are held; this gang's turn comes")};
    }
    if (opening.outcome) {
      outcomes_[ticket] = *std::move(opening.outcome);
      return ticket;
    }
    at = gates_.emplace(key, std::make_shared<Gate>()).first;
    at->second->members = opening.calls;
    at->second->longest = opening.longest;
    admitted_ += opening.calls;
    at->second->first = clock_.mono();
  }
  Gate& gate = *at->second;
  gate.last = clock_.mono();
  gate.calls.emplace(ticket, call);
  gate.numbers.insert(call.slot.placement);
  gate_of_.emplace(ticket, key);
  if (gate.lacking > 0) --gate.lacking;
  if (gate.lacking == 0) judge(at);
  return ticket;
}

auto Holds::open(const Call& call) -> Opening {
  if (call.until == planner::HoldUntil::kQuorumHere) return open_foreign(call);
  const planner::GangSeen gang = cache_.gang_seen(call.slot.pod_group_uid, call.gang);
  const bool is_start = call.until == planner::HoldUntil::kAllHere;
  Opening opening{{}, is_start ? gang.members.size() : 1, options_.longest};
  if (!gang.group) {
    opening.outcome = {failed(Code::kNotFound, "the pod's PodGroup was deleted")};
  } else if (is_start &&
             (gang.committed || opening.calls == 0 || opening.calls > options_.largest_gang)) {
    // Without members: the spec has moved them to another gang, and the commit reports it.
    opening.outcome = Outcome{ok()};
  }
  return opening;
}

auto Holds::open_foreign(const Call& call) -> Opening {
  const planner::ForeignHoldSeen gang = cache_.foreign_hold(call.gang);
  if (!gang.group && is_plain(*call.foreign.pod)) {
    return {Outcome{failed(Code::kTransient, "the pod was not seen yet, retrying")}};
  }
  if (!gang.group) return {Outcome{failed(Code::kNotFound, "its PodGroup was not found")}};
  const auto needed = static_cast<std::size_t>(gang.needed);
  if (needed <= 1 || needed > options_.largest_gang) {
    return {Outcome{cache_.assume_foreign({&call.foreign, 1})}};
  }
  Opening opening{{}, std::max(needed, gang.nominated.size()), options_.longest};
  if (const auto seconds = gang.group->schedule_timeout_seconds) {
    opening.longest =
        std::min<std::chrono::milliseconds>(opening.longest, std::chrono::seconds(*seconds));
  }
  return opening;
}

std::optional<Holds::Outcome> Holds::take(Ticket ticket) {
  const auto found = outcomes_.find(ticket);
  if (found == outcomes_.end()) return std::nullopt;
  Outcome outcome = std::move(found->second);
  outcomes_.erase(found);
  return outcome;
}

// ---- the calls of a gang

void Holds::judge(Gates::iterator at) {
  const auto& [uid, gang, until] = at->first;
  if (until == planner::HoldUntil::kQuorumHere) return judge_foreign(at, false);
  Gate& gate = *at->second;
  const planner::GangSeen seen = cache_.gang_seen(uid, gang);
  if (!seen.group) {
    return end_all(at, failed(Code::kNotFound, "the pod's PodGroup was deleted"));
  }
  std::set<std::int64_t> current;
  for (const planner::MemberSeen& member : seen.members) {
    if (member.placement) current.insert(member.placement->number);
  }
  std::vector<Ticket> superseded;
  for (const auto& [ticket, call] : gate.calls) {
    if (current.count(call.slot.placement) == 0) superseded.push_back(ticket);
  }
  if (!superseded.empty()) gate.ended.notify_all();
  for (const Ticket ticket : superseded) {
    const gang::PodSlot slot = gate.calls.at(ticket).slot;
    end_one(gate, ticket,
            failed(Code::kConflict, fmt::format("placement {} of {} was superseded", slot.placement,
                                                gang::slot_key(slot.role, slot.slot.ordinal))));
  }
  const planner::HoldState state =
      planner::hold_state(seen, {gate.numbers.begin(), gate.numbers.end()}, until);
  gate.lacking = state.missing.size();
  if (state.may_go) return end_all(at, ok());
  forget_if_empty(at);
}

void Holds::judge_foreign(Gates::iterator at, bool is_late) {
  const std::string gang = std::get<1>(at->first);
  Gate& gate = *at->second;
  const planner::ForeignHoldSeen seen = cache_.foreign_hold(gang);
  if (!seen.group) {
    return end_all(at, failed(Code::kNotFound, "its PodGroup was deleted"));
  }
  std::vector<Ticket> moved;
  for (const auto& [ticket, call] : gate.calls) {
    const auto to = seen.nominated.find(call.pod_uid);
    if (to != seen.nominated.end() && to->second != call.foreign.node) moved.push_back(ticket);
  }
  if (!moved.empty()) gate.ended.notify_all();
  for (const Ticket ticket : moved) {
    end_one(gate, ticket, failed(Code::kConflict, "the pod is planned on another node now"));
  }
  std::set<std::string, std::less<>> held;  // a call that was sent again may be here twice
  std::vector<ForeignBind> binds;
  for (const auto& [ticket, call] : gate.calls) {
    if (held.insert(call.pod_uid).second) binds.push_back(call.foreign);
  }
  const planner::QuorumState state = planner::quorum_state(seen, held);
  gate.lacking = state.lacking;
  if (!binds.empty() && state.is_reached && (state.lacking == 0 || is_late)) {
    auto assumed = cache_.assume_foreign(binds);
    if (!assumed) {
      assumed = with_context(fmt::format("podgroup {} cannot start now", gang), assumed.error());
    }
    return end_all(at, assumed);
  }
  forget_if_empty(at);
}

void Holds::end_foreign_late(Gates::iterator at) {
  const std::string gang = std::get<1>(at->first);
  judge_foreign(at, true);
  at = gates_.find({"", gang, planner::HoldUntil::kQuorumHere});
  if (at == gates_.end()) return;
  const planner::ForeignHoldSeen seen = cache_.foreign_hold(gang);
  const auto waited = std::chrono::floor<milliseconds>(clock_.mono() - at->second->last);
  end_all(at, failed(Code::kTransient,
                     fmt::format("podgroup {} cannot start: {} of the {} pods that it needs came "
                                 "to be bound, and no other for {}; no pod was bound",
                                 gang, at->second->calls.size(), seen.needed,
                                 format_duration(waited))));
}

void Holds::end_late(Gates::iterator at) {
  if (std::get<planner::HoldUntil>(at->first) == planner::HoldUntil::kQuorumHere)
    return end_foreign_late(at);
  const auto [uid, gang, until] = at->first;
  judge(at);  // what has come since may be enough
  at = gates_.find({uid, gang, until});
  if (at == gates_.end()) return;
  const planner::GangSeen seen = cache_.gang_seen(uid, gang);
  const planner::HoldState state =
      planner::hold_state(seen, {at->second->numbers.begin(), at->second->numbers.end()}, until);
  const auto waited = std::chrono::floor<milliseconds>(clock_.mono() - at->second->last);
  const Ticket first = at->second->calls.begin()->first;
  end_all(at, failed(Code::kTransient, late_text(gang, seen, state, until, waited)));
  if (until == planner::HoldUntil::kAllHere) outcomes_.at(first).refusals = refusals_among(state);
}

void Holds::end_all(Gates::iterator at, const Result<Nothing>& result) {
  const std::shared_ptr<Gate> gate = at->second;
  for (const auto& [ticket, call] : gate->calls) {
    outcomes_[ticket].result = result;
    gate_of_.erase(ticket);
  }
  gate->calls.clear();
  forget_if_empty(at);
  gate->ended.notify_all();
}

void Holds::end_one(Gate& gate, Ticket ticket, Result<Nothing> result) {
  const auto call = gate.calls.find(ticket);
  gate.numbers.erase(gate.numbers.find(call->second.slot.placement));
  gate.calls.erase(call);
  ++gate.lacking;
  gate_of_.erase(ticket);
  outcomes_[ticket].result = std::move(result);
}

void Holds::forget_if_empty(Gates::iterator at) {
  if (!at->second->calls.empty()) return;
  admitted_ -= at->second->members;
  gates_.erase(at);
}

// ---- watch changes

auto Holds::find_gates(const std::string& group_uid) const -> std::vector<GateKey> {
  std::vector<GateKey> keys;
  for (auto at = gates_.lower_bound({group_uid, "", planner::HoldUntil::kAllHere});
       at != gates_.end() && std::get<0>(at->first) == group_uid; ++at) {
    keys.push_back(at->first);
  }
  return keys;
}

void Holds::group_changed(const std::string& uid) {
  const MutexLock lock(mutex_);
  for (const GateKey& key : find_gates(uid)) judge(gates_.find(key));
}

void Holds::pod_bound(const std::string& group_uid) {
  const MutexLock lock(mutex_);
  for (const GateKey& key : find_gates(group_uid)) {
    const auto at = gates_.find(key);
    Gate& gate = *at->second;
    if (std::get<planner::HoldUntil>(key) == planner::HoldUntil::kOthersBound)
      gate.last = clock_.mono();
    if (gate.lacking > 0) --gate.lacking;
    if (gate.lacking == 0) judge(at);
  }
}

void Holds::pod_deleted(const std::string& group_uid, const std::string& pod_uid) {
  const MutexLock lock(mutex_);
  for (const GateKey& key : find_gates(group_uid)) {
    end_pod_calls(gates_.find(key), pod_uid, "the pod was deleted");
  }
}

void Holds::end_pod_calls(Gates::iterator at, const std::string& pod_uid, const std::string& why) {
  std::vector<Ticket> tickets;
  for (const auto& [ticket, call] : at->second->calls) {
    if (call.pod_uid == pod_uid) tickets.push_back(ticket);
  }
  if (!tickets.empty()) at->second->ended.notify_all();
  for (const Ticket ticket : tickets) {
    end_one(*at->second, ticket, failed(Code::kNotFound, why));
  }
  forget_if_empty(at);
}

void Holds::foreign_changed(const std::string& gang) {
  const MutexLock lock(mutex_);
  const auto at = gates_.find({"", gang, planner::HoldUntil::kQuorumHere});
  if (at != gates_.end()) judge_foreign(at, false);
}

void Holds::foreign_pod_gone(const std::string& gang, const std::string& pod_uid,
                             const std::string& why) {
  const MutexLock lock(mutex_);
  const auto at = gates_.find({"", gang, planner::HoldUntil::kQuorumHere});
  if (at != gates_.end()) end_pod_calls(at, pod_uid, why);
}

void Holds::stop() {
  const MutexLock lock(mutex_);
  stopped_ = true;
  while (!gates_.empty()) end_all(gates_.begin(), stopping());
}

std::size_t Holds::size() const {
  const MutexLock lock(mutex_);
  return gate_of_.size();
}

}  // namespace nervex::extender
