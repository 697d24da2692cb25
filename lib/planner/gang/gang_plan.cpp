#include "planner/gang/gang_plan.h"

#include <utility>

namespace nervex::planner {

void lend(const GangPlan& plan, Ledger& ledger) {
  for (const PlacedSlot& slot : plan.placed) ledger.lend(*slot.set, slot.placement.node);
}

void take_again(const GangPlan& plan, Ledger& ledger) {
  for (const PlacedSlot& slot : plan.placed) ledger.take(*slot.set, slot.placement.node);
}

void give_back(const GangPlan& plan, Ledger& ledger) {
  for (const PlacedSlot& slot : plan.placed) ledger.give_back(*slot.set, slot.placement.node);
}

void set_group_limits(GangPlan& plan, std::vector<placement::GroupLimit> left,
                      const Ledger& ledger) {
  plan.group_limits = std::move(left);
  for (const PlacedSlot& slot : plan.placed) {
    ledger.use_up(plan.group_limits, slot.set->shape.requests, slot.placement.node, -1);
  }
}

std::vector<placement::NodeLimit> limits_left(const GangPlan& plan) {
  std::vector<placement::NodeLimit> limits = plan.limits;
  for (placement::NodeLimit& limit : limits) {
    limit.at_most -= static_cast<int>(
        std::count_if(plan.placed.begin(), plan.placed.end(), [&](const PlacedSlot& slot) {
          return slot.set->name == limit.set && slot.placement.node == limit.node;
        }));
  }
  return limits;
}

std::vector<placement::GroupLimit> group_limits_left(const GangPlan& plan, const Ledger& ledger,
                                                     const PlacedSlot* except) {
  std::vector<placement::GroupLimit> limits = plan.group_limits;
  for (const PlacedSlot& slot : plan.placed) {
    if (&slot == except) continue;
    ledger.use_up(limits, slot.set->shape.requests, slot.placement.node);
  }
  return limits;
}

}  // namespace nervex::planner
