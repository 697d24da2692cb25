// planner/facts/cycle_facts.h - what is the same for all steps of a scheduling cycle?
#pragma once

#include <chrono>

#include "base/clock.h"
#include "planner/facts/snapshot.h"
#include "queue/facts.h"
#include "queue/preemption.h"
#include "queue/reservation.h"

namespace nervex::planner {

struct HealingOptions {
  // A slot that kube-scheduler refuses for longer than this gets another node. A gang may also take
  // this long to start before its status reports it as incomplete.
  std::chrono::milliseconds bind_deadline{60'000};
  std::chrono::milliseconds deadline{300'000};  // 0: no gang is released
};

struct CycleOptions {
  HealingOptions healing{};
  queue::PreemptionMode preemption = queue::PreemptionMode::kOff;
  queue::ReservationOptions reservation{};

  // Workloads may end for others, or nodes be reserved.
  bool may_end_or_reserve() const {
    return preemption != queue::PreemptionMode::kOff || reservation.is_on();
  }
};

// The input of a cycle: each step reads all of it, and writes only its other arguments. Borrows its
// parts.
struct CycleFacts {
  const Snapshot& snapshot;
  const CycleOptions& options;
  SysTime now;

  const queue::Facts& queues() const { return snapshot.facts; }
  const queue::QueueTree& tree() const { return snapshot.facts.tree(); }
};

}  // namespace nervex::planner
