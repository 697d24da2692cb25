// queue/preemption.h - which running workloads end so that a waiting one can start? Pure.
//
// Two reasons to preempt, each allowed by the queue of the workload that starts:
//   reclaim     a workload within the quota of its queue takes what other queues borrow
//   preemption  a workload takes from strictly lower priorities of its own queue
// A PriorityClass with preemptionPolicy Never keeps its workloads from both where priorities decide
// (LowerPriority). Reclaim `Any` is a right of the queue's quota, regardless of priorities.
// What is reclaimed was borrowed, in each queue on the way up to the common ancestor: a victim that
// waits again is beyond quota there and reclaims nothing in turn. Priorities are strict: no two
// workloads of a queue preempt each other. docs/adr/2026-11-26-preemption.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "queue/tree.h"
#include "queue/usage.h"
#include "queue/workload.h"

namespace nervex::queue {

// The flag --preemption: what is allowed at all.
enum class PreemptionMode {
  kOff,
  kReclaim,
  kFull,  // and preemption by priority
};

// The workload that is to start.
struct Preemptor {
  const Workload* workload = nullptr;
  QueueIndex queue = kRoot;
  // The queue on its path, nearest first, whose quota it keeps; nullopt: it is beyond quota, and
  // reclaims nothing.
  std::optional<QueueIndex> guarantor{};
};
// The workload waits in that queue.
Preemptor make_preemptor(const QueueTree& tree, const Usage& usage, QueueIndex queue,
                         const Workload& workload);

// The quota that the preemptor keeps allows it fewer nodes than the limits do: it names classes.
bool has_quota_caps(const QueueTree& tree, const Usage& usage, const Preemptor& preemptor);

// What ends together: one gang, or with a base gang all gangs of its job. Not empty; the first is
// the gang that the others depend on.
struct PreemptionCandidate {
  std::vector<const Workload*> workloads;
  const Workload& first() const { return *workloads.front(); }
};

// Cheapest first: elastic workloads, other gangs that are not base gangs, base gangs; then the
// lowest priority, then the youngest. A total order.
void sort_by_cost(std::vector<PreemptionCandidate>& candidates);

// A workload whose victims have not ended so long after it has named them waits again.
inline constexpr std::chrono::minutes kLongestPreemption{10};
// Until the controller has deleted the pods of a victim that was named.
inline constexpr std::chrono::seconds kVictimMarkTime{60};

// May it be ended for the preemptor, apart from quotas? Foreign gangs, gangs that do not run, and
// those that have run for less than minRuntimeSeconds of their queue are never ended. A job is as
// old as its base gang; a young request is protected only from being ended alone. Nor is what would
// end in vain: its pods may take longer to end than the preemptor waits, or than its job goes on.
bool may_preempt(const QueueTree& tree, PreemptionMode mode, const Preemptor& preemptor,
                 const PreemptionCandidate& candidate, SysTime now);
// The pods of the victim, which would be named now, end so early that the preemptor gains enough.
// An unknown grace period counts as none.
bool ends_in_time(const Workload& victim, const Workload& preemptor, SysTime now);
// Whatever their priorities, a workload of `queue` may reclaim what workloads of `from` borrow, as
// soon as it is within a quota. False for the same queue.
bool may_reclaim_any(const QueueTree& tree, PreemptionMode mode, QueueIndex queue, QueueIndex from);
// The earliest time after `now` at which may_preempt() turns true; nullopt: not by time alone.
std::optional<SysTime> preemptible_at(const QueueTree& tree, PreemptionMode mode,
                                      const Preemptor& preemptor,
                                      const PreemptionCandidate& candidate, SysTime now);

// Indices of the candidates, in their order, that may end for the preemptor one after the other.
// When those before it have ended, none fits the quota of its queue again, and its queue has
// borrowed all that its end gives back: of each resource in which the queue is above its quota, and
// there is one. So, whichever of them end, the queue keeps its quota of a resource. One that is
// named alone is judged among all candidates, too. Cost: candidates x depth x resources.
std::vector<std::size_t> find_preemptible(const QueueTree& tree, const Usage& usage,
                                          PreemptionMode mode, const Preemptor& preemptor,
                                          std::span<const PreemptionCandidate> candidates,
                                          SysTime now);

// Does the preemptor fit without these victims? nullopt: no. Otherwise those whose capacity it
// would use, as far as that is known: a hint. Must be monotonic: it fits without more victims, too.
using FitsWithout =
    std::function<std::optional<std::vector<std::size_t>>(std::span<const std::size_t> victims)>;

struct VictimSearch {
  std::vector<std::size_t> victims;  // empty: not found
  // The trials were used up: there may be victims, or fewer of them.
  bool gave_up = false;
  std::size_t trials = 0;  // calls of FitsWithout
};
// The shortest prefix of `preemptible` without which it fits, by doubling and halving; then each of
// it is tried for sparing, the most costly first. Unless it gave up, no victim can be spared, and
// nothing found is a proof.
VictimSearch search_victims(std::span<const std::size_t> preemptible, const FitsWithout& fits,
                            std::size_t most_trials);

// -- the rate

// A queue starts at most this many workloads by preemption within the period, so that freed nodes
// which others take again and again do not end all work.
inline constexpr std::size_t kMostPreemptions = 10;
inline constexpr std::chrono::minutes kPreemptionPeriod{10};

// The status of the Queue counts the preemption that began at that time. True if there is no such
// queue, and for the root, which is no object.
bool is_counted(const QueueTree& tree, std::string_view queue, SysTime began);
// Drops those before the period, and those so far ahead that a clock was wrong. `times`: ascending.
void forget_old_preemptions(std::vector<SysTime>& times, SysTime now);

}  // namespace nervex::queue
