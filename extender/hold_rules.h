// extender/hold_rules.h - may the bind calls of a gang that are held go on? Pure.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "extender/view.h"

namespace nervex::extender {

// What a held call waits for.
enum class HoldUntil {
  kAllHere,      // every member has a call that is held, or is bound
  kOthersBound,  // every member that is not itself bound last is bound
};

struct HoldState {
  bool may_go = false;
  // Wanted slots whose pod keeps the others waiting. They point into the GangSeen.
  std::vector<const MemberSeen*> missing;
};

// `held`: numbers of the placements whose pods have a call that is held. A gang that is committed
// is waited for by nobody but the pods that are bound last.
HoldState hold_state(const GangSeen& gang, const std::set<std::int64_t>& held, HoldUntil until);

// "learner/2 (on n3), learner/7 (on n4) and 3 more"
std::string describe_missing(const std::vector<const MemberSeen*>& missing);

}  // namespace nervex::extender
