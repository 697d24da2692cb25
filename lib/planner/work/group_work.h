// planner/work/group_work.h - which PodGroups does a scheduling cycle work on, and in which
// order? Pure.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "planner/facts/cycle_facts.h"
#include "planner/facts/next_look.h"
#include "planner/facts/snapshot.h"
#include "planner/foreign/foreign_plan.h"
#include "planner/gang/gang_work.h"
#include "planner/gang/reserved_places.h"
#include "planner/work/cycle_state.h"
#include "queue/order.h"

namespace nervex::planner {

// One PodGroup of this suite. Points into the snapshot and the cycle's state.
struct GroupWork {
  const GroupSeen* seen = nullptr;
  std::vector<GangWork> gangs;
  const Rejection* rejection = nullptr;
  ReservedPlaces reserved;               // of the committed base gang
  std::vector<gang::AvoidedNode> avoid;  // as the status has it, and what was learned since
  gang::QueuePlace queue{};              // as the status has it, or decided in this cycle
  bool is_drained = false;               // its committed gangs are released: HoldAndDrain

  int priority() const { return seen->group->spec.priority; }
  queue::Rank rank() const { return queue::rank(*seen->group); }
  bool is_rejected(Rejection::Extent extent) const {
    return rejection != nullptr && rejection->extent >= extent;
  }
  // Its status is not written.
  bool is_left_alone() const {
    return seen->unconfirmed || is_rejected(Rejection::Extent::kAnyStatus);
  }
};

inline bool may_place(const GroupWork& group, const GangWork& gang) {
  return !group.seen->unconfirmed && !gang.is_whole() && gang.obstacle == Obstacle::kNone;
}

// The gang's pods are about to end: its controller requeues it, or its queue is drained.
inline bool is_requeued(const GroupWork& group, const GangWork& gang) {
  return group.is_drained || gang.is_preempted() ||
         (gang.before != nullptr && gang::is_released(*gang.before));
}

// A PodGroup of this suite, or a gang of another operator.
using Work = std::variant<GroupWork*, ForeignWork*>;

// The work of one cycle. Points into itself.
struct CycleWork {
  CycleWork(std::vector<GroupWork> own, std::vector<ForeignWork> others);
  CycleWork(const CycleWork&) = delete;
  CycleWork& operator=(const CycleWork&) = delete;

  std::vector<GroupWork> all_groups;
  std::vector<ForeignWork> foreign;
  std::vector<Work> queue;  // all of both, by rank: what waits starts in the order of the queues
  std::vector<GroupWork*> groups;  // those of `queue`
};

// PodGroups that may have something to decide. `next` gets what is remembered of the others, and
// `next_look` when that may change.
std::vector<GroupWork> collect_group_work(const CycleFacts& facts, const CycleState& state,
                                          HealingMemory& next, NextLook& next_look);
std::vector<ForeignWork> collect_foreign_work(const CycleFacts& facts, const ForeignMemory& memory);

template <typename... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <typename... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

}  // namespace nervex::planner
