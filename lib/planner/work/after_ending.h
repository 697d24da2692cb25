// planner/work/after_ending.h - what runs, and what queues use, when all that is ending has ended?
// Pure.
#pragma once

#include <utility>

#include "planner/facts/cycle_facts.h"
#include "planner/work/ending.h"
#include "planner/work/group_work.h"
#include "planner/work/running_gangs.h"
#include "queue/usage.h"

namespace nervex::planner {

// The state in which victims are searched, and checked again before they end: both ask this one.
// Borrows its arguments; a change of `work` needs a new one. Cost: as of Ending and RunningGangs.
struct AfterEnding {
  // `with_plans`: by count_use(). `spares_victims_of`: as if this gang named no victims.
  AfterEnding(const CycleFacts& facts, const CycleWork& work, queue::Usage with_plans,
              const GangWork* spares_victims_of = nullptr)
      : ending(facts, work, spares_victims_of),
        running(facts.snapshot, work, ending),
        usage(std::move(with_plans)) {
    ending.remove_from(usage);
  }
  AfterEnding(const AfterEnding&) = delete;
  AfterEnding& operator=(const AfterEnding&) = delete;

  // A request that needs no nodes, since its job ends.
  bool is_of_ending_job(const GroupWork& group, const GangWork& gang) const {
    return gang.kind != gang::GangKind::kBase && ending.ends_job(group);
  }

  const Ending ending;
  RunningGangs running;
  queue::Usage usage;
};

}  // namespace nervex::planner
