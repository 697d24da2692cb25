// planner/steps/limit_shares.h - how much of a queue's limit, or of a ResourceQuota,
// is kept for a gang that has waited long? Pure.
//
// A gang that a limit holds would starve: whenever something ends that counts in it, a smaller gang
// behind it takes what becomes free. When it has waited for `--reserve-after`, its
// share is kept from gangs behind it: as much as it needs when all that ends in time has ended.
// Others start if they end before that, or on what the limit leaves beside the share. A gang that
// has reserved nodes keeps its share, too: otherwise it would lose one while it waits for the
// other.
//
// Nothing is stored, so a new leader decides the same. The first gang in the order of service that
// has waited so long has the share of a limit, and the time at which it is due follows from the
// time limits of what runs. What starts meanwhile ends by then, so the time never moves back,
// unless the time limit of a job is raised or a gang that is served earlier comes.
//
// What has no time limit counts as about to end if it has started since the gang waits: it has
// overtaken the gang. If what started before leaves too little, the gang waits for that, and
// nothing is kept: it may never end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/facts/cycle_facts.h"
#include "planner/facts/next_look.h"
#include "planner/steps/placer.h"
#include "planner/work/group_work.h"
#include "queue/facts.h"
#include "queue/inadmissible.h"
#include "queue/reservation.h"
#include "queue/usage.h"
#include "queue/workload.h"

namespace nervex::planner {

// Since when the gang waits in this attempt.
inline SysTime waits_since(const queue::Workload& workload, const GroupWork& group) {
  return std::max(workload.queued_since, group.seen->group->meta.created);
}

// Lives within one pass over the waiting gangs. Borrows its arguments.
class LimitShares {
 public:
  LimitShares(const CycleFacts& facts, CycleWork& work, const Placer& placer, NextLook& next_look)
      : work_(work),
        facts_(facts.queues()),
        placer_(placer),
        options_(facts.options.reservation),
        now_(facts.now),
        next_look_(next_look) {}

  // The gang had its turn, and waits. Cost: workloads, for the first one of each queue.
  void keep_for(const queue::Workload& workload, const GroupWork& group, const GangWork& gang,
                const queue::Usage& usage);
  // Why the workload, whose turn it is, may not start; nullopt: it may, as far as shares go.
  std::optional<queue::Inadmissible> find_kept(const queue::Workload& workload);
  // It starts.
  void charge(const queue::Workload& workload);

 private:
  __extension__ using Wide = __int128;
  // Of the limit of one resource: of a queue, or of a ResourceQuota of the namespace `ns`.
  struct Share {
    std::string_view ns{};  // empty: of a queue
    queue::QueueIndex queue = queue::kRoot;
    std::string_view name{};      // of the Queue or ResourceQuota
    std::string_view resource{};  // of a pod's requests
    Wide left = 0;                // for what does not end in time
  };
  struct Head {
    const queue::Workload* workload = nullptr;
    const GangWork* gang = nullptr;
    std::vector<Share> shares{};
    std::optional<SysTime> due{};     // nullopt: it waits for something without bound
    std::optional<bool> can_start{};  // nullopt: not asked yet
  };
  struct Tenant {
    std::string ns;
    queue::QueueIndex home = queue::kRoot;
    kube::Resources requests;
    std::optional<SysTime> end{};         // nullopt: it has no time limit
    std::optional<SysTime> started_at{};  // nullopt: it is about to start
    std::string user;
  };

  std::vector<Share> list_shares(const queue::Workload& workload, const queue::Usage& usage) const;
  bool choose_due(Head& head, SysTime since);
  void list_tenants();
  void add_tenant(const queue::Workload& workload, std::optional<SysTime> end);
  bool is_taken(const Share& share) const;
  bool takes_from(const Share& share, const queue::Workload& workload) const;
  bool counts_in(const Share& share, std::string_view ns, queue::QueueIndex home) const;
  bool ends_in_time(const Head& head, const queue::Workload& workload) const;
  bool can_start(Head& head) const;

  CycleWork& work_;
  const queue::Facts& facts_;
  const Placer& placer_;
  const queue::ReservationOptions& options_;
  const SysTime now_;
  NextLook& next_look_;
  std::vector<Head> heads_;
  // Sorted by end, those without one last. Listed when they are needed.
  std::vector<Tenant> tenants_;
  bool has_tenants_ = false;
  // By the queue of the gang that waits; in the root by its namespace.
  std::map<std::pair<queue::QueueIndex, std::string>, int> searches_;
};

}  // namespace nervex::planner
