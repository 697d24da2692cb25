// extender/decide/hold_rules.h - may the bind calls of a gang that are held go on? Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "extender/decide/view.h"

namespace nervex::extender {

// What a held call waits for.
enum class HoldUntil {
  kAllHere,  // every member has a call that is held, or is bound
  // Every member that is not itself bound last is bound; and if its pod was created with its node,
  // the kubelet has begun with it.
  kOthersBound,
  kQuorumHere,  // of a foreign gang: enough pods have a call that is held
};

struct HoldState {
  bool may_go = false;
  // Wanted slots whose pod keeps the others waiting. They point into the GangSeen.
  std::vector<const MemberSeen*> missing;
};

// `held`: numbers of the placements whose pods have a call that is held. A gang that is committed
// is waited for by nobody but the pods that are bound last.
HoldState hold_state(const GangSeen& gang, const std::set<std::int64_t>& held, HoldUntil until);

// Of a foreign gang.
struct QuorumState {
  bool is_reached = false;  // enough are here to start the gang
  // Pods that keep the others waiting: that lack, or are nominated and may yet come.
  std::size_t lacking = 0;
};
// `held`: UIDs of the pods that have a call that is held.
QuorumState quorum_state(const ForeignHoldSeen& gang,
                         const std::set<std::string, std::less<>>& held);

// "learner/2 (on n3), learner/7 (on n4) and 3 more"
std::string describe_missing(const std::vector<const MemberSeen*>& missing);

}  // namespace nervex::extender
