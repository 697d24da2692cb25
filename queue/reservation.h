// queue/reservation.h - which workloads may run on nodes that are reserved for another one? Pure.
//
// Nodes are reserved for a workload that has waited long, the head. Others start on them only if
//   they end in time       their latest end, the time of their pods to end included, is before all
//                          that the head waits for has ended: `due`
//   they can be reclaimed  they are preemptible and served after the head, which takes its nodes
//                          back when all others there have ended
// A head therefore waits no longer than until it reserves, plus the longest remaining run on its
// nodes, plus the grace period of what it takes back. Without deadlines there is no such bound, and
// so where a node fails, or what is served before the head takes its nodes: then it reserves
// others. What can be reclaimed is strictly after the head in one total order (queue/order.h), or
// was given a longer deadline than the one that the reservation counted on, which happens once. So
// no two workloads reclaim each other in turn. docs/adr/2026-11-27-reservation.md.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "queue/order.h"
#include "queue/workload.h"

namespace nervex::queue {

struct ReservationOptions {
  std::chrono::milliseconds after{0};  // a workload that waits reserves nodes; 0: never
  int most = 4;                        // at a time
  bool is_on() const { return after.count() > 0 && most > 0; }
};

// Borrows its texts.
struct ReservedFor {
  Rank head;
  SysTime since{};
  std::optional<SysTime> due{};  // nullopt: the head waits for something without bound
  // UIDs of the PodGroups of jobs that had these nodes at `since` and were to end by `due`; sorted.
  std::span<const std::string> counts_on{};
};

// A workload that runs on reserved nodes, is planned there, or is to start there.
struct Tenant {
  const Workload* workload = nullptr;
  std::optional<SysTime> latest_end{};    // of its job
  std::optional<SysTime> promised_end{};  // the same as known when the job was planned
  std::string_view job{};                 // UID of its PodGroup
};

// A gang of the head's own job: the head neither waits for its end nor takes its nodes.
bool is_of_its_job(const ReservedFor& reserved, const Workload& workload);
// The head may take the tenant's nodes back: it is preemptible, or has got a longer deadline than
// the one that the reservation counted on.
bool is_reclaimable(const ReservedFor& reserved, const Tenant& tenant);
// Of one that runs there: it will have ended, by itself or for the head, when the head starts.
bool ends_for(const ReservedFor& reserved, const Tenant& tenant);
// One that would start now may start there. From its start until its nodes are its own, up to
// kStartTime may pass.
bool may_start(const ReservedFor& reserved, const Tenant& tenant);
inline constexpr std::chrono::seconds kStartTime{60};

}  // namespace nervex::queue
