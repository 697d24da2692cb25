// extender/decide/yielding_plans.h - which plans of waiting gangs give way to a gang that runs in
// part? Pure.
#pragma once

#include <optional>
#include <vector>

#include "extender/decide/foreign_plan.h"
#include "extender/decide/gang_work.h"

namespace nervex::extender {

// A plan that is not committed, and whose capacity was taken from the ledger. One of the two.
struct OpenPlan {
  GangWork* gang = nullptr;
  ForeignWork* foreign = nullptr;
  int priority = 0;  // of `gang`
};

// `gang` is committed and has found no place for all that is missing. As many slots get one as
// would if nothing was planned: plans yield, the last of `plans` first, which are in the order of
// the queue. Those that still fit afterwards stay. If none is of use nothing changes. Returns why
// slots are still missing. Cost: a search for each plan that yields, and one more.
std::optional<placement::NoFit> place_instead_of(const std::vector<OpenPlan>& plans, GangWork& gang,
                                                 Ledger& ledger);

}  // namespace nervex::extender
