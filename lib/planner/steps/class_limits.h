// planner/steps/class_limits.h - on which classes of nodes may a gang get new placements? Pure.
//
// A limit of a node class holds for every new placement of a gang in the queue, whichever path
// makes it: a start, healing, a move, restored capacity. GangPlan::group_limits states it, and all
// that searches for nodes obeys that (gang/place_gang.h). What waits for its turn gets the caps of
// its offer (start_waiting.h); this class is for all else.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "placement/capacity.h"
#include "planner/gang/ledger.h"
#include "planner/work/group_work.h"
#include "queue/admission.h"
#include "queue/facts.h"
#include "queue/usage.h"

namespace nervex::planner {

// The queue's caps as limits of the planner. `label`: of the nodes' class.
std::vector<placement::GroupLimit> make_limits(const queue::ClassCaps& caps,
                                               const std::string& label);
// What is said of a gang that fits nodes only beyond the caps, which are not empty.
gang::NotAdmitted describe_caps(const std::string& queue, const queue::ClassCaps& caps);
// The gang, all of whose slots are missing, needs more than these limits allow even if nothing else
// counts in them. What its nodes have is not asked, only their class. Cost: the nodes.
bool exceeds_limits(const GangWork& gang, const std::vector<placement::GroupLimit>& limits,
                    const placement::Cluster& nodes);
// Sets the caps as the gang's group limits, and what is said if they keep it from a node. The gang
// has that queue, whose use includes the gang's placements if it is committed, and the reserved
// capacity that it takes over: these count beside the caps.
void set_class_limits(const GroupWork& group, GangWork& gang, const std::string& queue,
                      const queue::ClassCaps& caps, const queue::Facts& facts,
                      const Ledger& ledger);

// As count_use(), if a queue names classes; else nothing is counted.
queue::Usage count_class_use(CycleWork& work, const queue::Facts& facts, const Ledger& ledger);

// Borrows its arguments. Does nothing if no queue names classes.
class ClassLimits {
 public:
  // `usage`: as of count_class_use(); it is kept up to date.
  ClassLimits(const queue::Facts& facts, const Ledger& ledger, queue::Usage& usage)
      : facts_(facts), ledger_(ledger), usage_(usage), is_on_(facts.tree().uses_classes()) {}

  // Calls `place`, which gives new nodes to a gang of the group that has some, or that takes over
  // reserved capacity. It obeys the limits. Cost: the group's placements.
  void place(GroupWork& group, GangWork& gang, const std::function<void()>& place);
  // Other gangs have lost placements: counts again. Cost: the work's gangs.
  void recount(CycleWork& work);

 private:
  void apply(const GroupWork& group, GangWork& gang, queue::QueueIndex queue) const;
  queue::ClassRequests count(const GroupWork& group) const;

  const queue::Facts& facts_;
  const Ledger& ledger_;
  queue::Usage& usage_;
  const bool is_on_;
};

}  // namespace nervex::planner
