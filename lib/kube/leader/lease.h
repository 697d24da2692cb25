// kube/leader/lease.h - which of several equal processes may act, and what must it do now? Pure.
// Uses coordination.k8s.io/v1 Lease like client-go's tools/leaderelection (v0.36), so that the same
// tools can watch both.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "kube/api.h"
#include "kube/model/json.h"
#include "kube/model/meta.h"

namespace nervex::kube {

inline constexpr ResourceKind kLeases{"coordination.k8s.io", "v1", "leases"};

struct LeaseOptions {
  NamespacedName lease{"nervex-system", ""};
  std::string identity;  // of this process; never reused
  // Others may take over the lease after this time without a renewal.
  std::chrono::milliseconds lease_duration{15'000};
  // The leader steps down after this time without a successful renewal.
  std::chrono::milliseconds renew_deadline{10'000};
  std::chrono::milliseconds retry_period{2'000};
};

// kInvalid unless lease duration > renew deadline > 1.2 * retry period > 0 (1.2 is client-go's
// jitter) and the lease duration is at least a second, the unit in which it is stored.
Result<Nothing> check(const LeaseOptions& options);

// HOSTNAME_UUID, as client-go's users build it.
std::string make_lease_identity();

// The content of a Lease. Its times are only compared for equality: they come from another clock.
struct LeaseRecord {
  std::string holder;  // "": given back
  std::chrono::seconds duration{0};
  std::string acquire_time;
  std::string renew_time;
  int transitions = 0;  // number of holder changes
  bool operator==(const LeaseRecord&) const = default;
};

// Absent fields are empty or 0.
LeaseRecord decode_lease(const Json& lease);
// `lease` (null: a new one) with the record set; other fields stay.
Json encode_lease(Json lease, const LeaseRecord& record, const LeaseOptions& options);

// What this process knows when it decides. Times are from our own monotonic clock.
struct LeaseView {
  std::optional<LeaseRecord> record;     // last one seen, even if deleted since
  bool exists = false;                   // at the last look
  MonoTime changed_at{};                 // since when record and exists are unchanged
  std::optional<MonoTime> renewed_at{};  // if we lead: start of the last successful renewal
};

enum class LeaseStep {
  kWait,      // another process leads
  kAcquire,   // no leader: take it
  kRenew,     // it is ours
  kStepDown,  // we led, and must stop
};

// A holder leads until its record has not changed for its duration on our clock; no other clock is
// trusted. A deleted lease that had not expired still counts for that time, because its holder
// continues until its next renewal.
LeaseStep next_step(const LeaseView& view, const LeaseOptions& options, MonoTime now);

// The record that takes or keeps the lease shown in `view`.
LeaseRecord claim(const LeaseView& view, const LeaseOptions& options, SysTime now);
// The record that gives the lease back, so that the next holder need not wait.
LeaseRecord give_back(const LeaseRecord& held, SysTime now);

}  // namespace nervex::kube
