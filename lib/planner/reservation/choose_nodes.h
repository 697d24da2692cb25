// planner/reservation/choose_nodes.h - on which nodes would a gang start first if nothing
// else started, and are these better than those that it has reserved? Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "planner/facts/cycle_facts.h"
#include "planner/facts/snapshot.h"
#include "planner/preemption/victim_trials.h"
#include "planner/reserved_nodes/tenants.h"
#include "planner/work/group_work.h"
#include "queue/reservation.h"

namespace nervex::planner {

// A search costs at most so many plans of the gang.
inline constexpr std::size_t kMostEndTrials = 48;

// When other nodes are searched for; nullopt: not while the reservation has a due time. A clock
// that was wrong does not delay it.
std::optional<SysTime> find_renewal(const gang::Reservation& reservation, SysTime now);

// Of one search. Borrows its arguments.
class NodeChooser {
 public:
  NodeChooser(const CycleFacts& facts, CycleWork& work, AfterEnding& after)
      : facts_(facts), work_(work), after_(after), now_(facts.now) {}

  // Those on which the head starts first; nullopt: none were found. `trials`: of the head.
  // `terms`: without a due time.
  std::optional<gang::Reservation> choose(VictimTrials trials, const queue::ReservedFor& terms);

  // Of a reservation without a due time: what takes its place, if `chosen` is better.
  std::optional<gang::Reservation> find_better(const gang::Reservation& present,
                                               const std::optional<gang::Reservation>& chosen);
  // The same for another while, with the jobs that it still waits for.
  gang::Reservation prolong(gang::Reservation present);

 private:
  // Jobs that the reservation counts on and that have not ended, and when the oldest one started.
  struct Awaited {
    std::vector<std::string> jobs;
    SysTime oldest = SysTime::max();
  };

  queue::Tenant tenant(const queue::Workload& workload) const;
  std::vector<std::size_t> sort_by_end(const queue::ReservedFor& terms) const;
  std::optional<SysTime> find_due(const queue::ReservedFor& terms,
                                  const std::vector<std::size_t>& ended,
                                  const gang::Reservation& reservation) const;
  std::vector<std::string> find_counted_on(queue::ReservedFor terms,
                                           const std::vector<std::size_t>& ended,
                                           const gang::Reservation& reservation);
  std::vector<NodeTenant> list_tenants_on(const gang::Reservation& reservation);
  Awaited find_awaited(const gang::Reservation& reservation);
  bool is_better(const gang::Reservation& chosen, const gang::Reservation& present);

  const CycleFacts& facts_;
  CycleWork& work_;
  AfterEnding& after_;
  const SysTime now_;
};

}  // namespace nervex::planner
