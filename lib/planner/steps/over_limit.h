// planner/steps/over_limit.h - which plans exceed the limit of a queue together? Pure.
//
// A gang gets a plan within the limits of its queue, and nothing asks them again until it runs. But
// of two plans that do not fit together both may be stored: one gave way to the other, and the
// leader ended before it wrote that, or a bind committed the first gang at that moment.
#pragma once

#include "planner/gang/ledger.h"
#include "planner/work/group_work.h"
#include "queue/facts.h"

namespace nervex::planner {

// The plans of the latest ranks yield until the rest is within the limits, beside the gangs that
// run. What no limit stops does not count: other pods, which a tenant could create to end the plans
// of others. A plan on reserved capacity alone stays. A commit before the next cycle is not
// prevented. Cost: gangs of `work` if any has a plan, and a sort of these.
void drop_over_limit(CycleWork& work, const queue::Facts& facts, Ledger& ledger);

}  // namespace nervex::planner
