// planner/steps/growing.h - which pods of running gangs may follow those that have finished? Pure.
#pragma once

#include "planner/steps/limit_shares.h"
#include "planner/steps/placer.h"
#include "planner/work/group_work.h"
#include "queue/facts.h"
#include "queue/usage.h"

namespace nervex::planner {

// Places GangWork::growing, after all gangs that wait, within the limits of their queue and the
// quotas of their namespace, beside the shares of these that are kept for gangs that wait, and on
// nodes that are not reserved for others. Replicas of one GPU are placed one by one; those of
// several GPUs with all that wait in their gang. Without a node the gang's no_fit says why. A gang
// that heals comes first, and grows later. `usage`: without these pods. True if one got its node.
bool place_growing(CycleWork& work, Placer& placer, const queue::Facts& facts, queue::Usage usage,
                   LimitShares& shares);

}  // namespace nervex::planner
