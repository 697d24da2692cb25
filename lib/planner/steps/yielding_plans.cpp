#include "planner/steps/yielding_plans.h"

#include "planner/gang/place_gang.h"

namespace nervex::extender {
namespace {

void lend(const OpenPlan& plan, Ledger& ledger) {
  if (plan.foreign != nullptr) return plan.foreign->lend(ledger);
  for (const PlacedSlot& slot : plan.gang->placed) ledger.lend(*slot.set, slot.placement.node);
}

void take_again(const OpenPlan& plan, Ledger& ledger) {
  if (plan.foreign != nullptr) return plan.foreign->take_again(ledger);
  for (const PlacedSlot& slot : plan.gang->placed) ledger.take(*slot.set, slot.placement.node);
}

void yield(const OpenPlan& plan, Ledger& ledger) {
  if (plan.foreign != nullptr) return plan.foreign->yield(ledger);
  extender::yield(*plan.gang, ledger);
}

void recheck(const OpenPlan& plan, Ledger& ledger) {
  if (plan.foreign != nullptr) return plan.foreign->recheck(ledger);
  ledger.count_for(plan.priority);
  extender::recheck(*plan.gang, ledger);
}

// How many slots would be missing if nothing was planned?
std::size_t least_lacking(const std::vector<OpenPlan>& plans, const GangWork& gang,
                          Ledger& ledger) {
  for (const OpenPlan& plan : plans) lend(plan, ledger);
  GangWork trial = gang;
  complete(trial, ledger);
  for (std::size_t i = gang.placed.size(); i < trial.placed.size(); ++i) {
    ledger.lend(*trial.placed[i].set, trial.placed[i].placement.node);
  }
  for (const OpenPlan& plan : plans) take_again(plan, ledger);
  return trial.lacking();
}

}  // namespace

std::optional<gang::NoFit> displace_plans(const std::vector<OpenPlan>& plans, GangWork& gang,
                                          Ledger& ledger) {
  std::optional<gang::NoFit> no_fit = gang.no_fit;
  if (plans.empty()) return no_fit;
  const std::size_t least = least_lacking(plans, gang, ledger);
  auto plan = plans.end();
  while (gang.lacking() > least && plan != plans.begin()) {
    --plan;
    yield(*plan, ledger);
    no_fit = complete(gang, ledger);
  }
  for (; plan != plans.end(); ++plan) recheck(*plan, ledger);
  return no_fit;
}

}  // namespace nervex::extender
