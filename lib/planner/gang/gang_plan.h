// planner/gang/gang_plan.h - which nodes do the slots of a gang have in this cycle, and what limits
// them? The same for gangs of this suite and of other operators. Pure.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "base/error.h"
#include "gang/no_fit.h"
#include "gang/pod_group.h"
#include "placement/capacity.h"
#include "planner/gang/ledger.h"

namespace nervex::planner {

// A slot that has a placement. A new placement has number 0.
struct PlacedSlot {
  const gang::MemberSet* set = nullptr;
  gang::Placement placement;
  bool is_counted = false;  // it belongs to a committed gang, and the snapshot has subtracted it
};

// How far a gang is from the queue to its nodes. may_follow() says what follows what in a cycle.
enum class GangStage {
  kWaiting,     // it has no plan, or one whose capacity the ledger has not subtracted
  kAssumed,     // the ledger has subtracted all of GangPlan::placed
  kCommitting,  // the same, and its first bind is being written
  kCommitted,   // the same, and its stored status is committed
};
// A gang that is not committed may lose what it has assumed; one that is committed stays so. (One
// that was requeued for another gang has begun again: collect_gang_work().)
constexpr bool may_follow(GangStage now, GangStage next) {
  return now == next || (now <= GangStage::kAssumed && next <= GangStage::kAssumed);
}

struct GangPlan {
  GangStage stage = GangStage::kWaiting;
  std::vector<PlacedSlot> placed;
  std::optional<gang::NoFit> no_fit;         // why the other slots cannot get a placement
  std::vector<placement::NodeLimit> limits;  // for new placements of the whole gang
  // The same, on nodes of a class; and what is said if the gang would fit without them.
  std::vector<placement::GroupLimit> group_limits{};
  gang::NotAdmitted group_limit_cause{};

  bool is_assumed() const { return stage >= GangStage::kAssumed; }
  // Requires may_follow().
  void move_to(GangStage next) {
    NERVEX_CHECK(may_follow(stage, next));
    stage = next;
  }
  // The ledger has subtracted all of `placed` now.
  void assume() { move_to(std::max(stage, GangStage::kAssumed)); }
};

// Gives the capacity of an assumed plan back, for a trial that take_again() ends, or for good by
// yield(). The stage stays.
void lend(const GangPlan& plan, Ledger& ledger);
void take_again(const GangPlan& plan, Ledger& ledger);

// Gives the capacity of all placements back, which the plan is about to lose.
void give_back(const GangPlan& plan, Ledger& ledger);

// Sets the limits of the gang's queue on nodes of classes for all that the gang has and gets:
// `left` for what it gets now, and what its placements use.
void set_group_limits(GangPlan& plan, std::vector<placement::GroupLimit> left,
                      const Ledger& ledger);

// The limits of the plan without what its placements use of them. group_limits_left() takes the
// slot `except` for one without a placement.
std::vector<placement::NodeLimit> limits_left(const GangPlan& plan);
std::vector<placement::GroupLimit> group_limits_left(const GangPlan& plan, const Ledger& ledger,
                                                     const PlacedSlot* except = nullptr);

}  // namespace nervex::planner
