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
// was given a longer deadline than the one that the reservation counted on, which happens once. And
// what may reclaim the head's nodes for its quota is not reclaimed for the head. So no two
// workloads reclaim each other in turn. docs/adr/2026-11-27-reservation.md.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "queue/order.h"
#include "queue/preemption.h"
#include "queue/tree.h"
#include "queue/workload.h"

namespace nervex::queue {

struct ReservationOptions {
  std::chrono::milliseconds after{0};  // a workload that waits reserves nodes; 0: never
  int most = 4;                        // at a time
  bool may_begin = true;               // false: those that are stored are kept, and no more
  bool is_on() const { return after.count() > 0 && most > 0; }
};

// So long a head waits for pods that are being deleted: what may take longer is not reclaimed.
inline constexpr std::chrono::hours kLongestEnding{1};

// Borrows its texts.
struct ReservedFor {
  Rank head;
  SysTime since{};
  std::optional<SysTime> due{};  // nullopt: the head waits for something without bound
  // UIDs of the PodGroups of jobs that had these nodes at `since` and were to end by `due`; sorted.
  // A job that starts again has another PodGroup, and is not among them.
  std::span<const std::string> counts_on{};
  // find_reclaiming_queues() of the head's queue.
  std::span<const std::string_view> reclaiming_queues{};
};

// Queues that may reclaim the nodes of that queue's workloads for a quota, whatever the priorities:
// what is theirs is not reclaimed for a head of that queue. Sorted; borrows their names from the
// tree. Cost: queues x depth.
std::vector<std::string_view> find_reclaiming_queues(const QueueTree& tree, PreemptionMode mode,
                                                     std::string_view queue);

// A workload that runs on reserved nodes, is planned there, or is to start there.
struct Tenant {
  const Workload* workload = nullptr;
  std::optional<SysTime> latest_end{};    // of its job
  std::optional<SysTime> promised_end{};  // the same as known when the job was planned
  std::string_view job{};                 // UID of its PodGroup
};

// A gang of the head's own job: the head neither waits for its end nor takes its nodes.
bool is_of_its_job(const ReservedFor& reserved, const Workload& workload);
// The head may take the tenant's nodes back: it is preemptible, served later, not of a queue that
// reclaims, and its pods do not take hours to end; or it has got a longer deadline than the one
// that the reservation counted on.
bool is_reclaimable(const ReservedFor& reserved, const Tenant& tenant);
// Of one that runs there: it will have ended, by itself or for the head, when the head starts.
bool ends_for(const ReservedFor& reserved, const Tenant& tenant);
// One that would start now may start there. From now until its nodes are its own, and its time
// counts, up to `start_time` may pass.
inline constexpr std::chrono::seconds kStartTime{60};
bool may_start(const ReservedFor& reserved, const Tenant& tenant,
               std::chrono::seconds start_time = kStartTime);

}  // namespace nervex::queue
