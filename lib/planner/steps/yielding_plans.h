// planner/steps/yielding_plans.h - which plans of waiting gangs yield to a gang that runs in
// part? Pure.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "planner/foreign/foreign_plan.h"
#include "planner/gang/gang_work.h"

namespace nervex::planner {

// A gang that is assumed and not committed.
struct OpenPlan {
  std::variant<GangWork*, ForeignWork*> gang;
  int priority = 0;  // of a gang of this suite
};

// `gang` is committed and some slots are still missing. Places as many as would fit if nothing was
// planned: `plans`, which are in queue order, yield last first. Plans that still fit afterwards
// stay. If none helps nothing changes. Returns why slots are still missing. Cost: a search for each
// plan that yields, and one more.
std::optional<gang::NoFit> displace_plans(const std::vector<OpenPlan>& plans, GangWork& gang,
                                          Ledger& ledger);

}  // namespace nervex::planner
