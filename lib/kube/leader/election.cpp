#include "kube/leader/election.h"

#include <utility>

#include <fmt/format.h>

#include "base/log.h"

namespace nervex::kube {

LeaseElection::LeaseElection(Api& api, const Clock& clock, LeaseOptions options)
    : api_(api), clock_(clock), options_(std::move(options)), seen_at_(clock.mono()) {}

std::chrono::nanoseconds LeaseElection::unseen_for() const {
  return clock_.mono() - seen_at_.load();
}

void LeaseElection::try_acquire_or_renew() {
  if (lose_if_late()) return;
  if (renew_quickly()) return;
  if (!look()) return;  // no information: the next try comes soon
  const MonoTime now = clock_.mono();
  switch (next_step(view_, options_, now)) {
    case LeaseStep::kWait:
      return;
    case LeaseStep::kStepDown:
      return lose(view_.record ? "the lease is held by " + view_.record->holder
                               : "it was not renewed in time");
    case LeaseStep::kAcquire:
    case LeaseStep::kRenew:
      // Counted from before the request, since the API server stores it later.
      if (write(claim(view_, options_, clock_.now()))) lead_since(now);
      return;
  }
}

// A leader knows the lease as it last wrote it, so it need not read it first.
bool LeaseElection::renew_quickly() {
  if (!view_.renewed_at || lease_.is_null()) return false;
  const MonoTime began = clock_.mono();
  if (next_step(view_, options_, began) != LeaseStep::kRenew) return false;
  if (!write(claim(view_, options_, clock_.now()))) return false;
  lead_since(began);
  return true;
}

bool LeaseElection::look() {
  auto lease = get_object(api_, kLeases, options_.lease.ns, options_.lease.name);
  if (lease) {
    note(*std::move(lease));
    return true;
  }
  if (lease.error().code == Code::kNotFound) {
    // Its holder may have renewed it just before the deletion.
    if (std::exchange(view_.exists, false)) view_.changed_at = clock_.mono();
    lease_ = nullptr;
    return true;
  }
  log_warn("lease not read", {{"lease", options_.lease.to_string()},
                              {"code", to_string(lease.error().code)},
                              {"error", lease.error().message}});
  return false;
}

void LeaseElection::note(Json lease) {
  seen_at_ = clock_.mono();
  const LeaseRecord record = decode_lease(lease);
  if (!view_.record || *view_.record != record) {
    view_.record = record;
    view_.changed_at = clock_.mono();  // after the reply: rather too late than too early
  }
  view_.exists = true;
  lease_ = std::move(lease);
  if (last_reported_holder_ == record.holder) return;
  last_reported_holder_ = record.holder;
  log_info("leader seen", {{"lease", options_.lease.to_string()},
                           {"holder", record.holder.empty() ? "none" : record.holder}});
}

// Conditional on the version read, so that of two candidates one gets 409.
bool LeaseElection::write(const LeaseRecord& record) {
  const bool is_new = lease_.is_null();
  const std::string text = to_text(encode_lease(lease_, record, options_));
  const auto reply =
      api_.send({is_new ? "POST" : "PUT", is_new ? api_path(kLeases, options_.lease.ns) : path(),
                 text, "application/json"});
  if (reply) {
    if (auto stored = parse_json(*reply)) {
      note(*std::move(stored));
      return true;
    }
  }
  // The next read shows whether it was stored. A conflict means that another candidate won.
  const Error error = reply ? Error{Code::kTransient, "the reply is not JSON"} : reply.error();
  const auto log = error.code == Code::kConflict ? log_debug : log_warn;
  log("lease not written", {{"lease", options_.lease.to_string()},
                            {"code", to_string(error.code)},
                            {"error", error.message}});
  return false;
}

void LeaseElection::lead_since(MonoTime began) {
  const bool is_new = !view_.renewed_at;
  view_.renewed_at = began;
  renewed_at_ = began;
  State waiting = State::kWaiting;
  if (!state_.compare_exchange_strong(waiting, State::kLeading) || !is_new) return;
  log_info("became leader",
           {{"lease", options_.lease.to_string()}, {"identity", options_.identity}});
}

void LeaseElection::lose(const std::string& why) {
  State leading = State::kLeading;
  if (!state_.compare_exchange_strong(leading, State::kLost)) return;
  log_error("leader election lost", {{"lease", options_.lease.to_string()}, {"why", why}});
}

void LeaseElection::release() {
  const bool was_leader = state_.exchange(State::kLost) == State::kLeading;
  const auto is_ours = [this] {
    return !lease_.is_null() && view_.record && view_.record->holder == options_.identity;
  };
  if (!was_leader || !is_ours()) return;
  if (!write(give_back(*view_.record, clock_.now()))) {
    // A renewal with a lost reply has changed the version.
    if (!look() || !is_ours() || !write(give_back(*view_.record, clock_.now()))) return;
  }
  log_info("lease released", {{"lease", options_.lease.to_string()}});
}

bool LeaseElection::may_write() const {
  return is_leader() && clock_.mono() - renewed_at_.load() < options_.lease_duration;
}

std::chrono::nanoseconds LeaseElection::unrenewed_for() const {
  return is_leader() ? clock_.mono() - renewed_at_.load() : std::chrono::nanoseconds(0);
}

bool LeaseElection::lose_if_late() {
  if (unrenewed_for() >= options_.renew_deadline) {
    lose(fmt::format("not renewed for {} ms",
                     std::chrono::floor<std::chrono::milliseconds>(unrenewed_for()).count()));
  }
  return is_lost();
}

}  // namespace nervex::kube
