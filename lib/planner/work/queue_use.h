// planner/work/queue_use.h - what does each queue use in this cycle? Pure.
#pragma once

#include "kube/model/resources.h"
#include "planner/gang/ledger.h"
#include "planner/work/group_work.h"
#include "queue/facts.h"
#include "queue/usage.h"
#include "queue/workload.h"

namespace nervex::planner {

// The gang as a workload of the queue that its use counts in: the one that this cycle has found for
// its PodGroup, or its home (queue::find_home()) if that does not exist.
queue::Workload make_workload(const GroupWork& group, const GangWork& gang,
                              const queue::QueueTree& tree);
// What the foreign gang uses, in the queue of its namespace. Without requests: nothing.
queue::Workload make_used_workload(const ForeignWork& gang, const queue::Facts& facts);

// What a request that waits takes over from the base gang's reserved capacity: it stays in use.
kube::Resources count_taken_over(const GangWork& gang);

// The classes of the ledger's nodes. Borrows both.
queue::FindClass find_classes(const Ledger& ledger, const queue::Facts& facts);
// What the gang requests on the nodes of each class, with what is reserved for it. Empty if no
// queue names classes.
queue::ClassRequests count_classes(const GroupWork& group, const GangWork& gang,
                                   const queue::Facts& facts, const Ledger& ledger);
queue::ClassRequests count_classes(const ForeignWork& gang, const queue::Facts& facts,
                                   const Ledger& ledger);

// Of gangs that have nodes whose pods, those of their victims, have to end first.
enum class PreemptingUse {
  kCounted,  // for those who count their victims as ended
  kLeftOut,
  kBeyondVictims,  // what is used now, and will be used when the victims have ended
};
// The gang as a workload with what it uses, or will once it is bound, also on nodes of each class.
// Without requests: nothing.
queue::Workload make_used_workload(const GroupWork& group, const GangWork& gang,
                                   const queue::Facts& facts, const queue::FindClass& find_class,
                                   PreemptingUse preempting = PreemptingUse::kCounted);
// What workloads with nodes use: the settled ones and those of `work`. Cost: the work's gangs.
queue::Usage count_use(CycleWork& work, const queue::Facts& facts, const Ledger& ledger,
                       PreemptingUse preempting = PreemptingUse::kCounted);

}  // namespace nervex::planner
