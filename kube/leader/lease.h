// kube/leader/lease.h - who of several equal processes may act, and what is to be done about it
// now? Pure.
//
// coordination.k8s.io/v1 Lease, used as client-go's tools/leaderelection (v0.36) uses it, so that
// both can be watched with the same tools.
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
  std::string identity;  // of this process, never used by another one
  // Others may take the lease over when it was not renewed for this long.
  std::chrono::milliseconds lease_duration{15'000};
  // The leader gives up when it could not renew for this long.
  std::chrono::milliseconds renew_deadline{10'000};
  std::chrono::milliseconds retry_period{2'000};
};

// kInvalid unless lease duration > renew deadline > 1.2 * retry period > 0 (1.2 is client-go's
// jitter) and the lease duration is at least a second, which is the unit it is written in.
Result<Nothing> check(const LeaseOptions& options);

// HOSTNAME_UUID, as client-go's users build it.
std::string make_lease_identity();

// What a Lease says. Times are not read, only compared: they are of somebody else's clock.
struct LeaseRecord {
  std::string holder;  // "": given back
  std::chrono::seconds duration{0};
  std::string acquire_time;
  std::string renew_time;
  int transitions = 0;  // how often the holder changed
  bool operator==(const LeaseRecord&) const = default;
};

// Absent fields are empty or 0.
LeaseRecord decode_lease(const Json& lease);
// `lease` (null: a new one) with the record in it; everything else stays.
Json encode_lease(Json lease, const LeaseRecord& record, const LeaseOptions& options);

// What this process knows when it decides. Times are of our own monotonic clock.
struct LeaseView {
  std::optional<LeaseRecord> record;     // the last one seen, even if the object was deleted since
  bool exists = false;                   // at the last look
  MonoTime changed_at{};                 // since when record and exists are seen as they are
  std::optional<MonoTime> renewed_at{};  // we lead: when our last successful renewal was begun
};

enum class LeaseStep {
  kWait,      // somebody else leads
  kAcquire,   // nobody does: take it
  kRenew,     // it is ours
  kStepDown,  // we led, and may not any more
};

// A holder leads until its record was not seen to change for the duration in it, on our clock: no
// clock but ours is trusted. A lease that was deleted while it was good still counts for as long:
// its holder goes on until its next renewal.
LeaseStep next_step(const LeaseView& view, const LeaseOptions& options, MonoTime now);

// The record with which we take or keep the lease that `view` shows.
LeaseRecord claim(const LeaseView& view, const LeaseOptions& options, SysTime now);
// The record with which the holder gives it back: the next one need not wait.
LeaseRecord give_back(const LeaseRecord& held, SysTime now);

}  // namespace nervex::kube
