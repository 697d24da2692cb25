#include "kube/leader/lease.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>

#include <fmt/format.h>

namespace nervex::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr double kJitter = 1.2;  // client-go's JitterFactor

std::string random_uuid() {
  std::random_device device;
  const auto word = [&device] { return static_cast<unsigned>(device()); };
  const unsigned a = word();
  const unsigned b = word();
  const unsigned c = word();
  // RFC 9562, version 4, variant 1.
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:x}{:03x}-{:04x}{:08x}", a, b >> 16U, b & 0xFFFU,
                     8U | (c >> 30U), c & 0xFFFU, (c >> 12U) & 0xFFFFU, word());
}

std::string text_at(const Json& spec, const char* field) {
  const auto at = spec.find(field);
  return at != spec.end() && at->is_string() ? at->get<std::string>() : "";
}

// At least 0; 0 for anything but a number.
int count_at(const Json& spec, const char* field) {
  const auto at = spec.find(field);
  if (at == spec.end() || !at->is_number_integer()) return 0;
  const auto value = at->get<std::int64_t>();
  return static_cast<int>(std::clamp<std::int64_t>(value, 0, std::numeric_limits<int>::max()));
}

bool is_held_by_other(const LeaseView& view, const LeaseOptions& options) {
  return view.record && !view.record->holder.empty() && view.record->holder != options.identity;
}

// A duration of 0 is not trusted: another client's half-written lease must not be taken at once.
milliseconds lease_timeout(const LeaseRecord& record, const LeaseOptions& options) {
  return record.duration > seconds(0) ? milliseconds(record.duration) : options.lease_duration;
}

LeaseStep next_of_leader(const LeaseView& view, const LeaseOptions& options, MonoTime now) {
  const bool is_late = now - *view.renewed_at >= options.renew_deadline;
  // Also for another holder's expired lease: it has led since our last renewal.
  return is_late || is_held_by_other(view, options) ? LeaseStep::kStepDown : LeaseStep::kRenew;
}

}  // namespace

Result<Nothing> check(const LeaseOptions& options) {
  const auto invalid = [](const char* message) { return Error{Code::kInvalid, message}; };
  if (options.retry_period <= milliseconds(0)) {
    return invalid("the leader election's retry period must be positive");
  }
  if (options.lease_duration < seconds(1)) {
    return invalid("the leader election's lease duration must be a second or more");
  }
  if (options.lease_duration <= options.renew_deadline) {
    return invalid("the leader election's lease duration must exceed its renew deadline");
  }
  if (options.renew_deadline <= options.retry_period * kJitter) {
    return invalid("the leader election's renew deadline must exceed 1.2 times its retry period");
  }
  return ok();
}

std::string make_lease_identity() {
  std::string host(256, '\0');
  if (gethostname(host.data(), host.size() - 1) != 0) host = "unknown";
  host.resize(host.find('\0') == std::string::npos ? host.size() : host.find('\0'));
  return host + "_" + random_uuid();
}

LeaseRecord decode_lease(const Json& lease) {
  LeaseRecord record;
  const auto spec = lease.find("spec");
  if (spec == lease.end() || !spec->is_object()) return record;
  record.holder = text_at(*spec, "holderIdentity");
  record.duration = seconds(count_at(*spec, "leaseDurationSeconds"));
  record.acquire_time = text_at(*spec, "acquireTime");
  record.renew_time = text_at(*spec, "renewTime");
  record.transitions = count_at(*spec, "leaseTransitions");
  return record;
}

Json encode_lease(Json lease, const LeaseRecord& record, const LeaseOptions& options) {
  if (lease.is_null()) {
    lease = {{"apiVersion", "coordination.k8s.io/v1"},
             {"kind", "Lease"},
             {"metadata", {{"namespace", options.lease.ns}, {"name", options.lease.name}}}};
  }
  Json& spec = lease["spec"];
  if (!spec.is_object()) spec = Json::object();
  spec["holderIdentity"] = record.holder;
  spec["leaseDurationSeconds"] = record.duration.count();
  spec["acquireTime"] = record.acquire_time;
  spec["renewTime"] = record.renew_time;
  spec["leaseTransitions"] = record.transitions;
  return lease;
}

LeaseStep next_step(const LeaseView& view, const LeaseOptions& options, MonoTime now) {
  if (view.renewed_at) return next_of_leader(view, options, now);
  if (!is_held_by_other(view, options)) {
    const bool is_ours = view.exists && view.record && !view.record->holder.empty();
    return is_ours ? LeaseStep::kRenew : LeaseStep::kAcquire;  // ours: the reply had been lost
  }
  const bool is_live = now - view.changed_at < lease_timeout(*view.record, options);
  return is_live ? LeaseStep::kWait : LeaseStep::kAcquire;
}

LeaseRecord claim(const LeaseView& view, const LeaseOptions& options, SysTime now) {
  LeaseRecord record;
  record.holder = options.identity;
  record.duration = std::chrono::ceil<seconds>(options.lease_duration);
  record.renew_time = to_rfc3339_micro(now);
  record.acquire_time = record.renew_time;
  if (!view.record) return record;
  const bool was_ours = view.record->holder == options.identity;
  if (was_ours && !view.record->acquire_time.empty()) {
    record.acquire_time = view.record->acquire_time;
  }
  record.transitions = view.record->transitions + (was_ours ? 0 : 1);
  return record;
}

LeaseRecord give_back(const LeaseRecord& held, SysTime now) {
  LeaseRecord record;
  record.duration = seconds(1);
  record.acquire_time = to_rfc3339_micro(now);
  record.renew_time = record.acquire_time;
  record.transitions = held.transitions;
  return record;
}

}  // namespace nervex::kube
