#include "planner/steps/over_limit.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "planner/work/queue_use.h"
#include "queue/admission.h"
#include "queue/order.h"

namespace nervex::planner {
namespace {

struct LimitedPlan {
  queue::Workload workload;  // what it will use
  GroupWork* group = nullptr;
  GangWork* gang = nullptr;
  ForeignWork* foreign = nullptr;  // in place of these two

  queue::Rank rank() const { return foreign ? foreign->rank() : queue::rank(workload); }
};

bool is_on_reserved(const GangWork& gang) {
  return std::all_of(gang.sets.begin(), gang.sets.end(), [](const gang::MemberSet* set) {
    return static_cast<std::size_t>(set->from_reserved.count) >= set->slots.size() &&
           set->from_reserved.count > 0;
  });
}

// The plan of a foreign gang alone, without its pods that run.
queue::Workload make_planned_workload(const ForeignWork& foreign, const queue::Facts& facts,
                                      const queue::FindClass& find_class) {
  queue::Workload workload = make_used_workload(foreign, facts);
  workload.requests = {};
  for (const PlacedSlot& slot : foreign.plan().placed) {
    const kube::Resources& requests = slot.set->shape.requests;
    queue::add_requests(workload.requests, requests);
    if (!facts.tree().uses_classes()) continue;
    queue::add_requests(workload.class_requests, find_class(slot.placement.node), requests);
  }
  return workload;
}

std::vector<LimitedPlan> list_plans(CycleWork& work, const queue::Facts& facts,
                                    const queue::FindClass& find_class) {
  std::vector<LimitedPlan> plans;
  const Overloaded add{
      [&](ForeignWork* foreign) {
        if (!foreign->plan().is_assumed()) return;
        plans.push_back(
            {make_planned_workload(*foreign, facts, find_class), nullptr, nullptr, foreign});
      },
      [&](GroupWork* group) {
        if (group->seen->unconfirmed) return;
        for (GangWork& gang : group->gangs) {
          if (gang.stage != GangStage::kAssumed || is_on_reserved(gang)) continue;
          plans.push_back({make_used_workload(*group, gang, facts, find_class), group, &gang});
        }
      },
  };
  for (const Work& one : work.queue) std::visit(add, one);
  std::stable_sort(plans.begin(), plans.end(),
                   [](const LimitedPlan& a, const LimitedPlan& b) { return a.rank() < b.rank(); });
  return plans;
}

// The use of own gangs, and of the plans of foreign ones.
queue::Usage count_limited(CycleWork& work, const std::vector<LimitedPlan>& plans,
                           const queue::Facts& facts, const Ledger& ledger) {
  const queue::QueueTree& tree = facts.tree();
  queue::Usage usage = count_use(work, facts, ledger);
  for (const queue::Workload& pods : facts.orphaned) {
    usage.remove(tree, queue::find_home(tree, pods), pods);
  }
  for (const ForeignWork& foreign : work.foreign) {
    queue::Workload workload = make_used_workload(foreign, facts);
    if (workload.requests.empty()) continue;
    workload.class_requests = count_classes(foreign, facts, ledger);
    usage.remove(tree, queue::find_home(tree, workload), workload);
  }
  for (const LimitedPlan& plan : plans) {
    if (plan.foreign == nullptr) continue;
    usage.add(tree, queue::find_home(tree, plan.workload), plan.workload);
  }
  return usage;
}

}  // namespace

void drop_over_limit(CycleWork& work, const queue::Facts& facts, Ledger& ledger) {
  const queue::QueueTree& tree = facts.tree();
  if (tree.is_root_alone()) return;
  const queue::FindClass find_class = find_classes(ledger, facts);
  std::vector<LimitedPlan> plans = list_plans(work, facts, find_class);
  if (plans.empty()) return;
  queue::Usage usage = count_limited(work, plans, facts, ledger);
  for (auto plan = plans.rbegin(); plan != plans.rend(); ++plan) {
    const queue::QueueIndex queue = queue::find_home(tree, plan->workload);
    usage.remove(tree, queue, plan->workload);
    if (!queue::exceeds_limit(tree, usage, queue, plan->workload)) {
      usage.add(tree, queue, plan->workload);
      continue;
    }
    if (plan->foreign != nullptr) {
      plan->foreign->yield(ledger);
      continue;
    }
    yield(*plan->gang, ledger);
    // Reserved capacity that the gang takes over stays in use.
    const auto left = make_used_workload(*plan->group, *plan->gang, facts, find_class);
    if (!left.requests.empty()) usage.add(tree, queue, left);
  }
}

}  // namespace nervex::planner
