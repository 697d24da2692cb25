#include "planner/steps/yielding_plans.h"

#include "planner/gang/place_gang.h"
#include "planner/work/group_work.h"

namespace nervex::planner {
namespace {

const GangPlan& plan_of(const OpenPlan& open) {
  const auto* own = std::get_if<GangWork*>(&open.gang);
  return own != nullptr ? **own : std::get<ForeignWork*>(open.gang)->plan();
}

void yield(const OpenPlan& open, Ledger& ledger) {
  const Overloaded yield{
      [&](ForeignWork* foreign) { foreign->yield(ledger); },
      [&](GangWork* gang) { planner::yield(*gang, ledger); },
  };
  std::visit(yield, open.gang);
}

void recheck(const OpenPlan& open, Ledger& ledger) {
  const Overloaded recheck{
      [&](ForeignWork* foreign) { foreign->recheck(ledger); },
      [&](GangWork* gang) {
        ledger.count_for(open.priority);
        planner::recheck(*gang, ledger);
      },
  };
  std::visit(recheck, open.gang);
}

// How many slots would be missing if nothing was planned?
std::size_t least_lacking(const std::vector<OpenPlan>& plans, const GangWork& gang,
                          Ledger& ledger) {
  for (const OpenPlan& open : plans) lend(plan_of(open), ledger);
  GangWork trial = gang;
  complete(trial, ledger);
  for (std::size_t i = gang.placed.size(); i < trial.placed.size(); ++i) {
    ledger.lend(*trial.placed[i].set, trial.placed[i].placement.node);
  }
  for (const OpenPlan& open : plans) take_again(plan_of(open), ledger);
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

}  // namespace nervex::planner
